-- Labels of executions as a JSON object, and the actor that requested the start.
ALTER TABLE execution ADD COLUMN labels TEXT;
ALTER TABLE execution ADD COLUMN actor TEXT;
