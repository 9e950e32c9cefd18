//! Reads the events of all executions: in pages, or as an endless stream.
//!
//! Reading continues after a cursor, so no event is skipped; a hint only makes it check sooner.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event as SentEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, Stream, StreamExt as _};
use noetl_api::wire::{FeedEvent, FeedFilter};
use noetl_bus::HintReceiver;
use noetl_compat::{Teller, shows};
use noetl_model::{ExecutionId, Seq};
use noetl_store::{FeedCursor, FeedItem, FeedPoint};

use crate::error::ApiError;
use crate::state::AppState;
use crate::tell::teller_at;

/// Interval of checks for new events without a hint.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Interval of keep-alive messages on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Maximum number of executions whose names are cached.
const TELLERS_MAX: usize = 1000;

/// Returns the cursor after which a reconnecting client resumes.
pub(in crate::routes) fn resumed(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id")?.to_str().ok()
}

/// A reader of the events of all executions, starting at a cursor.
pub(in crate::routes) struct Reading {
    state: AppState,
    filter: FeedFilter,
    cursor: FeedCursor,
    limit: usize,
    hints: HintReceiver,
    /// The control plane's count of rewinds of the store when the cursor was last compared with the
    /// end.
    rewinds: u64,
    /// Converters of events by execution, each with the last event it has seen.
    tellers: HashMap<ExecutionId, (Seq, Teller)>,
}

impl Reading {
    pub(in crate::routes) fn begin(
        state: &AppState,
        filter: FeedFilter,
        cursor: FeedCursor,
        limit: usize,
    ) -> Self {
        let hints = state.bus().subscribe();
        let (state, tellers) = (state.clone(), HashMap::new());
        Self { state, filter, cursor, limit, hints, rewinds: 0, tellers }
    }

    /// Returns the reader's position.
    pub(in crate::routes) fn cursor(&self) -> &FeedCursor {
        &self.cursor
    }

    /// Fails if the cursor lies after the last event because the store was restored to an earlier
    /// state: the reader would miss the events up to the cursor.
    pub(in crate::routes) async fn check_cursor(&mut self) -> Result<(), ApiError> {
        let rewinds = self.state.control().rewinds();
        if self.rewinds == rewinds {
            return Ok(());
        }
        let end = self.state.store().feed_point(&FeedPoint::End).await?;
        if self.cursor.is_ahead_of(&end) {
            let detail = format!(
                "the database has gone back in time: cursor {} lies after its last event; go on from \
                 `end`, or from an earlier cursor",
                self.cursor
            );
            return Err(ApiError::conflict("feed-rewound", detail));
        }
        self.rewinds = rewinds;
        Ok(())
    }

    /// Reads the next events that pass the filter; the cursor moves past all events that were read.
    pub(in crate::routes) async fn page(&mut self) -> Result<Vec<FeedEvent>, ApiError> {
        loop {
            let page = self.state.store().feed(&self.cursor, self.limit).await?;
            let is_end = page.next == self.cursor;
            if is_end {
                self.check_cursor().await?;
            }
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
        let is_shown = shows(&self.filter, &item.path, &event);
        Ok(is_shown.then(|| FeedEvent {
            execution_id: item.execution.to_string(),
            path: item.path,
            cursor: item.cursor.to_string(),
            event,
        }))
    }

    /// Waits for a hint or for `left`, whichever comes first.
    pub(in crate::routes) async fn wait(&mut self, left: Duration) {
        let look = left.min(LOOK_EVERY);
        // A lost hint costs the time until the next check.
        let _heard = tokio::time::timeout(look, self.hints.next()).await;
    }

    /// Streams the events as server-sent events until the server drains; an event's id is the
    /// cursor to resume after it.
    pub(in crate::routes) fn into_stream(self) -> Response {
        // Sends the position first, without an event, so that a client that is cut off before the
        // first event misses none.
        let begun = SentEvent::default().id(self.cursor.to_string());
        let sent = stream::once(async { Ok(begun) }).chain(sent_events(self));
        Sse::new(sent).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
    }
}

fn sent_events(reading: Reading) -> impl Stream<Item = Result<SentEvent, Infallible>> {
    let draining = reading.state.draining().clone();
    stream::unfold((reading, VecDeque::new()), move |(mut reading, mut waiting)| {
        let draining = draining.clone();
        async move {
            while waiting.is_empty() {
                // On an error the stream ends; the client reconnects and resumes.
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
