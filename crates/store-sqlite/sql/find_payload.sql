-- A large value by its digest.
SELECT body FROM payload WHERE digest = ?1
