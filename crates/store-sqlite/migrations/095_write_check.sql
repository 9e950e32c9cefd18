-- One row that is written anew whenever it is asked whether the disk has room.
CREATE TABLE write_check (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    body BLOB NOT NULL
) STRICT;
