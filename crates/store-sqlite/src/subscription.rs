//! Subscriptions on SQLite.

use noetl_model::{EventId, ExecutionId, Seq};
use noetl_store::from_row;
use noetl_store::to_row::{at_most, stored};
use noetl_store::{PAGE_MAX, READ_EVENTS_MAX, StoreError, SubscriptionRecord, SubscriptionRow};
use sqlx::query;

use crate::SqliteStore;
use crate::row::{NamedRow, store_error};
use crate::store::begin;

impl SqliteStore {
    pub(crate) async fn record(
        &self,
        row: &SubscriptionRow,
        event: EventId,
    ) -> Result<bool, StoreError> {
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

    pub(crate) async fn subscription(
        &self,
        id: ExecutionId,
    ) -> Result<Option<SubscriptionRow>, StoreError> {
        let row = self.row(query(include_str!("../sql/find_subscription.sql")).bind(id.0)).await?;
        row.as_ref().map(NamedRow).map(from_row::subscription_row).transpose()
    }

    pub(crate) async fn subscription_at(
        &self,
        path: &str,
    ) -> Result<Option<SubscriptionRow>, StoreError> {
        let statement = query(include_str!("../sql/find_subscription_at.sql")).bind(path);
        let row = self.row(statement).await?;
        row.as_ref().map(NamedRow).map(from_row::subscription_row).transpose()
    }

    pub(crate) async fn subscriptions(
        &self,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<SubscriptionRow>, StoreError> {
        let statement = query(include_str!("../sql/list_subscriptions.sql"))
            .bind(before.map_or(i64::MAX, |id| id.0))
            .bind(at_most(limit, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::subscription_row).collect()
    }

    pub(crate) async fn subscription_events(
        &self,
        id: ExecutionId,
        after: Seq,
    ) -> Result<Vec<SubscriptionRecord>, StoreError> {
        let statement = query(include_str!("../sql/read_subscription_events.sql"))
            .bind(id.0)
            .bind(stored(after.0))
            .bind(at_most(READ_EVENTS_MAX, READ_EVENTS_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(|row| from_row::subscription_record(NamedRow(row), id)).collect()
    }
}
