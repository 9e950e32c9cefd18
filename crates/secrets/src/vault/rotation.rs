//! A new operator's key: every record's own key is wrapped by it, what they seal stays.
//!
//! Rows are taken in the order of their keys and only those that are under another key, so a
//! rotation that was interrupted goes on where it is called again.

use noetl_store::{PAGE_MAX, Rewrap, SealedTable};

use super::{Vault, VaultError};
use crate::envelope::{self, Place};

/// How a rotation went in one table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows that were under another key.
    pub processed: u64,
    pub rewrapped: u64,
    /// Rows that somebody else changed meanwhile; they are under the new key.
    pub skipped: u64,
    /// Rows whose key is not known here, or which are damaged.
    pub failed: u64,
    /// The key of the last row that was looked at.
    pub last: Option<String>,
    /// Whether every row was looked at.
    pub is_complete: bool,
}

/// How a rotation went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rotation {
    pub credential: Progress,
    pub keychain: Progress,
}

impl Vault {
    /// Wraps the keys of all records by the current key, at most `batches` times `batch` rows of
    /// each table.
    pub async fn rotate(&self, batch: usize, batches: usize) -> Result<Rotation, VaultError> {
        Ok(Rotation {
            credential: self.rotate_table(SealedTable::Credential, batch, batches).await?,
            keychain: self.rotate_table(SealedTable::Keychain, batch, batches).await?,
        })
    }

    async fn rotate_table(
        &self,
        table: SealedTable,
        batch: usize,
        batches: usize,
    ) -> Result<Progress, VaultError> {
        let version = self.keyring.current().version();
        let batch = batch.clamp(1, PAGE_MAX);
        let mut progress = Progress::default();
        for _ in 0..batches {
            let after = progress.last.clone().unwrap_or_default();
            let rows = self.records.sealed_otherwise(table, &version, &after, batch).await?;
            for row in &rows {
                progress.processed += 1;
                let place = Place { table, key: &row.key, id: row.id };
                let Ok(wrapped_key) = envelope::rewrap(&self.keyring, place, &row.sealed) else {
                    progress.failed += 1;
                    continue;
                };
                let change = Rewrap {
                    key: row.key.clone(),
                    expected: row.sealed.wrapped_key.clone(),
                    wrapped_key,
                    key_version: version.clone(),
                };
                if self.records.rewrap(table, &change).await? {
                    progress.rewrapped += 1;
                } else {
                    progress.skipped += 1;
                }
            }
            progress.last = rows.last().map(|row| row.key.clone()).or(progress.last);
            if rows.len() < batch {
                progress.is_complete = true;
                break;
            }
        }
        Ok(progress)
    }

    /// How many records are under each version of the key.
    pub async fn key_status(&self, table: SealedTable) -> Result<Vec<(String, u64)>, VaultError> {
        Ok(self.records.key_versions(table).await?)
    }

    /// The version of the key that seals.
    pub fn key_version(&self) -> String {
        self.keyring.current().version()
    }
}
