//! Deletion of expired records on SQLite.

use noetl_model::{Digest, Timestamp};
use noetl_store::from_row::Columns as _;
use noetl_store::to_row::at_most;
use noetl_store::{Collected, Horizon, PAGE_MAX, StoreError, remove_all_but};
use sqlx::query;

use crate::SqliteStore;
use crate::row::{NamedRow, array};

impl SqliteStore {
    pub(crate) async fn collect(
        &self,
        horizon: &Horizon,
        limit: usize,
    ) -> Result<Collected, StoreError> {
        let remove = async |statement: &'static str, before: Timestamp| {
            let statement =
                query(statement).bind(before.as_micros()).bind(at_most(limit, PAGE_MAX));
            let removed = self.write_lazily(statement).await?;
            Ok::<u64, StoreError>(removed)
        };
        let Horizon { expired, payloads, keychain, runtimes, audit } = *horizon;
        Ok(Collected {
            results: remove(include_str!("../../sql/collect_results.sql"), expired).await?,
            payloads: remove(include_str!("../../sql/collect_payloads.sql"), payloads).await?,
            objects: remove(include_str!("../../sql/collect_objects.sql"), expired).await?,
            keychain: remove(include_str!("../../sql/collect_keychain.sql"), keychain).await?,
            runtimes: remove(include_str!("../../sql/collect_runtimes.sql"), runtimes).await?,
            audit: remove(include_str!("../../sql/collect_accesses.sql"), audit).await?,
        })
    }

    pub(crate) async fn expire(&self, _before: Timestamp) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    pub(crate) async fn collect_blobs(
        &self,
        first: u8,
        before: Timestamp,
    ) -> Result<u64, StoreError> {
        let Some(blobs) = self.blobs() else { return Ok(0) };
        let mut gone = 0;
        for digests in blobs.aged(first, before).await?.chunks(PAGE_MAX) {
            let statement =
                query(include_str!("../../sql/find_kept_payloads.sql")).bind(array(digests));
            let rows = self.rows(statement).await?;
            let kept: Vec<Digest> =
                rows.iter().map(|row| NamedRow(row).digest("sha256")).collect::<Result<_, _>>()?;
            gone += remove_all_but(&kept, digests, blobs, before).await?;
        }
        Ok(gone)
    }
}
