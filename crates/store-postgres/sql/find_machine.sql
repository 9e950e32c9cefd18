-- Selects the holder of a machine number.
SELECT holder FROM noetl.machine WHERE number = $1
