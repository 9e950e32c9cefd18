-- Writes ?1 bytes, as new pages of the write-ahead log.
INSERT OR REPLACE INTO write_check (id, body) VALUES (1, randomblob(?1))
