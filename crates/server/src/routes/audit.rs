//! The audit log: read, follow and verify.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::sse::{Event as SentEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, Stream, StreamExt as _};
use noetl_api::wire::{AuditEntryView, AuditLogPage, AuditVerification};
use noetl_app::AuditLogQuery;
use noetl_model::ParseTimestampError;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::InQuery;
use crate::response::error::ApiError;
use crate::state::AppState;

/// Interval of checks for new entries.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of keep-alive messages on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(audit_page))
        .routes(routes!(verify_audit))
        .routes(routes!(follow_audit))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AuditPageQuery {
    /// Begin after the entry with this number.
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
    /// List entries from this time on, in RFC 3339.
    since: Option<String>,
    actor: Option<String>,
    /// A part of the action.
    action: Option<String>,
}

/// Lists entries of the audit log, oldest first.
#[utoipa::path(
    get, path = "/api/audit", tag = "audit", params(AuditPageQuery),
    responses((status = 200, body = AuditLogPage))
)]
async fn audit_page(
    State(state): State<AppState>,
    InQuery(query): InQuery<AuditPageQuery>,
) -> Result<Json<AuditLogPage>, ApiError> {
    let AuditPageQuery { after, limit, since, actor, action } = query;
    let invalid =
        |error: ParseTimestampError| ApiError::invalid("bad-time", format!("`since`: {error}"));
    let since = since.map(|since| since.parse()).transpose().map_err(invalid)?;
    let query = AuditLogQuery { after, limit, since, actor, action };
    Ok(Json(state.app().audit_page(&query).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AuditStreamQuery {
    /// Stream entries after this number; `Last-Event-ID` takes precedence.
    #[serde(default)]
    after: u64,
    /// `sse` (an event stream, the default) or `jsonl` (one entry per line).
    #[serde(default)]
    #[param(inline)]
    format: AuditFormat,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum AuditFormat {
    #[default]
    Sse,
    Jsonl,
}

/// Streams the entries of the audit log as they are written; an entry's id is its number, to resume
/// after.
#[utoipa::path(
    get, path = "/api/audit/stream", tag = "audit", params(AuditStreamQuery),
    responses((status = 200, content_type = "text/event-stream", body = String))
)]
async fn follow_audit(
    State(state): State<AppState>,
    InQuery(query): InQuery<AuditStreamQuery>,
    headers: HeaderMap,
) -> Response {
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let entries = followed(state, resumed.unwrap_or(query.after));
    match query.format {
        AuditFormat::Sse => {
            let sent = entries.map(|entry| {
                let event = SentEvent::default().id(entry.number.to_string());
                Ok::<_, Infallible>(event.json_data(&entry).expect("an entry is JSON"))
            });
            Sse::new(sent).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
        }
        AuditFormat::Jsonl => {
            let lines = entries.map(|entry| {
                let mut line = serde_json::to_string(&entry).expect("an entry is JSON");
                line.push('\n');
                Ok::<_, Infallible>(line)
            });
            ([(CONTENT_TYPE, "application/jsonl")], Body::from_stream(lines)).into_response()
        }
    }
}

/// Returns the entries after a number, without end: until the server stops, or the log cannot be read.
fn followed(state: AppState, after: u64) -> impl Stream<Item = AuditEntryView> {
    let begun = (state, after, VecDeque::new());
    stream::unfold(begun, |(state, mut after, mut waiting)| async move {
        while waiting.is_empty() {
            let query = AuditLogQuery { after, ..AuditLogQuery::default() };
            waiting = VecDeque::from(state.app().audit_page(&query).await.ok()?.entries);
            if waiting.is_empty() {
                tokio::select! {
                    () = tokio::time::sleep(POLL_INTERVAL) => {}
                    () = state.draining().cancelled() => return None,
                }
            }
        }
        let entry: AuditEntryView = waiting.pop_front()?;
        after = entry.number;
        Some((entry, (state, after, waiting)))
    })
}

/// Verifies the chain of digests of the audit log.
#[utoipa::path(
    get, path = "/api/audit/verification", tag = "audit",
    responses((status = 200, body = AuditVerification))
)]
async fn verify_audit(State(state): State<AppState>) -> Result<Json<AuditVerification>, ApiError> {
    Ok(Json(state.app().verify_audit().await?))
}
