//! Pages of public events.

use std::collections::VecDeque;

use noetl_api::PublicEvent;
use noetl_compat::EventConverter;
use noetl_control::LoadError;
use noetl_model::{ExecutionId, Seq};
use noetl_store::{EventPlace, READ_BYTES_MAX, json_len};

use crate::app::App;
use crate::executions::place_of;

/// Maximum number of earlier events read for the names of runs and commands.
const LOOK_BACK_MAX: u64 = 1000;

/// Creates a converter that knows the names in the events just before `after`.
pub(crate) async fn converter_at(
    app: &App,
    execution: ExecutionId,
    after: Seq,
) -> Result<EventConverter, LoadError> {
    let mut converter = EventConverter::new(execution);
    let mut learned = Seq(after.0.saturating_sub(LOOK_BACK_MAX));
    while learned < after {
        let left = usize::try_from(after.0 - learned.0).unwrap_or(usize::MAX);
        let earlier = app.events(execution, learned, left).await?;
        let Some(last) = earlier.last() else { break };
        learned = last.seq;
        earlier.iter().for_each(|recorded| converter.learn(recorded));
    }
    Ok(converter)
}

/// A public event of a log, the length of its JSON, and the reported facts next to it.
pub(crate) struct ConvertedEvent {
    pub(crate) event: PublicEvent,
    pub(crate) len: usize,
    pub(crate) place: EventPlace,
    /// The facts after the previous event and before this one, oldest first.
    pub(crate) facts_before: Vec<PublicEvent>,
    /// The facts after this event, if it is the last one of the log.
    pub(crate) facts_after: Vec<PublicEvent>,
}

impl ConvertedEvent {
    pub(crate) fn new(event: PublicEvent, place: EventPlace) -> Self {
        let len = json_len(&event);
        Self { event, len, place, facts_before: Vec::new(), facts_after: Vec::new() }
    }

    /// Returns the event with the facts next to it, oldest first.
    pub(crate) fn with_facts(self) -> impl DoubleEndedIterator<Item = PublicEvent> {
        let Self { event, facts_before, facts_after, .. } = self;
        facts_before.into_iter().chain([event]).chain(facts_after)
    }
}

/// Selects the events to keep if a page exceeds `READ_BYTES_MAX` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Oldest,
    Newest,
    /// Keep all of them, for a caller that needs the exact page.
    All,
}

/// Converts at most `limit` events after `after`, in order; keeps at least one.
pub(crate) async fn events_after(
    app: &App,
    execution: ExecutionId,
    after: Seq,
    limit: usize,
    keep: Keep,
) -> Result<Vec<ConvertedEvent>, LoadError> {
    let mut converter = converter_at(app, execution, after).await?;
    let mut converted: VecDeque<ConvertedEvent> = VecDeque::new();
    let (mut last, mut left, mut bytes) = (after, limit, 0);
    while left > 0 {
        let page = app.events(execution, last, left).await?;
        let Some(end) = page.last() else { break };
        last = end.seq;
        left -= page.len();
        for recorded in &page {
            let event = ConvertedEvent::new(converter.convert(recorded), place_of(recorded));
            bytes += event.len;
            converted.push_back(event);
            match keep {
                Keep::Oldest if bytes >= READ_BYTES_MAX => return Ok(converted.into()),
                Keep::Newest => {
                    while bytes > READ_BYTES_MAX && converted.len() > 1 {
                        bytes -= converted.pop_front().map_or(0, |oldest| oldest.len);
                    }
                }
                Keep::Oldest | Keep::All => {}
            }
        }
    }
    Ok(converted.into())
}

impl App {
    /// Creates a converter of an execution's events after `after` to their public form.
    pub async fn converter_at(
        &self,
        execution: ExecutionId,
        after: Seq,
    ) -> Result<EventConverter, LoadError> {
        converter_at(self, execution, after).await
    }
}
