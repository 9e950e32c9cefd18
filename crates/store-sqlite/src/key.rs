//! Start keys as rows.

use noetl_model::{Digest, ExecutionId, Timestamp};
use noetl_store::{KeptKey, KeyHolder, KeyName, StoreError};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;

use crate::row::{digest, get};

#[derive(Serialize)]
pub(crate) struct KeyRow<'a> {
    scope: &'a str,
    name: &'a str,
    execution_id: ExecutionId,
    request: Option<Digest>,
    kept_until: Timestamp,
}

impl<'a> KeyRow<'a> {
    pub(crate) fn of((scope, name): &'a KeyName, kept: &KeptKey) -> Self {
        let KeptKey { holder: KeyHolder { execution, request }, until } = *kept;
        Self { scope, name, execution_id: execution, request, kept_until: until }
    }
}

/// A key that an execution was started under.
pub(crate) fn kept_key(row: &SqliteRow) -> Result<(KeyName, KeptKey), StoreError> {
    let request: Option<&[u8]> = get(row, "request")?;
    let holder = KeyHolder {
        execution: ExecutionId(get(row, "execution_id")?),
        request: request.map(digest).transpose()?,
    };
    let until = Timestamp::from_micros(get(row, "kept_until")?);
    Ok(((get(row, "scope")?, get(row, "name")?), KeptKey { holder, until }))
}
