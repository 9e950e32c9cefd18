//! The outbox, here or on a server.

use async_trait::async_trait;
use noetl_api::wire::{OutboxChanged, OutboxPage};
use noetl_app::OutboxError;
use serde_json::json;

use super::local::Session;
use super::remote::Remote;
use crate::show::failure::Failure;

/// The operations on pending messages.
#[async_trait]
pub(crate) trait Outbox {
    /// Lists the pending messages in a state after an id, oldest first.
    async fn messages(
        &self,
        status: Option<&str>,
        after: i64,
        limit: usize,
    ) -> Result<OutboxPage, Failure>;

    /// Retries failed and dead messages at once; returns their number.
    async fn retry_messages(&self, ids: &[i64]) -> Result<u64, Failure>;

    /// Deletes dead messages; returns their number.
    async fn drop_messages(&self, ids: &[i64]) -> Result<u64, Failure>;
}

fn failed(error: OutboxError) -> Failure {
    match error {
        OutboxError::NoIds
        | OutboxError::TooManyIds
        | OutboxError::NoReason
        | OutboxError::UnknownState(_) => Failure::bad_input(error),
        OutboxError::Store(_) => Failure::broken(error),
    }
}

#[async_trait]
impl Outbox for Session {
    async fn messages(
        &self,
        status: Option<&str>,
        after: i64,
        limit: usize,
    ) -> Result<OutboxPage, Failure> {
        self.app().list_messages(status, after, Some(limit)).await.map_err(failed)
    }

    async fn retry_messages(&self, ids: &[i64]) -> Result<u64, Failure> {
        self.app().retry_messages(ids).await.map_err(failed)
    }

    async fn drop_messages(&self, ids: &[i64]) -> Result<u64, Failure> {
        self.app().drop_messages(ids).await.map_err(failed)
    }
}

#[async_trait]
impl Outbox for Remote {
    async fn messages(
        &self,
        status: Option<&str>,
        after: i64,
        limit: usize,
    ) -> Result<OutboxPage, Failure> {
        let status = status.map(|status| format!("&status={status}")).unwrap_or_default();
        self.get(&format!("api/internal/outbox/messages?after={after}&limit={limit}{status}")).await
    }

    async fn retry_messages(&self, ids: &[i64]) -> Result<u64, Failure> {
        let body = json!({ "outbox_ids": ids });
        let OutboxChanged { changed } = self.post("api/internal/outbox/retry", &body).await?;
        Ok(changed)
    }

    async fn drop_messages(&self, ids: &[i64]) -> Result<u64, Failure> {
        let body = json!({ "outbox_ids": ids });
        let OutboxChanged { changed } = self.post("api/internal/outbox/drop", &body).await?;
        Ok(changed)
    }
}
