//! Deletion of executions, and marks that protect from it, here or on a server.

use std::time::Duration;

use async_trait::async_trait;
use noetl_api::Method;
use noetl_api::wire::{KeepAnswer, KeepRequest};
use noetl_app::DeleteError;
use noetl_model::ExecutionId;
use serde_json::json;

use super::local::Session;
use super::remote::Remote;
use crate::show::failure::Failure;

/// The operations on marks of executions.
#[async_trait]
pub(crate) trait KeepMarks {
    async fn keep(&self, execution: ExecutionId, reason: Option<String>) -> Result<(), Failure>;

    async fn end_keeping(&self, execution: ExecutionId) -> Result<(), Failure>;

    /// Deletes the rows of deleted executions for a while, where no server does it. Returns false if
    /// some are left.
    async fn finish_deletions(&self) -> Result<bool, Failure>;
}

/// The time for which a command deletes rows.
const DELETION_TIME_MAX: Duration = Duration::from_secs(20);

fn failed(error: DeleteError) -> Failure {
    match error {
        DeleteError::Kept { .. } | DeleteError::ReasonTooLong => Failure::bad_input(error),
        DeleteError::Load(_) | DeleteError::Store(_) => Failure::broken(error),
    }
}

#[async_trait]
impl KeepMarks for Session {
    async fn keep(&self, execution: ExecutionId, reason: Option<String>) -> Result<(), Failure> {
        let kept = self.app().keep_execution(execution, reason, self.actor()).await;
        kept.map(drop).map_err(failed)
    }

    async fn end_keeping(&self, execution: ExecutionId) -> Result<(), Failure> {
        self.app().end_keeping(execution).await.map(drop).map_err(failed)
    }

    async fn finish_deletions(&self) -> Result<bool, Failure> {
        self.app().finish_deletions(DELETION_TIME_MAX).await.map_err(Failure::broken)
    }
}

#[async_trait]
impl KeepMarks for Remote {
    async fn keep(&self, execution: ExecutionId, reason: Option<String>) -> Result<(), Failure> {
        let body = json!(KeepRequest { reason });
        let path = format!("api/executions/{execution}/keep");
        self.ask::<KeepAnswer>(Method::PUT, &path, Some(&body), Duration::ZERO).await.map(drop)
    }

    async fn end_keeping(&self, execution: ExecutionId) -> Result<(), Failure> {
        self.delete(&format!("api/executions/{execution}/keep")).await
    }

    /// The server does it in the background.
    async fn finish_deletions(&self) -> Result<bool, Failure> {
        Ok(true)
    }
}
