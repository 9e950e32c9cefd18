//! Bulk jobs: cancel, retry, rerun or delete many executions.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use noetl_api::AnyId;
use noetl_api::wire::{
    BulkBody, BulkFilterBody, BulkItemList, BulkJobList, BulkJobView, BulkPreview,
};
use noetl_app::{BulkAction, BulkChoice, BulkError, BulkFilter, BulkOutcome, BulkRequest};
use noetl_model::{CatalogId, ExecutionId, LabelError};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::execute::idempotency_key;
use super::list::{actor_of, instant_of, text_of};
use super::status_of;
use crate::request::actor::RequestActor;
use crate::request::extract::{InPath, InQuery};
use crate::request::strict::StrictBody;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create_bulk_job, list_bulk_jobs))
        .routes(routes!(count_bulk))
        .routes(routes!(delete_in_bulk))
        .routes(routes!(show_bulk_job, stop_bulk_job))
        .routes(routes!(list_bulk_items))
}

/// Counts the executions that a bulk job would act on, without creating it.
#[utoipa::path(
    post, path = "/api/executions/bulk/count", tag = "executions", request_body = BulkBody,
    responses(
        (status = 200, body = BulkPreview),
        (status = 422, description = "the request is not valid"),
    )
)]
async fn count_bulk(
    State(state): State<AppState>,
    StrictBody(body): StrictBody<BulkBody>,
) -> Result<Json<BulkPreview>, ApiError> {
    Ok(Json(state.app().count_bulk(&request_of(body)?).await?))
}

/// Creates a job that cancels, retries or reruns many executions. The set is fixed now: executions
/// that start later do not belong to it. The job goes on if this server ends.
#[utoipa::path(
    post, path = "/api/executions/bulk", tag = "executions", request_body = BulkBody,
    params(("Idempotency-Key" = Option<String>, Header,
        description = "The same request again gets the same job, another is refused")),
    responses(
        (status = 202, body = BulkJobView),
        (status = 422, description = "the request is not valid, too many executions match, or the key was used"),
    )
)]
async fn create_bulk_job(
    State(state): State<AppState>,
    headers: HeaderMap,
    RequestActor(actor): RequestActor,
    StrictBody(body): StrictBody<BulkBody>,
) -> Result<(StatusCode, Json<BulkJobView>), ApiError> {
    let request = request_of(body)?;
    if request.action == BulkAction::Delete {
        let detail = "deletion needs the scope `admin`: use /api/executions/bulk/delete";
        return Err(ApiError::invalid("invalid-action", detail));
    }
    let key = idempotency_key(&headers)?;
    let job = state.app().create_bulk(&request, key.as_deref(), actor).await?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}

/// Creates a job that deletes many ended executions. Running ones, parents and children of running
/// ones, origins of forks and executions that are marked to be kept are left. A tombstone of each
/// deleted execution remains.
#[utoipa::path(
    post, path = "/api/executions/bulk/delete", tag = "executions", request_body = BulkBody,
    params(("Idempotency-Key" = Option<String>, Header,
        description = "The same request again gets the same job, another is refused")),
    responses(
        (status = 202, body = BulkJobView),
        (status = 422, description = "the request is not valid, too many executions match, or the key was used"),
    )
)]
async fn delete_in_bulk(
    State(state): State<AppState>,
    headers: HeaderMap,
    RequestActor(actor): RequestActor,
    StrictBody(body): StrictBody<BulkBody>,
) -> Result<(StatusCode, Json<BulkJobView>), ApiError> {
    let request = request_of(body)?;
    if request.action != BulkAction::Delete {
        return Err(ApiError::invalid("invalid-action", "`action` is delete for this path"));
    }
    let key = idempotency_key(&headers)?;
    let job = state.app().create_bulk(&request, key.as_deref(), actor).await?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct BulkJobsQuery {
    /// At most 500, and 100 if left out.
    limit: Option<usize>,
    /// Start of the page: `next_cursor` of the previous one.
    cursor: Option<AnyId>,
}

/// Lists bulk jobs, newest first. A job is kept for a week after its end.
#[utoipa::path(
    get, path = "/api/executions/bulk", tag = "executions", params(BulkJobsQuery),
    responses((status = 200, body = BulkJobList))
)]
async fn list_bulk_jobs(
    State(state): State<AppState>,
    InQuery(query): InQuery<BulkJobsQuery>,
) -> Result<Json<BulkJobList>, ApiError> {
    let before = query.cursor.map(|cursor| cursor.0);
    Ok(Json(state.app().bulk_jobs(before, query.limit).await?))
}

/// Shows the progress of a bulk job.
#[utoipa::path(
    get, path = "/api/executions/bulk/{job_id}", tag = "executions",
    params(("job_id" = String, Path)),
    responses(
        (status = 200, body = BulkJobView),
        (status = 404, description = "there is no such job"),
    )
)]
async fn show_bulk_job(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<BulkJobView>, ApiError> {
    Ok(Json(state.app().bulk_job(id.0).await?))
}

/// Stops a bulk job. The executions that are left are not touched; a job that has ended stays as it
/// is.
#[utoipa::path(
    delete, path = "/api/executions/bulk/{job_id}", tag = "executions",
    params(("job_id" = String, Path)),
    responses(
        (status = 200, body = BulkJobView),
        (status = 404, description = "there is no such job"),
    )
)]
async fn stop_bulk_job(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<BulkJobView>, ApiError> {
    Ok(Json(state.app().stop_bulk(id.0).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct BulkItemsQuery {
    /// `done`, `unchanged` or `failed`.
    outcome: Option<String>,
    /// At most 500, and 100 if left out.
    limit: Option<usize>,
    /// Start of the page: `next_cursor` of the previous one.
    cursor: Option<AnyId>,
}

/// Lists the results of a bulk job, one for each execution, by descending id.
#[utoipa::path(
    get, path = "/api/executions/bulk/{job_id}/items", tag = "executions",
    params(("job_id" = String, Path), BulkItemsQuery),
    responses(
        (status = 200, body = BulkItemList),
        (status = 404, description = "there is no such job"),
    )
)]
async fn list_bulk_items(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<BulkItemsQuery>,
) -> Result<Json<BulkItemList>, ApiError> {
    let outcome = query.outcome.as_deref().map(str::parse::<BulkOutcome>).transpose();
    let outcome =
        outcome.map_err(|error| ApiError::invalid("invalid-outcome", error.to_string()))?;
    let before = query.cursor.map(ExecutionId::from);
    Ok(Json(state.app().bulk_items(id.0, before, outcome, query.limit).await?))
}

fn request_of(body: BulkBody) -> Result<BulkRequest, ApiError> {
    let action = match body.action.as_str() {
        "cancel" => BulkAction::Cancel,
        "retry" => BulkAction::Retry,
        "rerun" => BulkAction::Rerun,
        "delete" => BulkAction::Delete,
        other => {
            let detail = format!("`action` is cancel, retry, rerun or delete, not `{other}`");
            return Err(ApiError::invalid("invalid-action", detail));
        }
    };
    let choice = match (body.filter, body.execution_ids) {
        (Some(filter), None) => BulkChoice::Filter(filter_of(filter)?),
        (None, Some(ids)) => BulkChoice::Ids(ids.into_iter().map(ExecutionId::from).collect()),
        (Some(_), Some(_)) | (None, None) => {
            let detail = "give either `filter` or `execution_ids`";
            return Err(ApiError::invalid("invalid-selection", detail));
        }
    };
    Ok(BulkRequest { action, choice, reason: body.reason })
}

fn filter_of(body: BulkFilterBody) -> Result<BulkFilter, ApiError> {
    Ok(BulkFilter {
        status: body.status.as_deref().map(status_of).transpose()?,
        path: body.path,
        path_part: body.path_part,
        catalog_id: body.catalog_id.map(CatalogId::from),
        parent: body.parent_execution_id.map(ExecutionId::from),
        started_after: instant_of("started_after", body.started_after.as_deref())?,
        started_before: instant_of("started_before", body.started_before.as_deref())?,
        labels: body.labels.iter().map(|label| label.parse()).collect::<Result<_, LabelError>>()?,
        actor: body.actor.as_deref().map(actor_of).transpose()?,
        text: body.text.as_deref().map(text_of).transpose()?,
    })
}

impl From<BulkError> for ApiError {
    fn from(error: BulkError) -> Self {
        let detail = error.to_string();
        match error {
            BulkError::IdCount(_) => Self::invalid("invalid-selection", detail),
            BulkError::TooMany => Self::invalid("too-many-executions", detail),
            BulkError::ReasonTooLong => Self::invalid("reason-too-long", detail),
            BulkError::Key(error) => error.into(),
            BulkError::KeyReused(_) => Self::invalid("key-reused", detail),
            BulkError::Unknown(_) => Self::new(StatusCode::NOT_FOUND, "unknown-bulk-job", detail),
            BulkError::Contended(_) => Self::conflict("contended", detail),
            BulkError::Store(error) => error.into(),
        }
    }
}
