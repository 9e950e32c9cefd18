//! Subscriptions on PostgreSQL.

use noetl_model::{EventId, ExecutionId, Seq};
use noetl_store::from_row;
use noetl_store::to_row::{at_most, stored};
use noetl_store::{PAGE_MAX, READ_EVENTS_MAX, StoreError, SubscriptionRecord, SubscriptionRow};
use sqlx::query;

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{Named, is_rivalry, plain, store_error};

impl PgStore {
    pub(crate) async fn record(
        &self,
        row: &SubscriptionRow,
        event: EventId,
    ) -> Result<bool, StoreError> {
        let written = query(include_str!("../sql/put_subscription.sql"))
            .bind(row.id.0)
            .bind(plain(&row.path))
            .bind(row.catalog_id.0)
            .bind(stored(row.seq.0))
            .bind(row.last_event.as_str())
            .bind(Instant(row.updated_at))
            .bind(event.0)
            .execute(&mut *self.pool.connection().await?)
            .await;
        match written {
            Ok(written) => Ok(written.rows_affected() > 0),
            Err(error) if is_rivalry(&error) => Ok(false),
            Err(error) => Err(store_error(error)),
        }
    }

    pub(crate) async fn subscription(
        &self,
        id: ExecutionId,
    ) -> Result<Option<SubscriptionRow>, StoreError> {
        let row = self.row(query(include_str!("../sql/find_subscription.sql")).bind(id.0)).await?;
        row.as_ref().map(Named).map(from_row::subscription_row).transpose()
    }

    pub(crate) async fn subscription_at(
        &self,
        path: &str,
    ) -> Result<Option<SubscriptionRow>, StoreError> {
        let statement = query(include_str!("../sql/find_subscription_at.sql")).bind(plain(path));
        let row = self.row(statement).await?;
        row.as_ref().map(Named).map(from_row::subscription_row).transpose()
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
        rows.iter().map(Named).map(from_row::subscription_row).collect()
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
        rows.iter().map(|row| from_row::subscription_record(Named(row), id)).collect()
    }
}
