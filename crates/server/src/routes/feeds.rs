//! Events out: feeds with a name, read by long poll or as a stream, at least once.
//!
//! A consumer reads from the feed's cursor, deals with what it gets, and acknowledges; what was not
//! acknowledged is shown again. It may also carry its own cursor and acknowledge nothing.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event as SentEvent, KeepAlive, Sse};
use futures::stream::{self, Stream};
use noetl_api::Teller;
use noetl_api::wire::{
    FeedAck, FeedEvent, FeedEvents, FeedFilter, FeedList, FeedSeek, FeedView, NewFeed,
};
use noetl_bus::HintReceiver;
use noetl_model::{ExecutionId, Seq, Timestamp};
use noetl_store::{FEED_READ_MAX, FeedCursor, FeedItem, FeedPoint, NamedFeed};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, InPath, InQuery};
use crate::state::AppState;
use crate::tell::teller_at;

/// How many events one answer has unless the request says otherwise.
const PAGE_SIZE: usize = 100;
/// The longest that a request waits for an event.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How often it is looked without a hint.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a listener that hears nothing is told that somebody is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long the name of a feed may be.
const NAME_MAX: usize = 100;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_feeds, add_feed))
        .routes(routes!(show_feed, remove_feed))
        .routes(routes!(read_feed))
        .routes(routes!(follow_feed))
        .routes(routes!(acknowledge_feed))
        .routes(routes!(seek_feed))
}

/// Lists the feeds, by name.
#[utoipa::path(
    get, path = "/api/feeds", tag = "feeds", responses((status = 200, body = FeedList))
)]
async fn list_feeds(State(state): State<AppState>) -> Result<Json<FeedList>, ApiError> {
    let feeds = state.store().list_feeds().await?;
    Ok(Json(FeedList { feeds: feeds.into_iter().map(view).collect() }))
}

/// Makes a feed; one of the same name and filter that is there already is left as it is.
#[utoipa::path(
    post, path = "/api/feeds", tag = "feeds", request_body = NewFeed,
    responses((status = 200, body = FeedView))
)]
async fn add_feed(
    State(state): State<AppState>,
    Body(request): Body<NewFeed>,
) -> Result<Json<FeedView>, ApiError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name = request.name;
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(plain) {
        let detail = format!("`name` has 1 to {NAME_MAX} letters, digits, `-`, `_` and `.`");
        return Err(ApiError::invalid("invalid-name", detail));
    }
    let from = request.from.as_deref().unwrap_or("end");
    let feed = NamedFeed {
        cursor: cursor_at(&state, from).await?,
        filter: json!(request.filter),
        created_at: state.now(),
        moved_at: state.now(),
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

/// Shows a feed: its filter and how far its consumer has come.
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

/// Forgets a feed.
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
    /// Go on after this cursor instead of the feed's own.
    after: Option<String>,
    limit: Option<usize>,
    /// How long to wait for an event, in milliseconds.
    #[serde(default)]
    wait_ms: u64,
}

/// Reads what comes next, and waits for it if asked to.
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
    let mut reading = Reading::begin(&state, &name, query.after.as_deref(), limit).await?;
    let wait = Duration::from_millis(query.wait_ms).min(WAIT_MAX);
    let deadline = Instant::now() + wait;
    let draining = state.draining().clone();
    loop {
        let events = reading.page().await?;
        let left = deadline.saturating_duration_since(Instant::now());
        if !events.is_empty() || left.is_zero() || draining.is_cancelled() {
            let cursor = reading.cursor.to_string();
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
    /// Go on after this cursor instead of the feed's own; `Last-Event-ID` wins.
    after: Option<String>,
}

/// Streams what comes; the id of each event is the cursor to go on after it.
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
) -> Result<Sse<impl Stream<Item = Result<SentEvent, Infallible>>>, ApiError> {
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = resumed.or(query.after.as_deref());
    let reading = Reading::begin(&state, &name, after, PAGE_SIZE).await?;
    Ok(Sse::new(sent_events(reading)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

fn sent_events(reading: Reading) -> impl Stream<Item = Result<SentEvent, Infallible>> {
    let draining = reading.state.draining().clone();
    stream::unfold((reading, VecDeque::new()), move |(mut reading, mut waiting)| {
        let draining = draining.clone();
        async move {
            while waiting.is_empty() {
                // Who was cut off connects again and goes on.
                waiting = reading.page().await.ok()?.into();
                if waiting.is_empty() {
                    tokio::select! {
                        () = reading.wait(LOOK_EVERY) => {}
                        () = draining.cancelled() => return None,
                    }
                }
            }
            let event: FeedEvent = waiting.pop_front()?;
            let sent = SentEvent::default()
                .id(event.cursor.clone())
                .event(event.event.event_type.clone())
                .json_data(&event)
                .expect("an event is JSON");
            Some((Ok(sent), (reading, waiting)))
        }
    })
}

/// Notes that everything up to a cursor has been dealt with.
#[utoipa::path(
    post, path = "/api/feeds/{name}/ack", tag = "feeds", params(("name" = String, Path)),
    request_body = FeedAck, responses((status = 200, body = FeedView))
)]
async fn acknowledge_feed(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
    Body(request): Body<FeedAck>,
) -> Result<Json<FeedView>, ApiError> {
    moved(&state, &name, &cursor_of(&request.cursor)?).await
}

/// Moves a feed to another place: back to show events again, or on to leave some out.
#[utoipa::path(
    post, path = "/api/feeds/{name}/seek", tag = "feeds", params(("name" = String, Path)),
    request_body = FeedSeek, responses((status = 200, body = FeedView))
)]
async fn seek_feed(
    State(state): State<AppState>,
    InPath(name): InPath<String>,
    Body(request): Body<FeedSeek>,
) -> Result<Json<FeedView>, ApiError> {
    let to = cursor_at(&state, &request.to).await?;
    moved(&state, &name, &to).await
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

/// The cursor of a point as people name it.
async fn cursor_at(state: &AppState, text: &str) -> Result<FeedCursor, ApiError> {
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
    FeedView {
        filter: filter_of(&feed),
        name: feed.name,
        cursor: feed.cursor.to_string(),
        created_at: feed.created_at.to_string(),
        moved_at: feed.moved_at.to_string(),
    }
}

fn filter_of(feed: &NamedFeed) -> FeedFilter {
    serde_json::from_value(feed.filter.clone()).unwrap_or_default()
}

/// Somebody who reads a feed.
struct Reading {
    state: AppState,
    filter: FeedFilter,
    cursor: FeedCursor,
    limit: usize,
    hints: HintReceiver,
    /// What tells the events of each execution, and after which one.
    tellers: HashMap<ExecutionId, (Seq, Teller)>,
}

/// How many executions' names are remembered at a time.
const TELLERS_MAX: usize = 1000;

impl Reading {
    async fn begin(
        state: &AppState,
        name: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Self, ApiError> {
        let feed = found(state, name).await?;
        let cursor = match after {
            Some(text) => cursor_of(text)?,
            None => feed.cursor.clone(),
        };
        let hints = state.bus().subscribe();
        let filter = filter_of(&feed);
        Ok(Self { state: state.clone(), filter, cursor, limit, hints, tellers: HashMap::new() })
    }

    /// What is there now and is to be shown; the cursor moves past all that was looked at.
    async fn page(&mut self) -> Result<Vec<FeedEvent>, ApiError> {
        loop {
            let page = self.state.store().feed(&self.cursor, self.limit).await?;
            let is_end = page.next == self.cursor;
            let mut shown = Vec::new();
            for item in page.items {
                shown.extend(self.told(item).await?);
            }
            self.cursor = page.next;
            if is_end || !shown.is_empty() {
                return Ok(shown);
            }
        }
    }

    async fn told(&mut self, item: FeedItem) -> Result<Option<FeedEvent>, ApiError> {
        let before = Seq(item.recorded.seq.0 - 1);
        let known = self.tellers.remove(&item.execution).filter(|(seq, _)| *seq == before);
        let mut teller = match known {
            Some((_, teller)) => teller,
            None => teller_at(&self.state, item.execution, before).await?,
        };
        let event = teller.tell(&item.recorded);
        if self.tellers.len() >= TELLERS_MAX {
            self.tellers.clear();
        }
        self.tellers.insert(item.execution, (item.recorded.seq, teller));
        let is_shown = self.filter.shows(&item.path, &event);
        Ok(is_shown.then(|| FeedEvent {
            execution_id: item.execution.to_string(),
            path: item.path,
            cursor: item.cursor.to_string(),
            event,
        }))
    }

    /// Waits for a hint that something may have happened, or for as long as this.
    async fn wait(&mut self, left: Duration) {
        let look = left.min(LOOK_EVERY);
        // A hint that is lost costs the time until the next look.
        let _heard = tokio::time::timeout(look, self.hints.next()).await;
    }
}
