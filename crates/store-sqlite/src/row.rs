//! Conversion of values from and to rows, and of driver errors to store errors.

use noetl_model::Timestamp;
use noetl_store::from_row::Columns;
use noetl_store::{StoreError, WriteFault};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row as _, Sqlite, Type};

/// SQLite's error code for a damaged file.
const DAMAGED: i32 = 11;
/// SQLite's error code for a file that cannot be written.
const READ_ONLY: i32 = 8;
/// SQLite's error code for a full disk, and for a database at its maximum size.
const FULL: i32 = 13;
/// SQLite's extended error code for a shared-memory file that cannot grow, as on a full disk.
const NO_ROOM_FOR_SHARED_MEMORY: i32 = 4874;
/// SQLite's extended error codes for failures to write, to flush a file or a directory, and to
/// truncate.
const WRITE_FAILED: [i32; 4] = [778, 1034, 1290, 1546];

pub(crate) fn store_error(error: sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::ColumnDecode { index, source } => {
            StoreError::Corrupt { what: format!("column {index}"), source }
        }
        error if primary_code(&error) == Some(DAMAGED) => {
            StoreError::Corrupt { what: "the database file".to_owned(), source: error.into() }
        }
        error => match extended_code(&error).and_then(write_fault) {
            Some(fault) => {
                let place = "the database".to_owned();
                StoreError::Unwritable { place, fault, source: error.into() }
            }
            None => StoreError::Unavailable(error.into()),
        },
    }
}

/// Returns the write fault of an extended error code.
fn write_fault(code: i32) -> Option<WriteFault> {
    match (code & 0xff, code) {
        (FULL, _) | (_, NO_ROOM_FOR_SHARED_MEMORY) => Some(WriteFault::Full),
        (READ_ONLY, _) => Some(WriteFault::ReadOnly),
        (_, code) => WRITE_FAILED.contains(&code).then_some(WriteFault::Failing),
    }
}

/// Returns SQLite's primary error code.
pub(crate) fn primary_code(error: &sqlx::Error) -> Option<i32> {
    extended_code(error).map(|code| code & 0xff)
}

/// Returns SQLite's extended error code.
pub(crate) fn extended_code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// A row with access by column name.
pub struct NamedRow(pub(crate) SqliteRow);

impl Columns for NamedRow {
    fn maybe_text(&self, column: &str) -> Result<Option<&str>, StoreError> {
        get(&self.0, column)
    }

    fn maybe_integer(&self, column: &str) -> Result<Option<i64>, StoreError> {
        get(&self.0, column)
    }

    fn maybe_bytes(&self, column: &str) -> Result<Option<&[u8]>, StoreError> {
        get(&self.0, column)
    }

    fn maybe_instant(&self, column: &str) -> Result<Option<Timestamp>, StoreError> {
        Ok(get::<Option<i64>>(&self.0, column)?.map(Timestamp::from_micros))
    }

    fn flag(&self, column: &str) -> Result<bool, StoreError> {
        get(&self.0, column)
    }

    fn texts(&self, column: &str) -> Result<Vec<String>, StoreError> {
        self.json(column, || format!("column {column}"))
    }
}

/// Returns the value of a column.
pub(crate) fn get<'r, T>(row: &'r SqliteRow, column: &str) -> Result<T, StoreError>
where
    T: Decode<'r, Sqlite> + Type<Sqlite>,
{
    row.try_get(column).map_err(store_error)
}

/// An [`array`] without rows.
pub(crate) const NO_ROWS: &str = "[]";

/// Returns rows or keys as one JSON array, the argument of a statement.
pub(crate) fn array<T: Serialize>(rows: impl IntoIterator<Item = T>) -> String {
    let rows: Vec<T> = rows.into_iter().collect();
    serde_json::to_string(&rows).expect("the model's words are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_codes_of_the_disk_are_recognised() {
        let (busy, io_read) = (5, 266);
        assert_eq!(write_fault(13), Some(WriteFault::Full));
        assert_eq!(write_fault(4874), Some(WriteFault::Full));
        assert_eq!(write_fault(8), Some(WriteFault::ReadOnly));
        assert_eq!(write_fault(1032), Some(WriteFault::ReadOnly));
        assert_eq!(write_fault(1034), Some(WriteFault::Failing));
        assert_eq!(write_fault(busy), None);
        assert_eq!(write_fault(io_read), None);
    }
}
