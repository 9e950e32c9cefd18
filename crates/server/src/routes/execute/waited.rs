//! The answer to a start: at once, or with the output once the execution has ended.

use axum::Json;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use noetl_api::wire::{EndedAnswer, ExecuteAnswer};
use noetl_app::{EndedExecution, StartedExecution};
use serde_json::json;

use super::answer_of;
use crate::request::prefer::preferred_wait;
use crate::state::AppState;

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// Answers a start. With `Prefer: wait=…` the answer is 200 with the output if the execution ends in
/// time, else 202. The execution has started in any case, so nothing here is an error.
pub(in crate::routes) async fn answer_after(
    state: &AppState,
    headers: &HeaderMap,
    started: StartedExecution,
) -> Response {
    let Some(wait) = preferred_wait(headers) else {
        return Json(answer_of(started)).into_response();
    };
    let Some(_permit) = state.end_wait() else {
        return running(started);
    };
    let ended = tokio::select! {
        ended = state.app().ended(started.execution, wait) => ended,
        () = state.draining().cancelled() => Ok(None),
    };
    let ended = ended.unwrap_or_else(|error| {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "cannot wait for the end of an execution"
        );
        None
    });
    let mut response = match ended {
        Some(ended) => Json(ended_answer(started, ended)).into_response(),
        None => running(started),
    };
    let applied = HeaderValue::from_str(&format!("wait={}", wait.as_secs()));
    response.headers_mut().insert(PREFERENCE_APPLIED, applied.expect("digits are plain text"));
    response
}

fn running(started: StartedExecution) -> Response {
    let location = format!("/api/executions/{}", started.execution);
    let answer = ExecuteAnswer { url: Some(location.clone()), ..answer_of(started) };
    let headers = [(header::LOCATION, location)];
    (StatusCode::ACCEPTED, headers, Json(answer)).into_response()
}

fn ended_answer(started: StartedExecution, ended: EndedExecution) -> EndedAnswer {
    EndedAnswer {
        execution_id: started.execution.to_string(),
        status: ended.status.to_string(),
        commands_generated: started.commands,
        output: ended.output,
        error: ended.error.map(|error| json!(error)),
        reason: ended.reason,
    }
}
