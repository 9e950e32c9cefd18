-- One process serves an embedded database, so there are no machine numbers to tell several apart.
SELECT 1;
