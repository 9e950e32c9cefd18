//! Maps errors of DuckDB to tool errors. The class of an error is the text before the first colon
//! of its message.

use noetl_duckdb::Failure;
use noetl_model::{ErrorKind, ToolError};

pub(crate) fn of(failure: &Failure) -> ToolError {
    match failure {
        Failure::Said(told) => said(told),
        Failure::Stopped => ToolError::new(ErrorKind::Unknown, "stopped before it was done"),
        Failure::Type { .. } | Failure::Nul | Failure::Parameter(_) => {
            ToolError::new(ErrorKind::Config, format!("duckdb: {failure}"))
        }
    }
}

fn said(told: &str) -> ToolError {
    let sort = told.split_once(" Error:").map_or("", |(sort, _)| sort.trim());
    let kind = match sort {
        "Catalog" | "Binder" => ErrorKind::Schema,
        "Constraint" => ErrorKind::DbConstraint,
        "TransactionContext" | "Transaction" => ErrorKind::DbDeadlock,
        "IO" if told.contains("lock") => ErrorKind::DbTimeout,
        "IO" => ErrorKind::StorageAccess,
        "HTTP" | "Network" => ErrorKind::Connection,
        "Permission" => ErrorKind::Auth,
        "Out of Memory" => ErrorKind::StorageQuota,
        "INTERNAL" | "FATAL" => ErrorKind::ServerError,
        _ => ErrorKind::ClientError,
    };
    let error = ToolError::new(kind, format!("DuckDB says: {}", told.trim()));
    if sort.is_empty() { error } else { error.with_code(sort) }
}
