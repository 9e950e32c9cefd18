DELETE FROM turn WHERE name = ?1 AND holder = ?2
