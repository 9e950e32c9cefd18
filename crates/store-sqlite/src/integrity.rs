//! Integrity check of the database file.

use noetl_store::StoreError;
use sqlx::{Row as _, SqlitePool, query};

use crate::SqliteStore;
use crate::row::store_error;

/// SQLite's answer for a file without damage.
const WHOLE: &str = "ok";

impl SqliteStore {
    /// Checks every page of the file and returns the first damage. Indexes are not compared with
    /// their tables, which would take as long as reading the whole file twice.
    pub async fn damage(&self) -> Result<Option<String>, StoreError> {
        damage_in(&self.readers).await
    }
}

pub(crate) async fn damage_in(readers: &SqlitePool) -> Result<Option<String>, StoreError> {
    let row = query(include_str!("../sql/quick_check.sql")).fetch_one(readers).await;
    let said: String = row.and_then(|row| row.try_get(0)).map_err(store_error)?;
    Ok(Some(said).filter(|said| said != WHOLE))
}
