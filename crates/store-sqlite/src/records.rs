//! What is kept beside the log.

mod cleanup;
mod credentials;
mod failed_messages;
mod keychain;
mod objects;
mod projected;
mod runtimes;
mod turns;
mod variables;

use noetl_model::{Digest, Timestamp};
use noetl_store::{Sealed, StoreError};
use serde_json::Value;
use sqlx::sqlite::SqliteRow;

use crate::row::{corrupt, get, json};

/// A column that holds JSON, or nothing.
fn maybe_json(row: &SqliteRow, column: &str) -> Result<Option<Value>, StoreError> {
    let text: Option<&str> = get(row, column)?;
    text.map(|text| json(text, || format!("column {column}"))).transpose()
}

fn instant(row: &SqliteRow, column: &str) -> Result<Timestamp, StoreError> {
    get(row, column).map(Timestamp::from_micros)
}

fn maybe_instant(row: &SqliteRow, column: &str) -> Result<Option<Timestamp>, StoreError> {
    let micros: Option<i64> = get(row, column)?;
    Ok(micros.map(Timestamp::from_micros))
}

fn digest(row: &SqliteRow, column: &str) -> Result<Digest, StoreError> {
    let bytes: &[u8] = get(row, column)?;
    let bytes = <[u8; 32]>::try_from(bytes);
    bytes.map(Digest::from_bytes).map_err(|source| corrupt(format!("column {column}"), source))
}

fn sealed(row: &SqliteRow) -> Result<Sealed, StoreError> {
    Ok(Sealed {
        key_version: get(row, "key_version")?,
        wrapped_key: get(row, "wrapped_key")?,
        ciphertext: get(row, "data_encrypted")?,
    })
}
