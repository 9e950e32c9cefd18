//! Starting executions.

mod waited;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use noetl_api::wire::{
    ExecuteAnswer, ExecuteBatch, ExecuteBatchAnswer, ExecuteBatchItem, ExecuteRequest, StartAnswer,
    StartStatus,
};
use noetl_app::{
    ExecuteError, InvalidVersion, PoolNameError, StartKeyError, StartOptions, StartedExecution,
    checked_key,
};
use noetl_control::StartError;
use serde_json::json;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::CallerPaths;
use crate::observe::trace::context;
use crate::request::actor::RequestActor;
use crate::request::strict::StrictBody;
use crate::response::error::ApiError;
use crate::state::AppState;
pub(super) use waited::answer_after;

/// Accepted spellings of the idempotency header.
const HEADERS: [&str; 2] = ["idempotency-key", "x-idempotency-key"];

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(execute)).routes(routes!(execute_batch))
}

/// Starts an execution.
#[utoipa::path(
    post, path = "/api/execute", tag = "executions", request_body = ExecuteRequest,
    params(
        ("Idempotency-Key" = Option<String>, Header,
            description = "The same request again within a day gets the same answer, another is refused"),
        ("Prefer" = Option<String>, Header,
            description = "`wait=30` answers once the execution has ended, after 30 seconds at most (60 is the limit)"),
    ),
    responses(
        (status = 200, description = "the execution has started; with `Prefer: wait`, it has ended", body = StartAnswer),
        (status = 202, description = "with `Prefer: wait`: the execution still runs; `Location` has its address",
            body = ExecuteAnswer),
    )
)]
async fn execute(
    State(state): State<AppState>,
    headers: HeaderMap,
    RequestActor(actor): RequestActor,
    CallerPaths(paths): CallerPaths,
    StrictBody(request): StrictBody<ExecuteRequest>,
) -> Result<Response, ApiError> {
    let key = idempotency_key(&headers)?;
    // Read separately from the request, because the trace is not part of the idempotency key.
    let trace = request.trace.is_none().then(|| context(&headers)).flatten();
    let options = StartOptions { idempotency_key: key.as_deref(), trace, actor };
    let started = state.app().execute_within(request, options, &paths).await;
    if let Err(ExecuteError::Start(StartError::BacklogFull(_))) = &started {
        state.meters().refused_start();
    }
    state.meters().execute("single", outcome(&started));
    Ok(answer_after(&state, &headers, started?).await)
}

fn outcome(started: &Result<StartedExecution, ExecuteError>) -> &'static str {
    match started {
        Ok(StartedExecution { is_duplicate: true, .. }) => "duplicate",
        Ok(_) => "new",
        Err(_) => "error",
    }
}

pub(super) fn answer_of(started: StartedExecution) -> ExecuteAnswer {
    ExecuteAnswer {
        execution_id: started.execution.to_string(),
        status: match started.is_duplicate {
            true => StartStatus::Duplicate,
            false => StartStatus::Started,
        },
        commands_generated: started.commands,
        url: None,
    }
}

/// Starts several executions independently of one another.
#[utoipa::path(
    post, path = "/api/execute/batch", tag = "executions", request_body = ExecuteBatch,
    responses((status = 200, body = ExecuteBatchAnswer))
)]
async fn execute_batch(
    State(state): State<AppState>,
    RequestActor(actor): RequestActor,
    StrictBody(batch): StrictBody<ExecuteBatch>,
) -> Result<Json<ExecuteBatchAnswer>, ApiError> {
    let count = batch.executions.len();
    let started = state.app().execute_batch(batch.executions, actor).await;
    match &started {
        Err(ExecuteError::BatchSize(_)) => {}
        Err(_) => {
            state.meters().batch(count);
            state.meters().refused_start();
        }
        Ok(_) => state.meters().batch(count),
    }
    let results = started?.into_iter().enumerate().map(|(index, started)| {
        state.meters().execute("batch", outcome(&started));
        item_of(index, started)
    });
    let results: Vec<ExecuteBatchItem> = results.collect();
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

fn item_of(index: usize, started: Result<StartedExecution, ExecuteError>) -> ExecuteBatchItem {
    match started {
        Ok(StartedExecution { execution, commands, is_duplicate }) => {
            let (execution_id, commands_generated) = (execution.to_string(), commands);
            if is_duplicate {
                ExecuteBatchItem::Duplicate { index, execution_id, commands_generated }
            } else {
                ExecuteBatchItem::Started { index, execution_id, commands_generated }
            }
        }
        Err(error) => {
            let error = ApiError::from(error);
            ExecuteBatchItem::Error {
                index,
                commands_generated: 0,
                error: error.detail().to_owned(),
                code: error.code().to_owned(),
            }
        }
    }
}

/// Returns the value of the idempotency header.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = HEADERS.iter().find_map(|name| headers.get(*name)) else {
        return Ok(None);
    };
    let not_text = |_| ApiError::invalid("invalid-key", "`Idempotency-Key` is not plain text");
    let text = value.to_str().map_err(not_text)?;
    // The IETF draft puts the key in quotes; most clients do not.
    let text = text.trim();
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    Ok(checked_key(quoted.unwrap_or(text)).map(Some)?)
}

impl From<ExecuteError> for ApiError {
    fn from(error: ExecuteError) -> Self {
        let detail = error.to_string();
        match error {
            ExecuteError::BatchSize(_) => Self::invalid("batch-size", detail),
            ExecuteError::NoPlaybook => Self::invalid("no-playbook", detail),
            ExecuteError::Version(error) => error.into(),
            ExecuteError::Pool(error) => error.into(),
            ExecuteError::Key(error) => error.into(),
            ExecuteError::KeyReused(execution) => Self::invalid("key-reused", detail)
                .with("execution_id", json!(execution.to_string())),
            ExecuteError::KeyTaken => Self::invalid("key-reused", detail),
            ExecuteError::Store(error) => error.into(),
            ExecuteError::Start(error) => error.into(),
        }
    }
}

impl From<StartKeyError> for ApiError {
    fn from(error: StartKeyError) -> Self {
        Self::invalid("invalid-key", error.to_string())
    }
}

impl From<PoolNameError> for ApiError {
    fn from(error: PoolNameError) -> Self {
        Self::invalid("invalid-pool", error.to_string())
    }
}

impl From<InvalidVersion> for ApiError {
    fn from(error: InvalidVersion) -> Self {
        Self::invalid("invalid-version", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str, expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        headers.insert("Idempotency-Key", header.parse().expect("a header"));
        assert_eq!(idempotency_key(&headers).ok().flatten().as_deref(), expected, "{header}");
    }

    #[test]
    fn a_key_is_read_with_and_without_quotes() {
        check("8e03978e", Some("8e03978e"));
        check("\"8e03978e\"", Some("8e03978e"));
        check("\"half", Some("\"half"));
        check("", None);
        check("\"\"", None);
        check(&"x".repeat(513), None);
    }
}
