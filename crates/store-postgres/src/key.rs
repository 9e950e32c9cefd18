//! Start keys on PostgreSQL.

use std::collections::HashMap;

use noetl_model::Timestamp;
use noetl_store::from_row;
use noetl_store::{Append, KeptKey, KeyName, StartKey, StoreError};
use sqlx::{PgConnection, query};

use crate::instant::Instant;
use crate::row::{Named, plain, store_error};

/// Returns scope and name as PostgreSQL can store them.
fn stored_name(key: &StartKey) -> KeyName {
    (plain(&key.scope).into_owned(), plain(&key.name).into_owned())
}

/// Looks up the existing start keys of a batch.
pub(crate) async fn find_keys(
    connection: &mut PgConnection,
    batch: &[&Append],
) -> Result<HashMap<KeyName, KeptKey>, StoreError> {
    let keys: Vec<&StartKey> = batch.iter().filter_map(|append| append.starts_under()).collect();
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let (scopes, names): (Vec<String>, Vec<String>) = keys.iter().copied().map(stored_name).unzip();
    let rows = query(include_str!("../sql/find_start_keys.sql"))
        .bind(scopes)
        .bind(names)
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    let found = rows.iter().map(Named).map(from_row::kept_key);
    let found = found.collect::<Result<HashMap<_, _>, _>>()?;
    let named =
        keys.iter().filter_map(|key| Some((key.qualified(), *found.get(&stored_name(key))?)));
    Ok(named.collect())
}

/// Writes the start keys of a plan made at `now`, and deletes some expired ones. Returns false if
/// another writer has taken one of the keys.
pub(crate) async fn put_keys(
    connection: &mut PgConnection,
    keys: impl Iterator<Item = (&KeyName, &KeptKey)>,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    let rows: Vec<(&KeyName, &KeptKey)> = keys.collect();
    let column = |of: fn(&KeyName) -> &str| -> Vec<String> {
        rows.iter().map(|(name, _)| plain(of(name)).into_owned()).collect()
    };
    let request = |kept: &KeptKey| kept.holder.request.map(|digest| digest.as_bytes().to_vec());
    let written = query(include_str!("../sql/put_start_keys.sql"))
        .bind(column(|(scope, _)| scope))
        .bind(column(|(_, name)| name))
        .bind(rows.iter().map(|(_, kept)| kept.holder.execution.0).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, kept)| request(kept)).collect::<Vec<_>>())
        .bind(rows.iter().map(|(_, kept)| Instant(kept.until)).collect::<Vec<_>>())
        .bind(Instant(now))
        .execute(&mut *connection)
        .await?;
    query(include_str!("../sql/remove_start_keys.sql"))
        .bind(Instant(now))
        .execute(connection)
        .await?;
    Ok(usize::try_from(written.rows_affected()) == Ok(rows.len()))
}
