//! Failed messages on SQLite.

use noetl_model::ExecutionId;
use noetl_store::from_row;
use noetl_store::to_row::at_most;
use noetl_store::{FailedMark, FailedMessage, PAGE_MAX, StoreError};
use sqlx::query;

use crate::SqliteStore;
use crate::row::{NamedRow, array};

impl SqliteStore {
    pub(crate) async fn put_failed_message(
        &self,
        message: &FailedMessage,
    ) -> Result<(), StoreError> {
        let arrival = serde_json::to_string(&message.arrival).expect("a message is plain data");
        let statement = query(include_str!("../../sql/put_failed_message.sql"))
            .bind(message.subscription.0)
            .bind(&message.arrival.once)
            .bind(&message.order_key)
            .bind(i64::from(message.failures))
            .bind(&message.reason)
            .bind(arrival)
            .bind(message.standing.until().map(|until| until.as_micros()))
            .bind(message.first_at.as_micros())
            .bind(message.last_at.as_micros());
        self.write(statement).await?;
        Ok(())
    }

    pub(crate) async fn failed_among(
        &self,
        subscription: ExecutionId,
        named: &[String],
        order_keys: &[String],
    ) -> Result<Vec<FailedMark>, StoreError> {
        let statement = query(include_str!("../../sql/mark_failed_messages.sql"))
            .bind(subscription.0)
            .bind(array(named))
            .bind(array(order_keys));
        let rows = self.rows(statement).await?;
        rows.iter().map(NamedRow).map(from_row::failed_mark).collect()
    }

    pub(crate) async fn failed_message(
        &self,
        subscription: ExecutionId,
        once: &str,
    ) -> Result<Option<FailedMessage>, StoreError> {
        let statement = query(include_str!("../../sql/find_failed_message.sql"))
            .bind(subscription.0)
            .bind(once);
        let row = self.row(statement).await?;
        row.as_ref().map(|row| from_row::failed_message(NamedRow(row), subscription)).transpose()
    }

    pub(crate) async fn failed_messages(
        &self,
        subscription: ExecutionId,
        after: &str,
        limit: usize,
    ) -> Result<Vec<FailedMessage>, StoreError> {
        let statement = query(include_str!("../../sql/list_failed_messages.sql"))
            .bind(subscription.0)
            .bind(after)
            .bind(at_most(limit, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(|row| from_row::failed_message(NamedRow(row), subscription)).collect()
    }

    pub(crate) async fn remove_failed_messages(
        &self,
        subscription: ExecutionId,
        named: &[String],
    ) -> Result<u64, StoreError> {
        let statement = query(include_str!("../../sql/remove_failed_messages.sql"))
            .bind(subscription.0)
            .bind(array(named));
        self.write(statement).await
    }
}
