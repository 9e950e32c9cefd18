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
use sqlx::postgres::PgRow;

use crate::instant::Instant;
use crate::row::{corrupt, get, json};

/// A column that holds JSON, or nothing.
fn maybe_json(row: &PgRow, column: &str) -> Result<Option<Value>, StoreError> {
    let text: Option<&str> = get(row, column)?;
    text.map(|text| json(text, || format!("column {column}"))).transpose()
}

fn maybe_instant(row: &PgRow, column: &str) -> Result<Option<Timestamp>, StoreError> {
    let at: Option<Instant> = get(row, column)?;
    Ok(at.map(|Instant(at)| at))
}

fn digest(row: &PgRow, column: &str) -> Result<Digest, StoreError> {
    let bytes: &[u8] = get(row, column)?;
    let bytes = <[u8; 32]>::try_from(bytes);
    bytes.map(Digest::from_bytes).map_err(|source| corrupt(format!("column {column}"), source))
}

fn sealed(row: &PgRow) -> Result<Sealed, StoreError> {
    Ok(Sealed {
        key_version: get(row, "key_version")?,
        wrapped_key: get(row, "wrapped_key")?,
        ciphertext: get(row, "data_encrypted")?,
    })
}
