//! Parts of an execution's log: density of events, rows of a timeline, and live updates.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event as SentEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, Stream};
use noetl_api::AnyId;
use noetl_api::wire::{LiveUpdate, LogAxis, LogDensity, TimelineWindow};
use noetl_app::{LiveUpdates, LogPartQuery, TimelineWindowQuery};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

/// Interval of keep-alive messages on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(log_density))
        .routes(routes!(timeline_window))
        .routes(routes!(live_updates))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DensityQuery {
    /// The first event of the part; 1 if left out.
    from: Option<u64>,
    /// The last event of the part; the last event of the log if left out.
    to: Option<u64>,
    /// `seq` or `time`.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    axis: LogAxis,
    /// The number of buckets, 100 by default, at most 1,000.
    buckets: Option<u64>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct WindowQuery {
    /// The first event of the part; 1 if left out.
    from: Option<u64>,
    /// The last event of the part; the last event of the log if left out.
    to: Option<u64>,
    /// The number of rows to leave out.
    #[serde(default)]
    offset: usize,
    /// The number of rows, 100 by default, at most 500.
    limit: Option<usize>,
    /// Steps whose attempts and items are listed, separated by commas; at most 20.
    expand: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LiveQuery {
    /// The position that the reader has; `Last-Event-ID` takes precedence.
    #[serde(default)]
    after: u64,
}

/// Counts the events of a log in buckets of equal length by seq or by time, with marks for failures,
/// retries, forks and saved states. A part of more than 20,000 events is sampled.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/density", tag = "executions",
    params(("execution_id" = String, Path), DensityQuery),
    responses(
        (status = 200, body = LogDensity),
        (status = 404, description = "the execution has no such event"),
        (status = 422, description = "too many buckets, or `from` after `to`"),
    )
)]
async fn log_density(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<DensityQuery>,
) -> Result<Json<LogDensity>, ApiError> {
    let DensityQuery { from, to, axis, buckets } = query;
    let part = LogPartQuery { from, to };
    Ok(Json(state.app().log_density(id.into(), part, axis, buckets).await?))
}

/// Shows when steps worked and when they waited, in a window of rows and of events. A part of more
/// than 20,000 events has rows without segments.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/timeline", tag = "executions",
    params(("execution_id" = String, Path), WindowQuery),
    responses(
        (status = 200, body = TimelineWindow),
        (status = 404, description = "the execution has no such event"),
        (status = 422, description = "too many expanded steps, or `from` after `to`"),
    )
)]
async fn timeline_window(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<WindowQuery>,
) -> Result<Json<TimelineWindow>, ApiError> {
    let WindowQuery { from, to, offset, limit, expand } = query;
    let names = expand.as_deref().unwrap_or_default().split(',');
    let expanded = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let query = TimelineWindowQuery { part: LogPartQuery { from, to }, offset, limit, expanded };
    Ok(Json(state.app().timeline_window(id.into(), &query).await?))
}

/// Streams the changes of an execution until its end, at most ten updates a second; an update's id is
/// its position, to resume after.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/live", tag = "executions",
    params(("execution_id" = String, Path), LiveQuery),
    responses(
        (status = 200, content_type = "text/event-stream", body = LiveUpdate),
        (status = 204, description = "the execution has ended and the reader has its last event"),
        (status = 404, description = "the execution has no such event"),
    )
)]
async fn live_updates(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<LiveQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let resumed = headers.get("last-event-id");
    let resumed = resumed.and_then(|id| id.to_str().ok()?.parse().ok());
    let after = resumed.unwrap_or(query.after);
    Ok(match state.app().live_updates(id.into(), after).await? {
        // Status 204 tells a browser not to reconnect.
        None => StatusCode::NO_CONTENT.into_response(),
        Some(updates) => Sse::new(sent_updates(state, updates))
            .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
            .into_response(),
    })
}

fn sent_updates(
    state: AppState,
    updates: LiveUpdates,
) -> impl Stream<Item = Result<SentEvent, Infallible>> {
    stream::unfold((state, updates), |(state, mut updates)| async move {
        let draining = state.draining().clone();
        let update = tokio::select! {
            update = updates.next() => update,
            () = draining.cancelled() => return None,
        };
        // On an error the stream ends; the client reconnects and resumes.
        let update = update.ok()??;
        let sent = SentEvent::default()
            .id(update.position.to_string())
            .event("update")
            .json_data(&update)
            .expect("an update is JSON");
        Some((Ok(sent), (state, updates)))
    })
}
