-- Keys are written in the transaction of their batch, which takes no round trips here.
SELECT 1;
