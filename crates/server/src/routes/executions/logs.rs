//! The output of an execution's steps: a page, or a stream that follows it.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event as SentEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, Stream, StreamExt as _};
use noetl_api::AnyId;
use noetl_api::wire::{LogEntry, LogPage};
use noetl_app::{FollowedLogs, LOG_ENTRIES_MAX, LogFilter, LogLine, LogLines, LogPosition};
use noetl_model::{CommandId, ExecutionId, LogOrigin, StepName};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

/// Default number of entries per page.
const PAGE_SIZE: usize = 500;
/// Interval of keep-alive messages on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(read_logs))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct StepLogsQuery {
    /// Only output of this step.
    step: Option<String>,
    /// Only output of this command.
    command: Option<u64>,
    /// Only output of this attempt, among all attempts of its task, from 1.
    attempt: Option<u32>,
    /// Only `stdout` or `stderr`.
    stream: Option<String>,
    /// Go on after this position; `Last-Event-ID` takes precedence.
    after: Option<String>,
    /// Maximum number of entries of a page.
    limit: Option<usize>,
    /// Stream output until the execution has ended.
    #[serde(default)]
    follow: bool,
    /// `json` (one page, the default), `jsonl` (all entries, one per line), `text` (all lines, each
    /// with its step) or `sse` (an event stream). The header `Accept` selects it, too.
    #[param(inline)]
    format: Option<LogFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum LogFormat {
    Json,
    Jsonl,
    Text,
    Sse,
}

impl LogFormat {
    fn of(query: &StepLogsQuery, headers: &HeaderMap) -> Self {
        let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or("");
        match query.format {
            Some(LogFormat::Json) if query.follow => LogFormat::Jsonl,
            Some(format) => format,
            None if accepted.contains("text/event-stream") => LogFormat::Sse,
            None if accepted.contains("text/plain") => LogFormat::Text,
            None if query.follow || accepted.contains("application/jsonl") => LogFormat::Jsonl,
            None => LogFormat::Json,
        }
    }
}

/// Reads the output of an execution's steps in the order in which it was printed. An entry names its
/// step, item and attempt; `after` goes on after an entry's `position`. With `follow`, new output is
/// streamed until the execution has ended. For attempts whose output was not stored while they ran,
/// the entries are those of their reports.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/logs", tag = "executions",
    params(("execution_id" = String, Path), StepLogsQuery),
    responses(
        (status = 200, body = LogPage),
        (status = 200, content_type = "application/jsonl", body = String),
        (status = 200, content_type = "text/plain", body = String),
        (status = 200, content_type = "text/event-stream", body = String),
        (status = 204, description = "an event stream of which everything was read")
    )
)]
async fn read_logs(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<StepLogsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let execution = ExecutionId::from(id);
    let known = state.app().known_execution(execution).await?;
    let format = LogFormat::of(&query, &headers);
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = match resumed.or(query.after.as_deref()) {
        Some(text) => text.parse::<LogPosition>().map_err(|error| invalid("after", &error))?,
        None => LogPosition::default(),
    };
    let stream = query.stream.as_deref().map(str::parse).transpose();
    let filter = LogFilter {
        step: query.step.as_deref().map(StepName::new),
        command: query.command.map(CommandId),
        attempt: query.attempt,
        stream: stream.map_err(|error| invalid("stream", &error))?,
    };
    if format == LogFormat::Json {
        let mut reader = state.app().reader().step_logs(execution, filter, after).await?;
        let limit = query.limit.unwrap_or(PAGE_SIZE).clamp(1, LOG_ENTRIES_MAX);
        let entries = reader.next_page(limit).await?;
        let is_complete =
            entries.is_empty() && (reader.has_ended() || known.origin != LogOrigin::Native);
        let next_after = reader.position().to_string();
        let execution_id = execution.to_string();
        return Ok(Json(LogPage { execution_id, entries, next_after, is_complete }).into_response());
    }
    // An execution that the engine does not run has no output and no known end.
    let follow = query.follow && known.origin == LogOrigin::Native;
    let mut logs = state.app().follow_logs(execution, filter, after).await?;
    if !follow {
        logs.stop_at_end();
    }
    let mut streamed = StreamedLogs { state, logs, first: None };
    Ok(match format {
        LogFormat::Sse => {
            if known.summary.status.is_terminal() {
                streamed.first = streamed.next().await;
                if streamed.first.is_none() {
                    // Status 204 tells a browser not to reconnect.
                    return Ok(StatusCode::NO_CONTENT.into_response());
                }
            }
            let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
            Sse::new(sent_events(streamed)).keep_alive(keep_alive).into_response()
        }
        LogFormat::Jsonl | LogFormat::Json => {
            let lines = entries(streamed).map(|page| {
                let lines = page.iter().map(json_line);
                Ok::<_, Infallible>(lines.collect::<String>())
            });
            typed("application/jsonl", Body::from_stream(lines))
        }
        LogFormat::Text => typed("text/plain; charset=utf-8", Body::from_stream(text(streamed))),
    })
}

fn invalid(name: &str, error: &dyn std::fmt::Display) -> ApiError {
    ApiError::invalid("query", format!("`{name}`: {error}"))
}

fn typed(content_type: &'static str, body: Body) -> Response {
    let headers = [(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-store")];
    (headers, body).into_response()
}

struct StreamedLogs {
    state: AppState,
    logs: FollowedLogs,
    /// Entries that were read already.
    first: Option<Vec<LogEntry>>,
}

impl StreamedLogs {
    /// Waits for the next entries; `None` at the end, or if the server stops.
    async fn next(&mut self) -> Option<Vec<LogEntry>> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let draining = self.state.draining().clone();
        tokio::select! {
            // On an error the stream ends; the client connects again and resumes.
            page = self.logs.next() => page.ok().flatten(),
            () = draining.cancelled() => None,
        }
    }
}

fn entries(logs: StreamedLogs) -> impl Stream<Item = Vec<LogEntry>> {
    stream::unfold(logs, |mut logs| async move {
        let page = logs.next().await?;
        Some((page, logs))
    })
}

fn json_line(entry: &LogEntry) -> String {
    serde_json::to_string(entry).expect("an entry is JSON") + "\n"
}

fn sent_events(logs: StreamedLogs) -> impl Stream<Item = Result<SentEvent, Infallible>> {
    entries(logs).flat_map(|page| {
        let events = page.into_iter().map(|entry| {
            let event = SentEvent::default().id(entry.position.clone()).event("log");
            Ok(event.json_data(&entry).expect("an entry is JSON"))
        });
        stream::iter(events)
    })
}

/// Returns the lines of the output, each with its step; the last ones may have no line break.
fn text(logs: StreamedLogs) -> impl Stream<Item = Result<String, Infallible>> {
    let begun = Some((logs, LogLines::default()));
    stream::unfold(begun, |state| async move {
        let (mut logs, mut lines) = state?;
        let shown = |lines: Vec<LogLine>| {
            Ok::<_, Infallible>(lines.iter().map(|line| line.plain() + "\n").collect::<String>())
        };
        Some(match logs.next().await {
            Some(page) => {
                let ended = page.iter().flat_map(|entry| lines.push(entry)).collect();
                (shown(ended), Some((logs, lines)))
            }
            None => (shown(lines.finish()), None),
        })
    })
}
