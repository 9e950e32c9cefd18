//! Starting executions.

use axum::Json;
use axum::extract::State;
use noetl_api::wire::{
    ExecuteAnswer, ExecuteBatch, ExecuteBatchAnswer, ExecuteBatchItem, ExecuteRequest,
};
use noetl_control::{PlaybookChoice, StartRequest};
use noetl_model::{Event, ExecutionId, Pool, Seq};
use noetl_store::READ_EVENTS_MAX;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::Body;
use crate::state::AppState;

/// How many executions one request may start.
const BATCH_MAX: usize = 1000;
/// How long the name of a pool may be.
const POOL_NAME_MAX: usize = 64;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(execute)).routes(routes!(execute_batch))
}

/// Starts an execution.
#[utoipa::path(
    post, path = "/api/execute", tag = "executions", request_body = ExecuteRequest,
    responses((status = 200, body = ExecuteAnswer))
)]
async fn execute(
    State(state): State<AppState>,
    Body(request): Body<ExecuteRequest>,
) -> Result<Json<ExecuteAnswer>, ApiError> {
    let execution = start(&state, request).await?;
    answer(&state, execution).await.map(Json)
}

/// Starts many executions, each for itself.
#[utoipa::path(
    post, path = "/api/execute/batch", tag = "executions", request_body = ExecuteBatch,
    responses((status = 200, body = ExecuteBatchAnswer))
)]
async fn execute_batch(
    State(state): State<AppState>,
    Body(batch): Body<ExecuteBatch>,
) -> Result<Json<ExecuteBatchAnswer>, ApiError> {
    let count = batch.executions.len();
    if count == 0 || count > BATCH_MAX {
        let detail = format!("a batch has 1 to {BATCH_MAX} executions, not {count}");
        return Err(ApiError::invalid("batch-size", detail));
    }
    let requests = batch.executions.into_iter().enumerate();
    let results = futures::future::join_all(requests.map(|(index, request)| {
        let state = &state;
        async move { item(state, index, request).await }
    }));
    let results: Vec<ExecuteBatchItem> = results.await;
    let failed =
        results.iter().filter(|item| matches!(item, ExecuteBatchItem::Error { .. })).count();
    let started = count - failed;
    Ok(Json(ExecuteBatchAnswer { count, started, duplicates: 0, failed, results }))
}

async fn item(state: &AppState, index: usize, request: ExecuteRequest) -> ExecuteBatchItem {
    let started = async {
        let execution = start(state, request).await?;
        answer(state, execution).await
    };
    match started.await {
        Ok(ExecuteAnswer { execution_id, status: _, commands_generated }) => {
            ExecuteBatchItem::Started { index, execution_id, commands_generated }
        }
        Err(error) => ExecuteBatchItem::Error {
            index,
            commands_generated: 0,
            error: error.detail().to_owned(),
            code: error.code().to_owned(),
        },
    }
}

async fn start(state: &AppState, request: ExecuteRequest) -> Result<ExecutionId, ApiError> {
    if request.dedup.is_some() {
        let detail = "`dedup` is not served here; leave it out, or start under a key of your own";
        return Err(ApiError::invalid("dedup-unsupported", detail));
    }
    let playbook = match (request.catalog_id, request.path) {
        (Some(id), _) => PlaybookChoice::Id(id.into()),
        (None, Some(path)) => {
            PlaybookChoice::Path { path, version: version_of(request.version.as_ref())? }
        }
        (None, None) => {
            return Err(ApiError::invalid("no-playbook", "name a `path` or a `catalog_id`"));
        }
    };
    let pool = match request.execution_pool {
        Some(name) => pool_of(&name)?,
        None => Pool::shared(),
    };
    let payload = request.payload.unwrap_or_default();
    let request =
        StartRequest { pool, trace: request.trace, ..StartRequest::new(playbook, payload) };
    Ok(state.control().start(request).await?)
}

/// A pool that workers can ask for: part of a subject on the bus, so plain words only.
pub(super) fn pool_of(name: &str) -> Result<Pool, ApiError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > POOL_NAME_MAX || !name.chars().all(plain) {
        let detail =
            format!("`execution_pool` has 1 to {POOL_NAME_MAX} letters, digits, `-` and `_`");
        return Err(ApiError::invalid("invalid-pool", detail));
    }
    if name == Pool::CONTROL {
        let detail = format!("the pool `{name}` is the control plane's own");
        return Err(ApiError::invalid("invalid-pool", detail));
    }
    Ok(Pool::new(name))
}

/// A version as clients spell it: a number, the same as text, or `latest`.
pub(super) fn version_of(version: Option<&Value>) -> Result<Option<u32>, ApiError> {
    let number = match version {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text == "latest" => return Ok(None),
        Some(Value::String(text)) => text.parse().ok(),
        Some(Value::Number(number)) => number.as_u64().and_then(|it| u32::try_from(it).ok()),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => None,
    };
    match number {
        Some(number) => Ok(Some(number)),
        None => Err(ApiError::invalid("invalid-version", "`version` is a number, or `latest`")),
    }
}

/// What is said about an execution that has just been started.
pub(super) async fn answer(
    state: &AppState,
    execution: ExecutionId,
) -> Result<ExecuteAnswer, ApiError> {
    let events = state.control().events(execution, Seq::ZERO, READ_EVENTS_MAX).await?;
    let commands_generated = events
        .iter()
        .take_while(|recorded| !matches!(recorded.event, Event::CommandClaimed { .. }))
        .filter(|recorded| matches!(recorded.event, Event::CommandIssued { .. }))
        .count();
    Ok(ExecuteAnswer { execution_id: execution.to_string(), status: "started", commands_generated })
}
