-- Writes ?1 bytes as new pages of the write-ahead log, to check that the disk is writable.
INSERT OR REPLACE INTO write_check (id, body) VALUES (1, randomblob(?1))
