//! Bulk jobs, here or on a server.

use std::time::Duration;

use async_trait::async_trait;
use noetl_api::AnyId;
use noetl_api::wire::{
    BulkBody, BulkFilterBody, BulkItemList, BulkItemView, BulkJobView, BulkPreview,
};
use noetl_app::{BulkAction, BulkChoice, BulkError, BulkOutcome, BulkRequest};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::local::{Session, embedded_worker};
use super::remote::Remote;
use crate::show::failure::Failure;

/// Interval at which the progress of a job on a server is looked at.
const LOOK: Duration = Duration::from_millis(300);
/// The most results that one request lists.
const ITEMS_MAX: usize = 100;

/// The operations on bulk jobs.
#[async_trait]
pub(crate) trait BulkOperations {
    /// Counts the executions that a request would act on.
    async fn count_bulk(&self, request: &BulkRequest) -> Result<BulkPreview, Failure>;

    async fn create_bulk(&self, request: &BulkRequest) -> Result<BulkJobView, Failure>;

    /// Waits for progress of a job, or makes it in this process, and returns the job.
    async fn advance_bulk(&self, job: &str) -> Result<BulkJobView, Failure>;

    /// Lists failed executions of a job, at most 100.
    async fn failed_in_bulk(&self, job: &str) -> Result<Vec<BulkItemView>, Failure>;
}

fn failed(error: BulkError) -> Failure {
    match error {
        BulkError::IdCount(_)
        | BulkError::TooMany
        | BulkError::ReasonTooLong
        | BulkError::Key(_)
        | BulkError::KeyReused(_)
        | BulkError::Unknown(_) => Failure::bad_input(error),
        BulkError::Contended(_) | BulkError::Store(_) => Failure::broken(error),
    }
}

fn id_of(job: &str) -> Result<i64, Failure> {
    job.parse().map_err(Failure::broken)
}

#[async_trait]
impl BulkOperations for Session {
    async fn count_bulk(&self, request: &BulkRequest) -> Result<BulkPreview, Failure> {
        self.app().count_bulk(request).await.map_err(failed)
    }

    async fn create_bulk(&self, request: &BulkRequest) -> Result<BulkJobView, Failure> {
        self.app().create_bulk(request, None, self.actor()).await.map_err(failed)
    }

    async fn advance_bulk(&self, job: &str) -> Result<BulkJobView, Failure> {
        let (holder, stop) = (embedded_worker().to_string(), CancellationToken::new());
        self.app().advance_bulk_jobs(&holder, &stop).await.map_err(Failure::broken)?;
        self.app().bulk_job(id_of(job)?).await.map_err(failed)
    }

    async fn failed_in_bulk(&self, job: &str) -> Result<Vec<BulkItemView>, Failure> {
        let outcome = Some(BulkOutcome::Failed);
        let items = self.app().bulk_items(id_of(job)?, None, outcome, Some(ITEMS_MAX)).await;
        Ok(items.map_err(failed)?.items)
    }
}

#[async_trait]
impl BulkOperations for Remote {
    async fn count_bulk(&self, request: &BulkRequest) -> Result<BulkPreview, Failure> {
        self.post("api/executions/bulk/count", &json!(body_of(request))).await
    }

    async fn create_bulk(&self, request: &BulkRequest) -> Result<BulkJobView, Failure> {
        let path = match request.action {
            BulkAction::Cancel | BulkAction::Retry | BulkAction::Rerun => "api/executions/bulk",
            BulkAction::Delete => "api/executions/bulk/delete",
        };
        self.post(path, &json!(body_of(request))).await
    }

    async fn advance_bulk(&self, job: &str) -> Result<BulkJobView, Failure> {
        tokio::time::sleep(LOOK).await;
        self.get(&format!("api/executions/bulk/{job}")).await
    }

    async fn failed_in_bulk(&self, job: &str) -> Result<Vec<BulkItemView>, Failure> {
        let path = format!("api/executions/bulk/{job}/items?outcome=failed&limit={ITEMS_MAX}");
        let BulkItemList { items, .. } = self.get(&path).await?;
        Ok(items)
    }
}

fn body_of(request: &BulkRequest) -> BulkBody {
    let (filter, execution_ids) = match &request.choice {
        BulkChoice::Ids(ids) => (None, Some(ids.iter().map(|id| AnyId(id.0)).collect())),
        BulkChoice::Filter(filter) => {
            let body = BulkFilterBody {
                status: filter.status.map(|status| status.to_string()),
                path: filter.path.clone(),
                path_part: filter.path_part.clone(),
                catalog_id: filter.catalog_id.map(|id| AnyId(id.0)),
                parent_execution_id: filter.parent.map(|id| AnyId(id.0)),
                started_after: filter.started_after.map(|at| at.to_string()),
                started_before: filter.started_before.map(|at| at.to_string()),
                labels: filter.labels.iter().map(ToString::to_string).collect(),
                actor: filter.actor.as_ref().map(ToString::to_string),
                text: filter.text.as_ref().map(ToString::to_string),
            };
            (Some(body), None)
        }
    };
    let action = request.action.as_str().to_owned();
    BulkBody { action, filter, execution_ids, reason: request.reason.clone() }
}
