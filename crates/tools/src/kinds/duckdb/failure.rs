//! Maps errors of DuckDB to tool errors. The class of an error is the text before the first colon
//! of its message.

use noetl_duckdb::DuckdbError;
use noetl_model::{ErrorKind, ToolError};

pub(crate) fn of(error: &DuckdbError) -> ToolError {
    match error {
        DuckdbError::Database(message) => database_error(message),
        DuckdbError::Stopped => ToolError::new(ErrorKind::Unknown, "stopped before it was done"),
        DuckdbError::Type { .. } | DuckdbError::Nul | DuckdbError::Parameter(_) => {
            ToolError::new(ErrorKind::Config, format!("duckdb: {error}"))
        }
    }
}

fn database_error(message: &str) -> ToolError {
    let sort = message.split_once(" Error:").map_or("", |(sort, _)| sort.trim());
    let kind = ErrorKind::of_duckdb(sort, message);
    let error = ToolError::new(kind, format!("DuckDB says: {}", message.trim()));
    if sort.is_empty() { error } else { error.with_code(sort) }
}
