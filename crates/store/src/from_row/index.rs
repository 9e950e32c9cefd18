//! Rows of the index of executions.

use noetl_model::{CommandId, ExecutionId, IndexEntry, IndexKind};

use super::Columns;
use crate::to_row::NO_COMMAND;
use crate::{IndexRow, StoreError};

/// Converts a row to an index entry of a kind.
pub fn index_row(row: &impl Columns, kind: IndexKind) -> Result<IndexRow, StoreError> {
    let command = match row.integer("command_id")? {
        NO_COMMAND => None,
        _ => Some(CommandId(row.number("command_id")?)),
    };
    Ok(IndexRow {
        execution: ExecutionId(row.integer("execution_id")?),
        entry: IndexEntry::new(kind, row.text("key")?, command),
        at: row.instant("created_at")?,
    })
}
