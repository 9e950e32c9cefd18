//! Start keys on PostgreSQL.

use std::collections::HashMap;

use noetl_store::from_row;
use noetl_store::{Append, KeptKey, KeyName, StartKey, StoreError};
use sqlx::{PgConnection, query};

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
    let keys: Vec<&StartKey> = batch.iter().filter_map(|append| append.start_key_used()).collect();
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
    let found = rows.into_iter().map(|row| from_row::kept_key(&Named(row)));
    let found = found.collect::<Result<HashMap<_, _>, _>>()?;
    let named =
        keys.iter().filter_map(|key| Some((key.qualified(), *found.get(&stored_name(key))?)));
    Ok(named.collect())
}
