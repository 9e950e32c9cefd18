//! Starting executions.

mod key;

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use noetl_api::wire::{
    ExecuteAnswer, ExecuteBatch, ExecuteBatchAnswer, ExecuteBatchItem, ExecuteRequest,
};
use noetl_control::{Admission, PlaybookChoice, StartError, StartRequest};
use noetl_model::{Event, ExecutionId, Pool, Seq};
use noetl_store::{KeyHolder, READ_EVENTS_MAX, StartKey};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::state::AppState;
use crate::strict::StrictBody;
use crate::trace::context;
use key::{idempotency_key, key_of};

/// Maximum number of executions per request.
const BATCH_MAX: usize = 1000;
/// Maximum length of a pool's name.
const POOL_NAME_MAX: usize = 64;
/// Error code of a start that is refused because too many executions wait.
const BACKLOG_FULL: &str = "backlog-full";
/// Status of an answer about an execution that was started before.
const DUPLICATE: &str = "duplicate";

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(execute)).routes(routes!(execute_batch))
}

/// Starts an execution.
#[utoipa::path(
    post, path = "/api/execute", tag = "executions", request_body = ExecuteRequest,
    params(("Idempotency-Key" = Option<String>, Header,
        description = "The same request again within a day gets the same answer, another is refused")),
    responses((status = 200, body = ExecuteAnswer))
)]
async fn execute(
    State(state): State<AppState>,
    headers: HeaderMap,
    StrictBody(request): StrictBody<ExecuteRequest>,
) -> Result<Json<ExecuteAnswer>, ApiError> {
    let header = idempotency_key(&headers)?;
    // Read separately from the request, because the trace is not part of the idempotency key.
    let trace = request.trace.is_none().then(|| context(&headers)).flatten();
    let started = start(&state, request, Entry::Single { key: header.as_deref(), trace }).await;
    if let Err(error) = &started
        && error.code() == BACKLOG_FULL
    {
        state.meters().refused_start();
    }
    state.meters().execute("single", outcome(&started));
    started.map(Json)
}

fn outcome(started: &Result<ExecuteAnswer, ApiError>) -> &'static str {
    match started {
        Ok(ExecuteAnswer { status: DUPLICATE, .. }) => "duplicate",
        Ok(_) => "new",
        Err(_) => "error",
    }
}

/// Starts several executions independently of one another.
#[utoipa::path(
    post, path = "/api/execute/batch", tag = "executions", request_body = ExecuteBatch,
    responses((status = 200, body = ExecuteBatchAnswer))
)]
async fn execute_batch(
    State(state): State<AppState>,
    StrictBody(batch): StrictBody<ExecuteBatch>,
) -> Result<Json<ExecuteBatchAnswer>, ApiError> {
    let count = batch.executions.len();
    if count == 0 || count > BATCH_MAX {
        let detail = format!("a batch has 1 to {BATCH_MAX} executions, not {count}");
        return Err(ApiError::invalid("batch-size", detail));
    }
    state.meters().batch(count);
    // A batch is admitted as a whole: half of one would be hard to repeat.
    for pool in pools_of(&batch.executions) {
        if let Err(error) = state.control().admit(&pool, Admission::Request).await {
            state.meters().refused_start();
            return Err(error.into());
        }
    }
    let requests = batch.executions.into_iter().enumerate();
    let results = futures::future::join_all(requests.map(|(index, request)| {
        let state = &state;
        async move { item(state, index, request).await }
    }));
    let results: Vec<ExecuteBatchItem> = results.await;
    let (mut started, mut duplicates, mut failed) = (0, 0, 0);
    for item in &results {
        match item {
            ExecuteBatchItem::Started { .. } => started += 1,
            ExecuteBatchItem::Duplicate { .. } => duplicates += 1,
            ExecuteBatchItem::Error { .. } => failed += 1,
        }
    }
    Ok(Json(ExecuteBatchAnswer { count, started, duplicates, failed, results }))
}

async fn item(state: &AppState, index: usize, request: ExecuteRequest) -> ExecuteBatchItem {
    let started = start(state, request, Entry::Batch).await;
    state.meters().execute("batch", outcome(&started));
    match started {
        Ok(ExecuteAnswer { execution_id, status: DUPLICATE, commands_generated }) => {
            ExecuteBatchItem::Duplicate { index, execution_id, commands_generated }
        }
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

/// Returns the pools in which a batch starts executions; invalid names are reported per item.
fn pools_of(requests: &[ExecuteRequest]) -> BTreeSet<Pool> {
    let pools = requests.iter().map(|request| match &request.execution_pool {
        Some(name) => pool_of(name).ok(),
        None => Some(Pool::shared()),
    });
    pools.flatten().collect()
}

/// The route through which a start arrived.
enum Entry<'a> {
    Single {
        /// The idempotency key of the request.
        key: Option<&'a str>,
        trace: Option<Value>,
    },
    /// Part of a batch that has been admitted.
    Batch,
}

async fn start(
    state: &AppState,
    request: ExecuteRequest,
    entry: Entry<'_>,
) -> Result<ExecuteAnswer, ApiError> {
    let (idempotency_key, trace, admission) = match entry {
        Entry::Single { key, trace } => (key, trace, Admission::Request),
        Entry::Batch => (None, None, Admission::Granted),
    };
    let key = key_of(&request, idempotency_key)?;
    let above = request.parent_execution_id.map(ExecutionId::from);
    let wish = wish(request)?;
    let trace = wish.trace.clone().or(trace);
    let request = StartRequest { key: key.clone(), trace, admission, ..wish };
    let request = match above {
        Some(above) => state.control().linked(request, above).await?,
        None => request,
    };
    match (state.control().launch(request).await, key) {
        (Ok(started), _) => Ok(ExecuteAnswer {
            execution_id: started.execution.to_string(),
            status: "started",
            commands_generated: started.commands,
        }),
        (Err(StartError::KeyTaken(holder)), Some(key)) => again(state, holder, &key).await,
        (Err(error), _) => Err(error.into()),
    }
}

/// Answers a request whose start key is in use.
async fn again(
    state: &AppState,
    holder: KeyHolder,
    key: &StartKey,
) -> Result<ExecuteAnswer, ApiError> {
    let first = answer(state, holder.execution).await?;
    match (key.request, holder.request) {
        (None, _) => Ok(ExecuteAnswer { status: DUPLICATE, ..first }),
        (asked, first_asked) if asked == first_asked => Ok(first),
        (Some(_), _) => {
            let detail = "this key was used for another request; take a new key for a new request";
            Err(ApiError::invalid("key-reused", detail)
                .with("execution_id", Value::String(first.execution_id)))
        }
    }
}

fn wish(request: ExecuteRequest) -> Result<StartRequest, ApiError> {
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
    Ok(StartRequest { pool, trace: request.trace, ..StartRequest::new(playbook, payload) })
}

/// Checks a pool's name. The name is part of a subject on the bus, so its characters are
/// restricted.
pub(crate) fn pool_of(name: &str) -> Result<Pool, ApiError> {
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

/// Parses a version: a number, a number as text, or `latest`.
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

/// Returns the answer for an execution that was started before.
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
