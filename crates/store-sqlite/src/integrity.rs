//! Whether the file is as SQLite left it.

use noetl_store::StoreError;
use sqlx::{Row as _, query};

use crate::SqliteStore;
use crate::row::store_error;

/// What SQLite says of a file without damage.
const WHOLE: &str = "ok";

impl SqliteStore {
    /// The first damage that a look at every page finds, if there is any. Indexes are not compared
    /// with their tables, which would take as long as reading the whole file twice.
    pub async fn damage(&self) -> Result<Option<String>, StoreError> {
        let row = query(include_str!("../sql/quick_check.sql")).fetch_one(&self.readers).await;
        let said: String = row.and_then(|row| row.try_get(0)).map_err(store_error)?;
        Ok(Some(said).filter(|said| said != WHOLE))
    }
}
