//! Conversion of values from and to rows, and of driver errors to store errors.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use noetl_model::Timestamp;
use noetl_store::from_row::Columns;
use noetl_store::{StoreError, WriteFault};
use sqlx::postgres::PgRow;
use sqlx::{Decode, Postgres, Row as _, Type};

use crate::instant::Instant;

/// The longest hold of a lease or message: a hundred years.
const HOLD_MAX: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

pub(crate) fn store_error(error: sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::ColumnDecode { index, source } => {
            StoreError::Corrupt { what: format!("column {index}"), source }
        }
        error if code(&error).is_some_and(|code| code == "XX001" || code == "XX002") => {
            StoreError::Corrupt {
                what: "the database's own files".to_owned(),
                source: error.into(),
            }
        }
        error => match code(&error).and_then(|code| write_fault(&code)) {
            Some(fault) => {
                let place = "the database".to_owned();
                StoreError::Unwritable { place, fault, source: error.into() }
            }
            None => StoreError::Unavailable(error.into()),
        },
    }
}

/// Returns the write fault of a PostgreSQL error code.
fn write_fault(code: &str) -> Option<WriteFault> {
    match code {
        // disk_full
        "53100" => Some(WriteFault::Full),
        // read_only_sql_transaction: a standby, or a database that was set to read-only
        "25006" => Some(WriteFault::ReadOnly),
        // io_error
        "58030" => Some(WriteFault::Failing),
        _ => None,
    }
}

/// True if another writer committed first, so that the rows have to be read again: a duplicate key,
/// a serialization failure or a deadlock.
pub(crate) fn is_conflict(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| matches!(&*code, "23505" | "40001" | "40P01"))
}

/// True if the lock timeout has passed.
pub(crate) fn is_locked(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| code == "55P03")
}

/// True if the connection has ended, so that another one may work.
pub(crate) fn is_disconnected(error: &sqlx::Error) -> bool {
    // The server sends class 57P before it ends a connection.
    matches!(error, sqlx::Error::Io(_)) || code(error).is_some_and(|code| code.starts_with("57P"))
}

/// Returns the PostgreSQL error code.
fn code(error: &sqlx::Error) -> Option<Cow<'_, str>> {
    error.as_database_error()?.code()
}

/// A row with access by column name.
pub struct Named(pub(crate) PgRow);

impl Columns for Named {
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
        Ok(get::<Option<Instant>>(&self.0, column)?.map(|Instant(at)| at))
    }

    fn flag(&self, column: &str) -> Result<bool, StoreError> {
        get(&self.0, column)
    }

    fn texts(&self, column: &str) -> Result<Vec<String>, StoreError> {
        get(&self.0, column)
    }
}

/// Returns the value of a column.
pub(crate) fn get<'r, T>(row: &'r PgRow, column: &str) -> Result<T, StoreError>
where
    T: Decode<'r, Postgres> + Type<Postgres>,
{
    row.try_get(column).map_err(store_error)
}

/// Converts the value of a column to a number that is never negative.
pub(crate) fn unsigned<T>(stored: i64, column: &str) -> Result<T, StoreError>
where
    T: TryFrom<i64, Error: Error + Send + Sync + 'static>,
{
    T::try_from(stored).map_err(|source| StoreError::Corrupt {
        what: format!("column {column}"),
        source: Box::new(source),
    })
}

/// Replaces the NUL character, which PostgreSQL text cannot hold: one such name must not fail the
/// whole batch.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{2400}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Converts a hold to microseconds, up to [`HOLD_MAX`].
pub(crate) fn micros(hold: Duration) -> i64 {
    i64::try_from(hold.min(HOLD_MAX).as_micros()).expect("a hundred years fit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_codes_of_the_disk_are_recognised() {
        assert_eq!(write_fault("53100"), Some(WriteFault::Full));
        assert_eq!(write_fault("25006"), Some(WriteFault::ReadOnly));
        assert_eq!(write_fault("58030"), Some(WriteFault::Failing));
        assert_eq!(write_fault("57014"), None);
    }

    #[test]
    fn text_without_a_zero_is_left_as_it_is() {
        assert!(matches!(plain("größe"), Cow::Borrowed("größe")));
        assert_eq!(plain("a\0b"), "a␀b");
    }

    #[test]
    fn the_longest_hold_ends_within_the_calendar() {
        assert_eq!(micros(Duration::from_secs(30)), 30_000_000);
        assert_eq!(micros(Duration::MAX), micros(HOLD_MAX));
    }
}
