//! Start keys as rows.

use std::collections::HashMap;

use noetl_model::{Digest, ExecutionId, Timestamp};
use noetl_store::{Append, KeptKey, KeyHolder, KeyName, StoreError};
use serde::Serialize;
use sqlx::{SqliteConnection, query, query_as};

use crate::row::{array, digest, store_error};

/// Scope, name, execution, what was asked for, until when it is kept.
type Row = (String, String, i64, Option<Vec<u8>>, i64);

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

/// The keys that a batch starts executions under and that are there.
pub(crate) async fn find_keys(
    connection: &mut SqliteConnection,
    batch: &[Append],
) -> Result<HashMap<KeyName, KeptKey>, StoreError> {
    let names: Vec<KeyName> =
        batch.iter().filter_map(Append::starts_under).map(|key| key.qualified()).collect();
    if names.is_empty() {
        return Ok(HashMap::new());
    }
    let rows: Vec<Row> = query_as(include_str!("../sql/find_start_keys.sql"))
        .bind(array(names))
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    rows.into_iter()
        .map(|(scope, name, execution, request, until)| {
            let holder = KeyHolder {
                execution: ExecutionId(execution),
                request: request.map(|bytes| digest(&bytes)).transpose()?,
            };
            Ok(((scope, name), KeptKey { holder, until: Timestamp::from_micros(until) }))
        })
        .collect()
}

/// Forgets some keys that are no longer kept.
pub(crate) async fn forget_keys(
    connection: &mut SqliteConnection,
    now: Timestamp,
) -> Result<(), StoreError> {
    query(include_str!("../sql/remove_start_keys.sql"))
        .bind(now.as_micros())
        .execute(connection)
        .await
        .map_err(store_error)?;
    Ok(())
}
