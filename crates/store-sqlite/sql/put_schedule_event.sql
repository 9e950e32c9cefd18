-- Appends an event to a schedule.
INSERT INTO schedule_event (path, seq, event, created_at) VALUES (?1, ?2, ?9, ?8)
