//! Ending executions, and running them again.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_api::wire::{
    CancelAnswer, CancelRequest, CleanupAnswer, CleanupRequest, ExecuteAnswer, FinalizeAnswer,
    FinalizeRequest,
};
use noetl_control::{Answer, PlaybookChoice, StartRequest};
use noetl_engine::Refusal;
use noetl_model::{Below, ExecutionId, ExecutionStatus, Timestamp};
use noetl_store::{ExecutionFilter, PAGE_MAX, Page};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::execute::answer;
use super::known;
use crate::error::ApiError;
use crate::extract::{Body, InPath, MaybeBody};
use crate::state::AppState;
use crate::strict::MaybeStrictBody;

/// Maximum number of descendants listed in the answer to a cancellation.
const NAMED_MAX: usize = 1000;
/// Maximum number of executions that one cleanup considers.
const CLEANUP_MAX: usize = 10_000;
/// Maximum length of a reason.
const REASON_MAX: usize = 1000;

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
    MaybeStrictBody(request): MaybeStrictBody<CancelRequest>,
) -> Result<Json<CancelAnswer>, ApiError> {
    cancel_one(&state, id.into(), request).await.map(Json)
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
    MaybeStrictBody(request): MaybeStrictBody<CancelRequest>,
) -> Result<Json<CancelAnswer>, ApiError> {
    cancel_one(&state, id.into(), request).await.map(Json)
}

async fn cancel_one(
    state: &AppState,
    execution: ExecutionId,
    request: CancelRequest,
) -> Result<CancelAnswer, ApiError> {
    let reason = reason_of(request.reason, "cancelled by request")?;
    let below = if request.cascade == Some(false) { Below::Spared } else { Below::Cancelled };
    let mut cancelled = vec![execution];
    if below.is_cancelled() {
        cancelled.extend(running_below(state, execution).await?);
    }
    match state.control().cancel_with(execution, reason, below).await? {
        Answer::Accepted | Answer::Leased(_) | Answer::HandedOver(_) => {}
        // Existing clients expect 400 for an execution that has ended, and print `message`.
        Answer::Refused(refusal @ Refusal::Finished(_)) => {
            let detail = refusal.to_string();
            return Err(ApiError::new(StatusCode::BAD_REQUEST, "execution-ended", &*detail)
                .with("message", json!(detail)));
        }
        Answer::Refused(refusal) => return Err(refusal.into()),
    }
    Ok(CancelAnswer {
        execution_id: execution.0,
        status: "cancelled",
        message: format!("execution {execution} is cancelled"),
        cancelled_executions: cancelled.iter().map(ExecutionId::to_string).collect(),
    })
}

fn reason_of(reason: Option<String>, otherwise: &str) -> Result<String, ApiError> {
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    let reason = reason.unwrap_or_else(|| otherwise.to_owned());
    if reason.len() > REASON_MAX {
        let detail = format!("a reason has at most {REASON_MAX} bytes");
        return Err(ApiError::invalid("reason-too-long", detail));
    }
    Ok(reason)
}

/// Returns the running descendants of an execution.
async fn running_below(
    state: &AppState,
    execution: ExecutionId,
) -> Result<Vec<ExecutionId>, ApiError> {
    let mut found: Vec<ExecutionId> = Vec::new();
    let mut parents = vec![execution];
    while let Some(parent) = parents.pop() {
        let filter = ExecutionFilter {
            parent: Some(parent),
            status: Some(ExecutionStatus::Running),
            ..Default::default()
        };
        let mut before = None;
        loop {
            let page = Page { before, limit: PAGE_MAX };
            let children = state.control().list(&filter, page).await?;
            before = children.last().map(|child| child.execution);
            let is_last = children.len() < PAGE_MAX;
            let children = children.into_iter().map(|child| child.execution);
            let room = NAMED_MAX - found.len();
            let children: Vec<ExecutionId> = children.take(room).collect();
            found.extend(&children);
            parents.extend(children);
            if found.len() == NAMED_MAX {
                return Ok(found);
            }
            if is_last {
                break;
            }
        }
    }
    Ok(found)
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
    Body(request): Body<FinalizeRequest>,
) -> Result<Json<FinalizeAnswer>, ApiError> {
    let execution = ExecutionId::from(id);
    let status = match request.status.to_uppercase().parse() {
        Ok(status @ (ExecutionStatus::Completed | ExecutionStatus::Failed)) => status,
        Ok(ExecutionStatus::Running | ExecutionStatus::Cancelled) | Err(_) => {
            let detail = "an execution is finalized as COMPLETED or FAILED";
            return Err(ApiError::invalid("not-an-end", detail));
        }
    };
    let reason = reason_of(request.error, "finalized by request")?;
    match state.control().finalize(execution, status, reason).await? {
        Answer::Accepted | Answer::Leased(_) | Answer::HandedOver(_) => {}
        Answer::Refused(refusal) => return Err(refusal.into()),
    }
    Ok(Json(FinalizeAnswer {
        execution_id: execution.0,
        status: status.to_string(),
        message: format!("execution {execution} is finalized as {status}"),
    }))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
struct RerunRequest {
    /// Replaces the workload of the first run.
    #[serde(default, alias = "payload")]
    #[schema(value_type = Option<Object>)]
    workload: Option<Map<String, Value>>,
}

/// Runs the same version of the same playbook again.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/rerun", tag = "executions",
    params(("execution_id" = String, Path)), request_body = RerunRequest,
    responses((status = 200, body = ExecuteAnswer))
)]
async fn rerun_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    MaybeBody(request): MaybeBody<RerunRequest>,
) -> Result<Json<ExecuteAnswer>, ApiError> {
    let execution = ExecutionId::from(id);
    let started = match request.workload.filter(|workload| !workload.is_empty()) {
        None => state.control().rerun(execution).await?,
        Some(workload) => {
            let summary = known(&state, execution).await?;
            let playbook = PlaybookChoice::Id(summary.playbook.catalog_id);
            state.control().start(StartRequest::new(playbook, workload)).await?
        }
    };
    answer(&state, started).await.map(Json)
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
    let age = std::time::Duration::from_secs(request.older_than_minutes.saturating_mul(60));
    let old = running_since(&state, state.now(), age).await?;
    let mut ended = Vec::with_capacity(old.len());
    for execution in old {
        if !request.dry_run {
            let reason = format!("ran for more than {} minutes", request.older_than_minutes);
            match state.control().cancel(execution, reason).await? {
                Answer::Accepted | Answer::Leased(_) | Answer::HandedOver(_) => {}
                Answer::Refused(_) => continue,
            }
        }
        ended.push(execution.to_string());
    }
    let count = ended.len();
    Ok(Json(CleanupAnswer {
        cancelled_count: if request.dry_run { 0 } else { count },
        message: if request.dry_run {
            format!("{count} executions would be cancelled")
        } else {
            format!("{count} executions are cancelled")
        },
        execution_ids: ended,
    }))
}

/// Returns the executions that have been running for longer than `age`, newest first.
async fn running_since(
    state: &AppState,
    now: Timestamp,
    age: std::time::Duration,
) -> Result<Vec<ExecutionId>, ApiError> {
    let filter = ExecutionFilter { status: Some(ExecutionStatus::Running), ..Default::default() };
    let (mut old, mut before) = (Vec::new(), None);
    for _page in 0..CLEANUP_MAX / PAGE_MAX {
        let page = Page { before, limit: PAGE_MAX };
        let running = state.control().list(&filter, page).await?;
        before = running.last().map(|summary| summary.execution);
        let is_last = running.len() < PAGE_MAX;
        let long = running.into_iter().filter(|summary| now.since(summary.started_at) > age);
        old.extend(long.map(|summary| summary.execution));
        if is_last {
            break;
        }
    }
    Ok(old)
}
