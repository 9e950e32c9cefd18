//! Reads the events of all executions in pages.
//!
//! Reading continues after a cursor, so no event is skipped; a hint only makes it check sooner.

use std::collections::HashMap;
use std::time::Duration;

use noetl_api::wire::{FeedEvent, FeedFilter};
use noetl_bus::HintReceiver;
use noetl_compat::{EventConverter, shows};
use noetl_model::{ExecutionId, Seq};
use noetl_store::{FeedCursor, FeedItem, FeedPoint};

use super::FeedError;
use crate::app::App;
use crate::public_events::converter_at;

/// Interval of checks for new events without a hint.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of executions whose names are cached.
const CONVERTERS_MAX: usize = 1000;

/// A reader of the events of all executions, starting at a cursor.
pub struct FeedReader {
    app: App,
    filter: FeedFilter,
    cursor: FeedCursor,
    limit: usize,
    hints: HintReceiver,
    /// The control plane's count of rewinds of the store when the cursor was last compared with the
    /// end.
    rewinds: u64,
    /// Converters of events by execution, each with the last event it has seen.
    converters: HashMap<ExecutionId, (Seq, EventConverter)>,
}

impl FeedReader {
    pub(super) fn begin(app: &App, filter: FeedFilter, cursor: FeedCursor, limit: usize) -> Self {
        let hints = app.bus().subscribe();
        let (app, converters) = (app.clone(), HashMap::new());
        Self { app, filter, cursor, limit, hints, rewinds: 0, converters }
    }

    /// Returns the reader's position.
    pub fn cursor(&self) -> &FeedCursor {
        &self.cursor
    }

    /// Fails if the cursor lies after the last event because the store was restored to an earlier
    /// state: the reader would miss the events up to the cursor.
    pub async fn check_cursor(&mut self) -> Result<(), FeedError> {
        let rewinds = self.app.control().rewinds();
        if self.rewinds == rewinds {
            return Ok(());
        }
        let end = self.app.store().feed_point(&FeedPoint::End).await?;
        if self.cursor.is_ahead_of(&end) {
            return Err(FeedError::Rewound(self.cursor.clone()));
        }
        self.rewinds = rewinds;
        Ok(())
    }

    /// Reads the next events that pass the filter; the cursor moves past all events that were read.
    pub async fn page(&mut self) -> Result<Vec<FeedEvent>, FeedError> {
        loop {
            let page = self.app.store().feed(&self.cursor, self.limit).await?;
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

    async fn told(&mut self, item: FeedItem) -> Result<Option<FeedEvent>, FeedError> {
        let before = Seq(item.recorded.seq.0 - 1);
        let known = self.converters.remove(&item.execution).filter(|(seq, _)| *seq == before);
        let mut converter = match known {
            Some((_, converter)) => converter,
            None => converter_at(&self.app, item.execution, before).await?,
        };
        let event = converter.convert(&item.recorded);
        if self.converters.len() >= CONVERTERS_MAX {
            self.converters.clear();
        }
        self.converters.insert(item.execution, (item.recorded.seq, converter));
        let is_shown = shows(&self.filter, &item.path, &event);
        Ok(is_shown.then(|| FeedEvent {
            execution_id: item.execution.to_string(),
            path: item.path,
            cursor: item.cursor.to_string(),
            event,
        }))
    }

    /// Waits for a hint or for `left`, whichever comes first.
    pub async fn wait(&mut self, left: Duration) {
        let look = left.min(POLL_INTERVAL);
        // A lost hint costs the time until the next check.
        let _heard = tokio::time::timeout(look, self.hints.next()).await;
    }
}
