//! The end of what has one.

use async_trait::async_trait;
use noetl_model::Timestamp;
use noetl_store::{Cleanup, Collected, Horizon, PAGE_MAX, StoreError};
use sqlx::query;

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{at_most, store_error};

#[async_trait]
impl Cleanup for PgStore {
    async fn collect(&self, horizon: &Horizon, limit: usize) -> Result<Collected, StoreError> {
        let remove = async |statement: &'static str, before: Timestamp| {
            let removed = query(statement)
                .bind(Instant(before))
                .bind(at_most(limit, PAGE_MAX))
                .execute(&self.pool)
                .await
                .map_err(store_error)?;
            Ok::<u64, StoreError>(removed.rows_affected())
        };
        let Horizon { expired, keychain, runtimes, audit } = *horizon;
        Ok(Collected {
            results: remove(include_str!("../../sql/collect_results.sql"), expired).await?,
            objects: remove(include_str!("../../sql/collect_objects.sql"), expired).await?,
            keychain: remove(include_str!("../../sql/collect_keychain.sql"), keychain).await?,
            runtimes: remove(include_str!("../../sql/collect_runtimes.sql"), runtimes).await?,
            audit: remove(include_str!("../../sql/collect_accesses.sql"), audit).await?,
        })
    }

    async fn expire(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        let months = self.drop_expired(before).await?;
        self.drop_feed_batches(before).await?;
        Ok(months)
    }
}
