//! Feeds: named, filtered streams of events, read by long poll or as a stream, at least once.
//!
//! A consumer reads from the feed's cursor, processes the events and acknowledges them; events that
//! are not acknowledged are shown again. A consumer may also keep its own cursor and acknowledge
//! nothing. For a feed with a subject, the server is the consumer and publishes the events on NATS.

mod deliver;
mod reading;
mod subject;

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use noetl_api::wire::{
    FeedAck, FeedDeliveryView, FeedEvents, FeedFilter, FeedList, FeedSeek, FeedView, NewFeed,
};
use noetl_bus::Reach;
use noetl_model::Timestamp;
use noetl_store::{FEED_READ_MAX, FailedStanding, FeedCursor, FeedDelivery, FeedPoint, NamedFeed};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{InPath, InQuery};
use crate::state::AppState;
use crate::strict::StrictBody;
pub(super) use reading::{Reading, resumed};

/// Default number of events per answer.
pub(super) const PAGE_SIZE: usize = 100;
/// Maximum time a request waits for an event.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Key of the stored filter that holds the subject.
const SUBJECT: &str = "subject";
/// Maximum length of a feed's name.
const NAME_MAX: usize = 100;

pub use deliver::deliver_feeds;
pub use subject::{BadSubject, SubjectPrefix};

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
    let feeds = state.store().list_feeds().await?;
    Ok(Json(FeedList { feeds: feeds.into_iter().map(view).collect() }))
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
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name = request.name;
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(plain) {
        let detail = format!("`name` has 1 to {NAME_MAX} letters, digits, `-`, `_` and `.`");
        return Err(ApiError::invalid("invalid-name", detail));
    }
    let subject = request.subject.as_deref().map(|it| subject_of(&state, it)).transpose()?;
    let from = request.from.as_deref().unwrap_or("end");
    let feed = NamedFeed {
        cursor: cursor_at(&state, from).await?,
        filter: written(&request.filter, subject),
        created_at: state.now(),
        moved_at: state.now(),
        delivery: FeedDelivery::Working,
        name,
    };
    state.store().add_feed(&feed).await?;
    let kept = found(&state, &feed.name).await?;
    if kept.filter != feed.filter {
        let detail = format!("there is a feed {} with another filter", feed.name);
        return Err(ApiError::conflict("feed-exists", detail));
    }
    Ok(Json(view(kept)))
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
    Ok(Json(view(found(&state, &name).await?)))
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
    if state.store().remove_feed(&name).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(unknown(&name))
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
    let feed = found(&state, &name).await?;
    let cursor = cursor_after(&feed, query.after.as_deref())?;
    let mut reading = Reading::begin(&state, filter_of(&feed), cursor, limit);
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
struct FollowQuery {
    /// Read after this cursor instead of the feed's own; `Last-Event-ID` takes precedence.
    after: Option<String>,
}

/// Streams the events of a feed; an event's id is the cursor to resume after it.
#[utoipa::path(
    get, path = "/api/feeds/{name}/stream", tag = "feeds",
    params(("name" = String, Path), FollowQuery),
    responses((status = 200, content_type = "text/event-stream", body = String))
)]
async fn follow_feed(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
    InQuery(query): InQuery<FollowQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let feed = found(&state, &name).await?;
    let cursor = cursor_after(&feed, resumed(&headers).or(query.after.as_deref()))?;
    let mut reading = Reading::begin(&state, filter_of(&feed), cursor, PAGE_SIZE);
    reading.check_cursor().await?;
    Ok(reading.into_stream())
}

/// Returns the position a reader starts after: its own cursor, else the feed's.
fn cursor_after(feed: &NamedFeed, after: Option<&str>) -> Result<FeedCursor, ApiError> {
    after.map_or_else(|| Ok(feed.cursor.clone()), cursor_of)
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
    moved(&state, &name, &cursor_of(&request.cursor)?).await
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
    let to = cursor_at(&state, &request.to).await?;
    moved(&state, &name, &to).await
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
    let feed = found(&state, &name).await?;
    if feed_subject(&feed).is_none() {
        let detail =
            format!("the feed {name} has no subject, so the server delivers nothing of it");
        return Err(ApiError::conflict("no-subject", detail));
    }
    state.store().put_feed_delivery(&name, &FeedDelivery::Working).await?;
    Ok(Json(view(found(&state, &name).await?)))
}

async fn moved(state: &AppState, name: &str, to: &FeedCursor) -> Result<Json<FeedView>, ApiError> {
    let feed = found(state, name).await?;
    if !state.store().move_feed(name, &feed.cursor, to).await? {
        let detail = format!("somebody else has just moved the feed {name}; look where it is");
        return Err(ApiError::conflict("feed-moved", detail));
    }
    Ok(Json(view(found(state, name).await?)))
}

async fn found(state: &AppState, name: &str) -> Result<NamedFeed, ApiError> {
    state.store().find_feed(name).await?.ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> ApiError {
    ApiError::not_found(
        "unknown-feed",
        format!("there is no feed {name}; POST /api/feeds makes it"),
    )
}

fn cursor_of(text: &str) -> Result<FeedCursor, ApiError> {
    let invalid =
        |error: noetl_store::NotACursor| ApiError::invalid("bad-cursor", error.to_string());
    text.parse().map_err(invalid)
}

/// Resolves a position (`start`, `end`, a time or a cursor) to a cursor.
pub(super) async fn cursor_at(state: &AppState, text: &str) -> Result<FeedCursor, ApiError> {
    let point = match text {
        "start" => FeedPoint::Start,
        "end" => FeedPoint::End,
        text => match text.parse::<Timestamp>() {
            Ok(at) => FeedPoint::Since(at),
            Err(_) => return cursor_of(text),
        },
    };
    Ok(state.store().feed_point(&point).await?)
}

fn view(feed: NamedFeed) -> FeedView {
    let subject = feed_subject(&feed);
    FeedView {
        filter: filter_of(&feed),
        delivery: subject.is_some().then(|| delivery_view(&feed.delivery)),
        subject,
        name: feed.name,
        cursor: feed.cursor.to_string(),
        created_at: feed.created_at.to_string(),
        moved_at: feed.moved_at.to_string(),
    }
}

fn delivery_view(delivery: &FeedDelivery) -> FeedDeliveryView {
    match delivery {
        FeedDelivery::Working => FeedDeliveryView::Working,
        FeedDelivery::Failed { failures, reason, standing } => {
            let (failures, reason) = (*failures, reason.clone());
            match standing {
                FailedStanding::Waiting { until } => {
                    FeedDeliveryView::Retrying { failures, reason, retry_at: until.to_string() }
                }
                FailedStanding::Dead => FeedDeliveryView::Dead { failures, reason },
            }
        }
    }
}

/// Returns a filter in its stored form, with the subject.
fn written(filter: &FeedFilter, subject: Option<String>) -> Value {
    let mut written = json!(filter);
    if let Some(subject) = subject {
        written[SUBJECT] = json!(subject);
    }
    written
}

fn filter_of(feed: &NamedFeed) -> FeedFilter {
    let mut written = feed.filter.clone();
    if let Value::Object(map) = &mut written {
        map.shift_remove(SUBJECT);
    }
    serde_json::from_value(written).unwrap_or_default()
}

fn feed_subject(feed: &NamedFeed) -> Option<String> {
    feed.filter[SUBJECT].as_str().map(str::to_owned)
}

/// Checks a subject; fails if the server has no NATS.
fn subject_of(state: &AppState, text: &str) -> Result<String, ApiError> {
    if state.bus().reach() == Reach::Process {
        let detail = "this server has no NATS to put events onto; start it with --nats URL";
        return Err(ApiError::invalid("no-broker", detail));
    }
    let checked = state.settings().feed_prefix.check(text);
    checked.map_err(|error| ApiError::invalid("invalid-subject", error.to_string()))?;
    Ok(text.to_owned())
}
