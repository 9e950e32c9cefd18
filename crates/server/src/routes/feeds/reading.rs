//! Somebody who reads the events of all executions: page by page, or as a stream without an end.
//!
//! A reader goes on after its cursor, so no event is stepped over; a hint only makes it look sooner.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event as SentEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, Stream, StreamExt as _};
use noetl_api::Teller;
use noetl_api::wire::{FeedEvent, FeedFilter};
use noetl_bus::HintReceiver;
use noetl_model::{ExecutionId, Seq};
use noetl_store::{FeedCursor, FeedItem, FeedPoint};

use crate::error::ApiError;
use crate::state::AppState;
use crate::tell::teller_at;

/// How often it is looked without a hint.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a listener that hears nothing is told that somebody is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How many executions' names are remembered at a time.
const TELLERS_MAX: usize = 1000;

/// The cursor after which a listener that was cut off goes on.
pub(in crate::routes) fn resumed(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id")?.to_str().ok()
}

/// Somebody who reads the events of all executions, from a cursor on.
pub(in crate::routes) struct Reading {
    state: AppState,
    filter: FeedFilter,
    cursor: FeedCursor,
    limit: usize,
    hints: HintReceiver,
    /// How often the store had been found to have gone back in time when the cursor was compared with
    /// the end last.
    rewinds: u64,
    /// What tells the events of each execution, and after which one.
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

    /// How far it has come.
    pub(in crate::routes) fn cursor(&self) -> &FeedCursor {
        &self.cursor
    }

    /// Refuses a cursor that lies behind the last event because the store has gone back in time: the
    /// reader would miss what comes until it is there.
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

    /// What is there now and is to be shown; the cursor moves past all that was looked at.
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
        let is_shown = self.filter.shows(&item.path, &event);
        Ok(is_shown.then(|| FeedEvent {
            execution_id: item.execution.to_string(),
            path: item.path,
            cursor: item.cursor.to_string(),
            event,
        }))
    }

    /// Waits for a hint that something may have happened, or for as long as this.
    pub(in crate::routes) async fn wait(&mut self, left: Duration) {
        let look = left.min(LOOK_EVERY);
        // A hint that is lost costs the time until the next look.
        let _heard = tokio::time::timeout(look, self.hints.next()).await;
    }

    /// What comes from here on, as server-sent events until the server drains; the id of each is the
    /// cursor to go on after it.
    pub(in crate::routes) fn into_stream(self) -> Response {
        // Without an event, so that who is cut off before the first one misses none either.
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
