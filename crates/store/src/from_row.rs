//! Conversion of database rows to model types. The meaning of the columns is the same in every
//! database; only the access to a value differs.

mod index;
mod log;
mod records;
mod work;

use std::error::Error;
use std::str::FromStr;

use noetl_model::{Digest, Timestamp};
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::StoreError;

pub use index::index_row;
pub use log::{
    FeedRows, LogRows, catalog_entry, feed_cursor, fork_origin, kept_key, log_end, named_feed,
    recorded, replay_mark, saved_replay, snapshot, summary,
};
pub use records::{
    audit_entry, credential, failed_mark, failed_message, keychain_entry, named_result, object,
    runtime, sealed, variable,
};
pub use work::{
    held, listed, open_command, outbox_row, priority, schedule_record, schedule_row,
    subscription_record, subscription_row, taken_messages,
};

/// Access to a row by column name. A missing or impossible value in a required column is a
/// [`StoreError::Corrupt`].
pub trait Columns {
    fn maybe_text(&self, column: &str) -> Result<Option<&str>, StoreError>;
    fn maybe_integer(&self, column: &str) -> Result<Option<i64>, StoreError>;
    fn maybe_bytes(&self, column: &str) -> Result<Option<&[u8]>, StoreError>;
    fn maybe_instant(&self, column: &str) -> Result<Option<Timestamp>, StoreError>;
    fn flag(&self, column: &str) -> Result<bool, StoreError>;
    fn texts(&self, column: &str) -> Result<Vec<String>, StoreError>;

    fn text(&self, column: &str) -> Result<&str, StoreError> {
        present(self.maybe_text(column)?, column)
    }

    fn string(&self, column: &str) -> Result<String, StoreError> {
        self.text(column).map(str::to_owned)
    }

    fn maybe_string(&self, column: &str) -> Result<Option<String>, StoreError> {
        Ok(self.maybe_text(column)?.map(str::to_owned))
    }

    fn integer(&self, column: &str) -> Result<i64, StoreError> {
        present(self.maybe_integer(column)?, column)
    }

    /// Returns a number that is never negative.
    fn number<T>(&self, column: &str) -> Result<T, StoreError>
    where
        T: TryFrom<i64, Error: Error + Send + Sync + 'static>,
    {
        present(self.maybe_number(column)?, column)
    }

    fn maybe_number<T>(&self, column: &str) -> Result<Option<T>, StoreError>
    where
        T: TryFrom<i64, Error: Error + Send + Sync + 'static>,
    {
        let number = self.maybe_integer(column)?.map(T::try_from);
        number.transpose().map_err(|source| corrupt(named(column), source))
    }

    fn instant(&self, column: &str) -> Result<Timestamp, StoreError> {
        present(self.maybe_instant(column)?, column)
    }

    fn bytes(&self, column: &str) -> Result<&[u8], StoreError> {
        present(self.maybe_bytes(column)?, column)
    }

    fn digest(&self, column: &str) -> Result<Digest, StoreError> {
        present(self.maybe_digest(column)?, column)
    }

    fn maybe_digest(&self, column: &str) -> Result<Option<Digest>, StoreError> {
        let bytes = self.maybe_bytes(column)?.map(<[u8; 32]>::try_from).transpose();
        let bytes = bytes.map_err(|source| corrupt(named(column), source))?;
        Ok(bytes.map(Digest::from_bytes))
    }

    /// Parses a text column as a model type. `what` describes the row in an error.
    fn word<T>(&self, column: &str, what: impl FnOnce() -> String) -> Result<T, StoreError>
    where
        T: FromStr<Err: Error + Send + Sync + 'static>,
    {
        self.text(column)?.parse().map_err(|source| corrupt(what(), source))
    }

    /// Parses a JSON column. `what` describes the row in an error.
    fn json<T>(&self, column: &str, what: impl FnOnce() -> String) -> Result<T, StoreError>
    where
        T: DeserializeOwned,
    {
        serde_json::from_str(self.text(column)?).map_err(|source| corrupt(what(), source))
    }

    /// Parses a nullable JSON column. `what` describes the row in an error.
    fn maybe_json<T>(
        &self,
        column: &str,
        what: impl FnOnce() -> String,
    ) -> Result<Option<T>, StoreError>
    where
        T: DeserializeOwned,
    {
        let value = self.maybe_text(column)?.map(serde_json::from_str);
        value.transpose().map_err(|source| corrupt(what(), source))
    }
}

/// The error for a required column without a value.
#[derive(Debug, Error)]
#[error("it has no value")]
struct Missing;

fn present<T>(value: Option<T>, column: &str) -> Result<T, StoreError> {
    value.ok_or_else(|| corrupt(named(column), Missing))
}

fn named(column: &str) -> String {
    format!("column {column}")
}

pub(crate) fn corrupt(what: String, source: impl Error + Send + Sync + 'static) -> StoreError {
    StoreError::Corrupt { what, source: Box::new(source) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of one column.
    #[derive(Clone, Copy)]
    enum One {
        Nothing,
        Text(&'static str),
        Integer(i64),
        Bytes(&'static [u8]),
    }

    impl Columns for One {
        fn maybe_text(&self, _: &str) -> Result<Option<&str>, StoreError> {
            Ok(if let One::Text(text) = self { Some(text) } else { None })
        }

        fn maybe_integer(&self, _: &str) -> Result<Option<i64>, StoreError> {
            Ok(if let One::Integer(integer) = self { Some(*integer) } else { None })
        }

        fn maybe_bytes(&self, _: &str) -> Result<Option<&[u8]>, StoreError> {
            Ok(if let One::Bytes(bytes) = self { Some(bytes) } else { None })
        }

        fn maybe_instant(&self, column: &str) -> Result<Option<Timestamp>, StoreError> {
            Ok(self.maybe_integer(column)?.map(Timestamp::from_micros))
        }

        fn flag(&self, column: &str) -> Result<bool, StoreError> {
            Ok(self.integer(column)? != 0)
        }

        fn texts(&self, column: &str) -> Result<Vec<String>, StoreError> {
            self.json(column, || named(column))
        }
    }

    #[track_caller]
    fn check<T: std::fmt::Debug>(read: Result<T, StoreError>, expected: &str) {
        let found = match read {
            Ok(value) => format!("{value:?}"),
            Err(StoreError::Corrupt { what, source }) => format!("{what}: {source}"),
            Err(other) => format!("{other:?}"),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn an_impossible_column_value_is_damage_that_names_the_column() {
        let what = || "event 3".to_owned();
        check(One::Integer(7).number::<u32>("seq"), "7");
        check(
            One::Integer(-1).number::<u32>("seq"),
            "column seq: out of range integral type conversion attempted",
        );
        check(One::Nothing.number::<u32>("seq"), "column seq: it has no value");
        check(One::Nothing.maybe_number::<u32>("seq"), "None");
        check(One::Nothing.text("path"), "column path: it has no value");
        check(One::Nothing.instant("at"), "column at: it has no value");
        check(
            One::Bytes(&[1; 31]).digest("sha256"),
            "column sha256: could not convert slice to array",
        );
        check(One::Nothing.maybe_digest("sha256"), "None");
        check(
            One::Text("{").json::<serde_json::Value>("body", what),
            "event 3: EOF while parsing an object at line 1 column 1",
        );
        check(One::Text("x").word::<u8>("kind", what), "event 3: invalid digit found in string");
    }
}
