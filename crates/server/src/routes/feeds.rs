//! Routes for feeds, read by long poll or as a stream.

mod sent_events;

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use noetl_api::wire::{FeedAck, FeedEvents, FeedList, FeedSeek, FeedView, NewFeed};
use noetl_app::{FEED_READ_MAX, FeedError};
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{InPath, InQuery};
use crate::request::strict::StrictBody;
use crate::response::error::ApiError;
use crate::state::AppState;
pub(super) use sent_events::{resumed, stream_of};

/// Default number of events per answer.
pub(super) const PAGE_SIZE: usize = 100;
/// Maximum time a request waits for an event.
const WAIT_MAX: Duration = Duration::from_secs(60);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_feeds, add_feed))
        .routes(routes!(show_feed, remove_feed))
        .routes(routes!(read_feed))
        .routes(routes!(follow_feed))
        .routes(routes!(acknowledge_feed))
        .routes(routes!(seek_feed))
        .routes(routes!(retry_feed))
}

/// Lists the feeds by name.
#[utoipa::path(
    get, path = "/api/feeds", tag = "feeds", responses((status = 200, body = FeedList))
)]
async fn list_feeds(State(state): State<AppState>) -> Result<Json<FeedList>, ApiError> {
    Ok(Json(state.app().list_feeds().await?))
}

/// Creates a feed; an existing one with the same name and filter is left as it is.
#[utoipa::path(
    post, path = "/api/feeds", tag = "feeds", request_body = NewFeed,
    responses((status = 200, body = FeedView))
)]
async fn add_feed(
    State(state): State<AppState>,
    StrictBody(request): StrictBody<NewFeed>,
) -> Result<Json<FeedView>, ApiError> {
    Ok(Json(state.app().add_feed(request).await?))
}

/// Shows a feed: its filter and its consumer's position.
#[utoipa::path(
    get, path = "/api/feeds/{name}", tag = "feeds", params(("name" = String, Path)),
    responses((status = 200, body = FeedView))
)]
async fn show_feed(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
) -> Result<Json<FeedView>, ApiError> {
    Ok(Json(state.app().feed(&name).await?))
}

/// Deletes a feed.
#[utoipa::path(
    delete, path = "/api/feeds/{name}", tag = "feeds", params(("name" = String, Path)),
    responses((status = 204))
)]
async fn remove_feed(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
) -> Result<StatusCode, ApiError> {
    state.app().remove_feed(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ReadQuery {
    /// Read after this cursor instead of the feed's own.
    after: Option<String>,
    limit: Option<usize>,
    /// Maximum wait for an event, in milliseconds.
    #[serde(default)]
    wait_ms: u64,
}

/// Reads the next events; waits for them if `wait_ms` is set.
#[utoipa::path(
    get, path = "/api/feeds/{name}/events", tag = "feeds",
    params(("name" = String, Path), ReadQuery), responses((status = 200, body = FeedEvents))
)]
async fn read_feed(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
    InQuery(query): InQuery<ReadQuery>,
) -> Result<Json<FeedEvents>, ApiError> {
    let limit = query.limit.unwrap_or(PAGE_SIZE).clamp(1, FEED_READ_MAX);
    let mut reading = state.app().read_feed(&name, query.after.as_deref(), limit).await?;
    let wait = Duration::from_millis(query.wait_ms).min(WAIT_MAX);
    let deadline = Instant::now() + wait;
    let draining = state.draining().clone();
    loop {
        let events = reading.page().await?;
        let left = deadline.saturating_duration_since(Instant::now());
        if !events.is_empty() || left.is_zero() || draining.is_cancelled() {
            let cursor = reading.cursor().to_string();
            return Ok(Json(FeedEvents { events, cursor }));
        }
        tokio::select! {
            () = reading.wait(left) => {}
            () = draining.cancelled() => {}
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct FeedFollowQuery {
    /// Read after this cursor instead of the feed's own; `Last-Event-ID` takes precedence.
    after: Option<String>,
}

/// Streams the events of a feed; an event's id is the cursor to resume after it.
#[utoipa::path(
    get, path = "/api/feeds/{name}/stream", tag = "feeds",
    params(("name" = String, Path), FeedFollowQuery),
    responses((status = 200, content_type = "text/event-stream", body = String))
)]
async fn follow_feed(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
    InQuery(query): InQuery<FeedFollowQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let after = resumed(&headers).or(query.after.as_deref());
    let mut reading = state.app().read_feed(&name, after, PAGE_SIZE).await?;
    reading.check_cursor().await?;
    Ok(stream_of(reading, state.draining().clone()))
}

/// Acknowledges all events up to a cursor.
#[utoipa::path(
    post, path = "/api/feeds/{name}/ack", tag = "feeds", params(("name" = String, Path)),
    request_body = FeedAck, responses((status = 200, body = FeedView))
)]
async fn acknowledge_feed(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
    StrictBody(request): StrictBody<FeedAck>,
) -> Result<Json<FeedView>, ApiError> {
    Ok(Json(state.app().acknowledge_feed(&name, &request.cursor).await?))
}

/// Moves a feed to another position: back to show events again, or forward to skip some.
#[utoipa::path(
    post, path = "/api/feeds/{name}/seek", tag = "feeds", params(("name" = String, Path)),
    request_body = FeedSeek, responses((status = 200, body = FeedView))
)]
async fn seek_feed(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
    StrictBody(request): StrictBody<FeedSeek>,
) -> Result<Json<FeedView>, ApiError> {
    Ok(Json(state.app().seek_feed(&name, &request.to).await?))
}

/// Retries the delivery of a feed that is dead or waits after a failure, at once.
#[utoipa::path(
    post, path = "/api/feeds/{name}/retry", tag = "feeds", params(("name" = String, Path)),
    responses((status = 200, body = FeedView))
)]
async fn retry_feed(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
) -> Result<Json<FeedView>, ApiError> {
    Ok(Json(state.app().retry_feed(&name).await?))
}

impl From<FeedError> for ApiError {
    fn from(error: FeedError) -> Self {
        let detail = error.to_string();
        match error {
            FeedError::InvalidName => Self::invalid("invalid-name", detail),
            FeedError::Unknown(_) => {
                Self::not_found("unknown-feed", format!("{detail}; POST /api/feeds makes it"))
            }
            FeedError::Exists(_) => Self::conflict("feed-exists", detail),
            FeedError::Moved(_) => Self::conflict("feed-moved", detail),
            FeedError::NoSubject(_) => Self::conflict("no-subject", detail),
            FeedError::NoBroker => Self::invalid("no-broker", detail),
            FeedError::Subject(_) => Self::invalid("invalid-subject", detail),
            FeedError::Cursor(_) => Self::invalid("bad-cursor", detail),
            FeedError::Rewound(_) => Self::conflict("feed-rewound", detail),
            FeedError::Load(error) => error.into(),
            FeedError::Store(error) => error.into(),
        }
    }
}
