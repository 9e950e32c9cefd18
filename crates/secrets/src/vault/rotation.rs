//! Rotation of the operator's key: every data key is rewrapped, the encrypted data is not touched.
//!
//! Only rows under another key are read, in key order, so an interrupted rotation continues with
//! the next call.

use noetl_store::{PAGE_MAX, Rewrap, SealedTable};

use super::{Vault, VaultError};
use crate::envelope::{self, BoundRow};

/// The progress of a rotation in one table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RotationProgress {
    /// Rows that were under another key.
    pub processed: u64,
    pub rewrapped: u64,
    /// Rows changed by another process meanwhile; these are already under the new key.
    pub skipped: u64,
    /// Rows whose key is unknown or that are damaged.
    pub failed: u64,
    /// The key of the last processed row.
    pub last: Option<String>,
    /// True if every row was processed.
    pub is_complete: bool,
}

/// The progress of a rotation in all tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rotation {
    pub credential: RotationProgress,
    pub keychain: RotationProgress,
}

impl Vault {
    /// Rewraps data keys with the current key, at most `batches` times `batch` rows per table.
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
    ) -> Result<RotationProgress, VaultError> {
        let version = self.keyring.current().version();
        let batch = batch.clamp(1, PAGE_MAX);
        let mut progress = RotationProgress::default();
        for _ in 0..batches {
            let after = progress.last.clone().unwrap_or_default();
            let rows = self.records.sealed_otherwise(table, &version, &after, batch).await?;
            for row in &rows {
                progress.processed += 1;
                let place = BoundRow { table: table.as_str(), key: &row.key, id: row.id };
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

    /// Returns the number of records under each key version.
    pub async fn key_status(&self, table: SealedTable) -> Result<Vec<(String, u64)>, VaultError> {
        Ok(self.records.key_versions(table).await?)
    }

    /// Returns the version of the current key.
    pub fn key_version(&self) -> String {
        self.keyring.current().version()
    }
}
