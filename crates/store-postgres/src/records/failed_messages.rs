//! Failed messages on PostgreSQL.

use noetl_model::ExecutionId;
use noetl_store::from_row;
use noetl_store::to_row::{at_most, to_json};
use noetl_store::{FailedMark, FailedMessage, PAGE_MAX, StoreError};
use sqlx::query;

use crate::PgStore;
use crate::instant::Instant;
use crate::row::{Named, plain};

impl PgStore {
    pub(crate) async fn put_failed_message(
        &self,
        message: &FailedMessage,
    ) -> Result<(), StoreError> {
        let statement = query(include_str!("../../sql/put_failed_message.sql"))
            .bind(message.subscription.0)
            .bind(plain(&message.arrival.once))
            .bind(message.order_key.as_deref().map(plain))
            .bind(i64::from(message.failures))
            .bind(plain(&message.reason))
            .bind(to_json(&message.arrival))
            .bind(message.standing.until().map(Instant))
            .bind(Instant(message.first_at))
            .bind(Instant(message.last_at));
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
            .bind(plain_texts(named))
            .bind(plain_texts(order_keys));
        let rows = self.rows(statement).await?;
        rows.iter().map(Named).map(from_row::failed_mark).collect()
    }

    pub(crate) async fn failed_message(
        &self,
        subscription: ExecutionId,
        once: &str,
    ) -> Result<Option<FailedMessage>, StoreError> {
        let statement = query(include_str!("../../sql/find_failed_message.sql"))
            .bind(subscription.0)
            .bind(plain(once));
        let row = self.row(statement).await?;
        row.as_ref().map(|row| from_row::failed_message(Named(row), subscription)).transpose()
    }

    pub(crate) async fn failed_messages(
        &self,
        subscription: ExecutionId,
        after: &str,
        limit: usize,
    ) -> Result<Vec<FailedMessage>, StoreError> {
        let statement = query(include_str!("../../sql/list_failed_messages.sql"))
            .bind(subscription.0)
            .bind(plain(after))
            .bind(at_most(limit, PAGE_MAX));
        let rows = self.rows(statement).await?;
        rows.iter().map(|row| from_row::failed_message(Named(row), subscription)).collect()
    }

    pub(crate) async fn remove_failed_messages(
        &self,
        subscription: ExecutionId,
        named: &[String],
    ) -> Result<u64, StoreError> {
        let statement = query(include_str!("../../sql/remove_failed_messages.sql"))
            .bind(subscription.0)
            .bind(plain_texts(named));
        self.write(statement).await
    }
}

fn plain_texts(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| plain(text).into_owned()).collect()
}
