//! Ending executions, and running them again.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use noetl_api::AnyId;
use noetl_api::wire::{
    CancelAnswer, CancelRequest, CleanupAnswer, CleanupRequest, ExecuteAnswer, FinalizeAnswer,
    FinalizeRequest, StartAnswer,
};
use noetl_app::{EndError, OldExecutions};
use noetl_engine::Refusal;
use noetl_model::{ChildExecutions, ExecutionId};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::execute::answer_after;
use crate::request::actor::RequestActor;
use crate::request::extract::{Body, InPath, MaybeBody};
use crate::request::strict::MaybeStrictBody;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(cancel_execution))
        .routes(routes!(stop_execution))
        .routes(routes!(finalize_execution))
        .routes(routes!(rerun_execution))
        .routes(routes!(clean_up_executions))
}

/// Cancels an execution with its open commands, and its descendants unless `cascade` is false.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/cancel", tag = "executions",
    params(("execution_id" = String, Path)), request_body = CancelRequest,
    responses((status = 200, body = CancelAnswer))
)]
async fn cancel_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    actor: RequestActor,
    MaybeStrictBody(request): MaybeStrictBody<CancelRequest>,
) -> Result<Json<CancelAnswer>, ApiError> {
    cancel_one(&state, id.into(), request, actor).await.map(Json)
}

/// Cancels an execution (the web interface's name for `cancel`).
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/stop", tag = "executions",
    params(("execution_id" = String, Path)), request_body = CancelRequest,
    responses((status = 200, body = CancelAnswer))
)]
async fn stop_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    actor: RequestActor,
    MaybeStrictBody(request): MaybeStrictBody<CancelRequest>,
) -> Result<Json<CancelAnswer>, ApiError> {
    cancel_one(&state, id.into(), request, actor).await.map(Json)
}

async fn cancel_one(
    state: &AppState,
    execution: ExecutionId,
    request: CancelRequest,
    RequestActor(actor): RequestActor,
) -> Result<CancelAnswer, ApiError> {
    let below = if request.cascade == Some(false) {
        ChildExecutions::Kept
    } else {
        ChildExecutions::Cancelled
    };
    let cancelled = match state.app().cancel(execution, request.reason, below, actor).await {
        Ok(cancelled) => cancelled,
        // Existing clients expect 400 for an execution that has ended, and print `message`.
        Err(EndError::Refused(refusal @ Refusal::Finished(_))) => {
            let detail = refusal.to_string();
            return Err(ApiError::new(StatusCode::BAD_REQUEST, "execution-ended", &*detail)
                .with("message", json!(detail)));
        }
        Err(error) => return Err(error.into()),
    };
    Ok(CancelAnswer {
        execution_id: execution.into(),
        status: "cancelled",
        message: format!("execution {execution} is cancelled"),
        cancelled_executions: cancelled.iter().map(ExecutionId::to_string).collect(),
    })
}

/// Ends an execution manually; an execution that has ended stays as it is.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/finalize", tag = "executions",
    params(("execution_id" = String, Path)), request_body = FinalizeRequest,
    responses((status = 200, body = FinalizeAnswer))
)]
async fn finalize_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    RequestActor(actor): RequestActor,
    Body(request): Body<FinalizeRequest>,
) -> Result<Json<FinalizeAnswer>, ApiError> {
    let execution = ExecutionId::from(id);
    let status = request.status.to_uppercase().parse().map_err(|_| EndError::NotAnEnd)?;
    state.app().finalize(execution, status, request.error, actor).await?;
    Ok(Json(FinalizeAnswer {
        execution_id: execution.into(),
        status: status.to_string(),
        message: format!("execution {execution} is finalized as {status}"),
    }))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
struct RerunRequest {
    /// Replaces the workload of the first run, unless it is empty.
    #[serde(default, alias = "payload")]
    #[schema(value_type = Option<Object>)]
    workload: Option<Map<String, Value>>,
}

/// Runs the same version of the same playbook again.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/rerun", tag = "executions",
    params(("execution_id" = String, Path), ("Prefer" = Option<String>, Header,
        description = "`wait=30` answers once the execution has ended, after 30 seconds at most")),
    request_body = RerunRequest,
    responses(
        (status = 200, description = "the execution has started; with `Prefer: wait`, it has ended", body = StartAnswer),
        (status = 202, description = "with `Prefer: wait`: the execution still runs", body = ExecuteAnswer),
    )
)]
async fn rerun_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    RequestActor(actor): RequestActor,
    headers: HeaderMap,
    MaybeBody(request): MaybeBody<RerunRequest>,
) -> Result<Response, ApiError> {
    let workload = request.workload.filter(|workload| !workload.is_empty());
    let started = state.app().rerun(id.into(), workload, actor).await?;
    Ok(answer_after(&state, &headers, started).await)
}

/// Cancels executions that have been running for a long time.
#[utoipa::path(
    post, path = "/api/executions/cleanup", tag = "executions", request_body = CleanupRequest,
    responses((status = 200, body = CleanupAnswer))
)]
async fn clean_up_executions(
    State(state): State<AppState>,
    Body(request): Body<CleanupRequest>,
) -> Result<Json<CleanupAnswer>, ApiError> {
    let CleanupRequest { older_than_minutes, dry_run } = request;
    let treatment = if dry_run { OldExecutions::List } else { OldExecutions::Cancel };
    let ended = state.app().end_old_executions(older_than_minutes, treatment).await?;
    let count = ended.len();
    Ok(Json(CleanupAnswer {
        cancelled_count: if dry_run { 0 } else { count },
        message: if dry_run {
            format!("{count} executions would be cancelled")
        } else {
            format!("{count} executions are cancelled")
        },
        execution_ids: ended.iter().map(ExecutionId::to_string).collect(),
    }))
}

impl From<EndError> for ApiError {
    fn from(error: EndError) -> Self {
        let detail = error.to_string();
        match error {
            EndError::ReasonTooLong => Self::invalid("reason-too-long", detail),
            EndError::NotAnEnd => Self::invalid("not-an-end", detail),
            EndError::Refused(refusal) => refusal.into(),
            EndError::Submit(error) => error.into(),
            EndError::Store(error) => error.into(),
        }
    }
}
