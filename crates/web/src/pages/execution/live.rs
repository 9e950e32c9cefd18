//! The live stream of the page: the parts that have changed, as HTML, at most ten times a second.
//!
//! Every part is drawn from the state at the end of the log, so an update includes everything that
//! happened before it, and a reader that reconnects misses nothing. The id of an update is the
//! position that it shows.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, Query};
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::response::sse::{Event as SentEvent, KeepAlive, Sse};
use futures::stream::{self, StreamExt as _};
use noetl_model::{ExecutionId, Seq};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, sleep_until};

use super::address::{Here, PositionQuery};
use super::drawn::DrawnPlaybooks;
use super::template::PageParts;
use super::view::{DrawnFacts, ExecutionView};
use crate::error::PageError;
use crate::request::PageRequest;
use crate::response::PageResult;

/// Minimum time between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
/// The pause after an update, as a multiple of the time that drawing it took, and its maximum.
const PAUSE_FACTOR: u32 = 3;
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// Time after which the page is drawn again although nothing was recorded: bars of the timeline grow,
/// and workers come and go. A script counts the durations of running work in between.
const REDRAW_AFTER: Duration = Duration::from_secs(5);
/// Time after which a browser connects again.
const RECONNECT_AFTER: Duration = Duration::from_millis(500);
/// Interval of messages on an idle stream. A browser that misses several of them connects again.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// The position that the reader of a stream has.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct LiveQuery {
    after: u64,
}

/// An update: the HTML of parts of the page, by their ids.
#[derive(Debug, Serialize)]
struct PageUpdate {
    position: u64,
    parts: BTreeMap<&'static str, String>,
}

/// Streams the parts of the page that change until the execution has ended.
pub(in crate::pages) async fn live(
    page: PageRequest,
    Extension(drawn): Extension<DrawnPlaybooks>,
    Path(id): Path<String>,
    Query(query): Query<PositionQuery>,
    Query(LiveQuery { after }): Query<LiveQuery>,
    headers: HeaderMap,
) -> PageResult {
    let execution = super::execution_of(&id)?;
    page.app().execution(execution).await?;
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    // The stream follows the end of the log.
    let query = PositionQuery { at: String::new(), ..query };
    let address = Here::of(execution, &query).address();
    let page = PageRequest { address, ..page };
    let updates = PageUpdates {
        page,
        drawn,
        execution,
        query,
        seen: resumed.unwrap_or(after),
        sent: BTreeMap::new(),
        next_at: None,
        is_over: false,
        facts: None,
    };
    let sent = stream::unfold(updates, |mut updates| async move {
        let stopping = updates.page.state.stopping.clone();
        let next = tokio::select! {
            next = updates.next() => next,
            () = stopping.cancelled() => return None,
        };
        match next {
            Ok(Some(event)) => Some((Ok::<_, Infallible>(event), updates)),
            Ok(None) => None,
            // The stream ends; the browser connects again and resumes.
            Err(error) => {
                tracing::debug!(?error, "live page ended");
                None
            }
        }
    });
    // Sent before the first update, which may be far away.
    let begun = SentEvent::default().retry(RECONNECT_AFTER);
    let sent = stream::iter([Ok(begun)]).chain(sent);
    let alive = SentEvent::default().event("alive").data("1");
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE).event(alive);
    Ok(Sse::new(sent).keep_alive(keep_alive).into_response())
}

/// The reason why a page is drawn again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Woken {
    /// An event was recorded or output was stored.
    ByLog,
    /// Parts of the page may be out of date, such as the states of children.
    ByTime,
}

/// The updates of one page that is open somewhere.
struct PageUpdates {
    page: PageRequest,
    drawn: DrawnPlaybooks,
    execution: ExecutionId,
    query: PositionQuery,
    /// The position that the reader has.
    seen: u64,
    /// The parts as the reader has them.
    sent: BTreeMap<&'static str, String>,
    /// The earliest time of the next update; `None` before the first drawing.
    next_at: Option<Instant>,
    is_over: bool,
    /// The values that only an event changes, as they were drawn last.
    facts: Option<DrawnFacts>,
}

impl PageUpdates {
    /// Waits for the next update; `None` after the one with the end of the execution.
    async fn next(&mut self) -> Result<Option<SentEvent>, PageError> {
        while !self.is_over {
            let woken = self.wait().await?;
            let begun = Instant::now();
            let page = PageRequest { now: self.page.state.now(), ..self.page.clone() };
            let query = self.query.clone();
            let known = self.facts.as_ref().filter(|_| woken == Woken::ByLog);
            let view =
                ExecutionView::load(&page, &self.drawn, self.execution, query, known).await?;
            self.facts = Some(view.facts.clone());
            let parts = self.changed(PageParts::of(&page, &view));
            // The reader has the page as it was at this position.
            let is_known = self.next_at.is_none() && view.state.position == self.seen;
            self.next_at = Some(Instant::now() + pause_after(begun.elapsed()));
            self.seen = view.state.position;
            self.is_over = view.summary.status.is_terminal();
            if is_known {
                // Output is stored without an event, so the reader's page may lack some of it: the
                // next update has the part with output.
                self.sent.remove("exec-beside");
            }
            if self.is_over || !(is_known || parts.is_empty()) {
                return Ok(Some(self.event(parts)));
            }
        }
        Ok(None)
    }

    /// Waits for an event after the position, for output of a step, or until times on the page are
    /// old.
    async fn wait(&self) -> Result<Woken, PageError> {
        let Some(next_at) = self.next_at else { return Ok(Woken::ByTime) };
        let mut events = self.page.app().control().events_follow(self.execution, Seq(self.seen));
        let woken = tokio::select! {
            found = events.next() => {
                found?;
                Woken::ByLog
            }
            () = self.page.app().log_stored(self.execution) => Woken::ByLog,
            () = sleep(REDRAW_AFTER) => Woken::ByTime,
        };
        sleep_until(next_at).await;
        Ok(woken)
    }

    /// Returns the parts that differ from those of the reader, and remembers them.
    fn changed(&mut self, parts: PageParts) -> BTreeMap<&'static str, String> {
        let mut changed = BTreeMap::new();
        for (id, part) in parts.named() {
            let html = part.into_string();
            if self.sent.get(id) != Some(&html) {
                self.sent.insert(id, html.clone());
                changed.insert(id, html);
            }
        }
        changed
    }

    fn event(&self, parts: BTreeMap<&'static str, String>) -> SentEvent {
        let name = if self.is_over { "end" } else { "update" };
        let update = PageUpdate { position: self.seen, parts };
        SentEvent::default()
            .id(self.seen.to_string())
            .event(name)
            .json_data(&update)
            .expect("an update is JSON")
    }
}

/// Returns the pause after an update that took this long to draw.
fn pause_after(drawn: Duration) -> Duration {
    (drawn * PAUSE_FACTOR).clamp(UPDATE_INTERVAL, PAUSE_MAX)
}
