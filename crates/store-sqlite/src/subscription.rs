//! Subscriptions.

use async_trait::async_trait;
use noetl_model::{CatalogId, EventId, ExecutionId, Seq, Timestamp};
use noetl_store::{
    PAGE_MAX, READ_EVENTS_MAX, StoreError, SubscriptionRecord, SubscriptionRow, Subscriptions,
};
use sqlx::query;
use sqlx::sqlite::SqliteRow;

use crate::SqliteStore;
use crate::row::{at_most, get, store_error, stored, word};
use crate::store::begin;

#[async_trait]
impl Subscriptions for SqliteStore {
    async fn record(&self, row: &SubscriptionRow, event: EventId) -> Result<bool, StoreError> {
        let mut writer = self.writer().await?;
        let mut transaction = begin(&mut writer).await?;
        let statement = if row.seq == Seq::ZERO.next() {
            query(include_str!("../sql/start_subscription.sql"))
        } else {
            query(include_str!("../sql/move_subscription.sql"))
        };
        let written = statement
            .bind(row.id.0)
            .bind(&row.path)
            .bind(row.catalog_id.0)
            .bind(stored(row.seq.0))
            .bind(row.last_event.as_str())
            .bind(row.updated_at.as_micros())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        if written.rows_affected() == 0 {
            return Ok(false);
        }
        query(include_str!("../sql/put_subscription_event.sql"))
            .bind(row.id.0)
            .bind(stored(row.seq.0))
            .bind(event.0)
            .bind(row.last_event.as_str())
            .bind(row.updated_at.as_micros())
            .execute(&mut *transaction)
            .await
            .map_err(store_error)?;
        transaction.commit().await.map_err(store_error)?;
        Ok(true)
    }

    async fn subscription(&self, id: ExecutionId) -> Result<Option<SubscriptionRow>, StoreError> {
        let row = query(include_str!("../sql/find_subscription.sql"))
            .bind(id.0)
            .fetch_optional(&self.readers)
            .await
            .map_err(store_error)?;
        row.as_ref().map(subscription).transpose()
    }

    async fn subscription_at(&self, path: &str) -> Result<Option<SubscriptionRow>, StoreError> {
        let row = query(include_str!("../sql/find_subscription_at.sql"))
            .bind(path)
            .fetch_optional(&self.readers)
            .await
            .map_err(store_error)?;
        row.as_ref().map(subscription).transpose()
    }

    async fn subscriptions(
        &self,
        before: Option<ExecutionId>,
    ) -> Result<Vec<SubscriptionRow>, StoreError> {
        let rows = query(include_str!("../sql/list_subscriptions.sql"))
            .bind(before.map_or(i64::MAX, |id| id.0))
            .bind(at_most(PAGE_MAX, PAGE_MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        rows.iter().map(subscription).collect()
    }

    async fn subscription_events(
        &self,
        id: ExecutionId,
        after: Seq,
    ) -> Result<Vec<SubscriptionRecord>, StoreError> {
        let rows = query(include_str!("../sql/read_subscription_events.sql"))
            .bind(id.0)
            .bind(stored(after.0))
            .bind(at_most(READ_EVENTS_MAX, READ_EVENTS_MAX))
            .fetch_all(&self.readers)
            .await
            .map_err(store_error)?;
        rows.iter()
            .map(|row| {
                let what = || format!("an event of subscription {id}");
                Ok(SubscriptionRecord {
                    seq: Seq(get(row, "seq")?),
                    event_id: EventId(get(row, "event_id")?),
                    event: word(get(row, "event_type")?, what)?,
                    at: Timestamp::from_micros(get(row, "created_at")?),
                })
            })
            .collect()
    }
}

fn subscription(row: &SqliteRow) -> Result<SubscriptionRow, StoreError> {
    let id = ExecutionId(get(row, "subscription_id")?);
    Ok(SubscriptionRow {
        id,
        path: get(row, "path")?,
        catalog_id: CatalogId(get(row, "catalog_id")?),
        seq: Seq(get(row, "seq")?),
        last_event: word(get(row, "last_event")?, || format!("subscription {id}"))?,
        updated_at: Timestamp::from_micros(get(row, "updated_at")?),
    })
}
