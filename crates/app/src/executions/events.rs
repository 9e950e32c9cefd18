//! The events of an execution, in pages, from either end.
//!
//! Seqs have no gaps, so a page is found by its seq, however long the log is.

use noetl_api::PublicEvent;
use noetl_api::wire::EventPage;
use noetl_control::LoadError;
use noetl_model::{ExecutionId, Seq};
use noetl_store::{PageSpace, READ_EVENTS_MAX};

use crate::app::App;
use crate::public_events::Keep;

/// Maximum number of events read for one page; the next page continues there.
const LOOKED_AT_MAX: usize = 5000;

/// Selects events of an execution and a page of them.
#[derive(Debug, Clone, Default)]
pub struct EventQuery {
    /// List events after this seq.
    pub after: u64,
    /// List events before this seq.
    pub before: Option<u64>,
    pub limit: Option<usize>,
    pub order: EventOrder,
    /// List events of this type.
    pub event_type: Option<String>,
    /// List events of this step.
    pub node_name: Option<String>,
}

/// The order of events in a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EventOrder {
    #[default]
    OldestFirst,
    NewestFirst,
}

impl EventQuery {
    fn admits(&self, event: &PublicEvent) -> bool {
        let Self { event_type, node_name, .. } = self;
        event_type.as_ref().is_none_or(|name| event.event_type == *name)
            && node_name.as_ref().is_none_or(|name| event.node_name.as_ref() == Some(name))
    }

    fn admits_all(&self) -> bool {
        self.event_type.is_none() && self.node_name.is_none()
    }
}

impl App {
    /// Lists the events of an execution in pages, from either end. A page has fewer events than
    /// asked for if they are large.
    pub async fn execution_events(
        &self,
        execution: ExecutionId,
        query: &EventQuery,
    ) -> Result<EventPage, LoadError> {
        let known = self.known_execution(execution).await?;
        let total = known.summary.seq.0;
        let limit = query.limit.unwrap_or(READ_EVENTS_MAX).clamp(1, READ_EVENTS_MAX);
        // The events still to read lie between the two.
        let (mut low, mut high) = (query.after, query.before.unwrap_or(u64::MAX).min(total + 1));
        let mut found: Vec<PublicEvent> = Vec::new();
        let mut looked_at = 0;
        let (mut room, mut has_room) = (PageSpace::default(), true);
        while found.len() < limit && has_room && low + 1 < high && looked_at < LOOKED_AT_MAX {
            let needed = if query.admits_all() { limit - found.len() } else { READ_EVENTS_MAX };
            let left = usize::try_from(high - low - 1).unwrap_or(usize::MAX);
            let count = needed.min(left);
            let (from, keep) = match query.order {
                EventOrder::OldestFirst => (low, Keep::Oldest),
                EventOrder::NewestFirst => {
                    (high - 1 - u64::try_from(count).expect("a page's length fits"), Keep::Newest)
                }
            };
            let mut events = self.known_events_after(&known, Seq(from), count, keep).await?;
            if events.is_empty() {
                break;
            }
            looked_at += events.len();
            if query.order == EventOrder::NewestFirst {
                events.reverse();
            }
            for told in events {
                let (seq, len) = (told.event.seq, told.len);
                let shown = told.with_facts().filter(|event| query.admits(event));
                let before = found.len();
                match query.order {
                    EventOrder::OldestFirst => {
                        low = seq;
                        found.extend(shown);
                    }
                    EventOrder::NewestFirst => {
                        high = seq;
                        found.extend(shown.rev());
                    }
                }
                if found.len() > before {
                    has_room = room.take(len);
                }
                if found.len() >= limit || !has_room {
                    break;
                }
            }
        }
        let more = low + 1 < high;
        Ok(EventPage {
            execution_id: execution.into(),
            total,
            next_after: (more && query.order == EventOrder::OldestFirst).then_some(low),
            next_before: (more && query.order == EventOrder::NewestFirst).then_some(high),
            events: found,
        })
    }
}
