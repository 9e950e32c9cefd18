//! Maps errors of SQLite to tool errors.

use noetl_model::{ErrorKind, ToolError};
use sqlx::Error;

pub(super) fn of(error: &Error) -> ToolError {
    let Some(told) = error.as_database_error() else {
        return ToolError::new(ErrorKind::DbConnection, format!("SQLite: {error}"));
    };
    let code = told.code().unwrap_or_default();
    let number: u32 = code.parse().unwrap_or_default();
    let message = told.message();
    ToolError::new(kind(number, message), format!("SQLite says: {message}")).with_code(code)
}

pub(super) fn of_opening(error: &Error, path: &str) -> ToolError {
    let mut told = of(error);
    told.message = format!("cannot open {path}: {}", told.message);
    told
}

/// Returns the error kind of a result code, whose lowest byte is the primary code.
fn kind(code: u32, message: &str) -> ErrorKind {
    match code & 0xff {
        1 if message.contains("no such") || message.contains("already exists") => ErrorKind::Schema,
        5 | 6 => ErrorKind::DbTimeout,
        7 | 13 | 18 => ErrorKind::StorageQuota,
        3 | 8 | 10 | 11 | 14 | 23 | 26 => ErrorKind::StorageAccess,
        19 => ErrorKind::DbConstraint,
        _ => ErrorKind::ClientError,
    }
}
