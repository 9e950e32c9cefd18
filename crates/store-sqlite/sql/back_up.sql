-- Writes a copy of the database to the file ?1, which is empty or missing.
VACUUM INTO ?1
