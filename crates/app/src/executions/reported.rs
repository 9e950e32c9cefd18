//! Events of other programs about an execution of the engine: reported facts, shown in their place
//! by time and id. The state of the execution does not depend on them.

use std::collections::VecDeque;

use noetl_api::EventSource;
use noetl_compat::{Replayer, public_envelope};
use noetl_control::LoadError;
use noetl_model::{Envelope, ExecutionId, Recorded, Seq};
use noetl_store::{EventPlace, EventSpan, PROJECT_MAX, StoreError};

use crate::app::App;
use crate::public_events::ConvertedEvent;

/// Maximum number of reported facts in one page of events.
const REPORTED_MAX: usize = 10_000;

/// The reported facts of an execution that a replay has not folded yet.
pub(crate) struct ReportedFacts {
    execution: ExecutionId,
    next: VecDeque<Envelope>,
    /// The place of the last fact that was read; `None` once all were read.
    after: Option<EventPlace>,
}

/// Returns the place of an event of the log.
pub(crate) fn place_of(recorded: &Recorded) -> EventPlace {
    EventPlace { at: recorded.at, event_id: recorded.event_id.0 }
}

impl App {
    /// Reads the first reported facts of an execution; `None` if it has none.
    pub(crate) async fn reported_facts(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<ReportedFacts>, LoadError> {
        let mut facts =
            ReportedFacts { execution, next: VecDeque::new(), after: Some(EventPlace::FIRST) };
        self.read_facts(&mut facts).await?;
        Ok((!facts.next.is_empty()).then_some(facts))
    }

    /// Folds the reported facts before a place into a replay.
    pub(crate) async fn note_facts(
        &self,
        facts: &mut ReportedFacts,
        replayer: &mut Replayer,
        until: EventPlace,
    ) -> Result<(), LoadError> {
        loop {
            while let Some(fact) = facts.next.pop_front_if(|fact| EventPlace::of(fact) <= until) {
                replayer.note(&fact);
            }
            if !facts.next.is_empty() || facts.after.is_none() {
                return Ok(());
            }
            self.read_facts(facts).await?;
        }
    }

    async fn read_facts(&self, facts: &mut ReportedFacts) -> Result<(), LoadError> {
        let Some(after) = facts.after else { return Ok(()) };
        let span = EventSpan { after, until: EventPlace::LAST };
        let page = self.records().projected_within(facts.execution.0, span, PROJECT_MAX).await;
        let page = page.map_err(|error| LoadError::of_store(facts.execution, error))?;
        facts.after = page.last().map(EventPlace::of).filter(|_| page.len() == PROJECT_MAX);
        facts.next.extend(page);
        Ok(())
    }

    /// Adds the reported facts of a page: those after the event before its first one, up to its last
    /// event, or all later ones if that is the last event of the log.
    pub(crate) async fn add_reported(
        &self,
        execution: ExecutionId,
        total: u64,
        page: &mut [ConvertedEvent],
    ) -> Result<(), LoadError> {
        let failed = |error: StoreError| LoadError::of_store(execution, error);
        if self.records().projected(execution.0, i64::MIN, 1).await.map_err(failed)?.is_empty() {
            return Ok(());
        }
        let (Some(first), Some(last)) = (page.first(), page.last()) else { return Ok(()) };
        let after = match first.event.seq {
            0 | 1 => EventPlace::FIRST,
            seq => {
                let before = self.events(execution, Seq(seq - 2), 1).await?;
                before.first().map_or(EventPlace::FIRST, place_of)
            }
        };
        let until = if last.event.seq >= total { EventPlace::LAST } else { last.place };
        for fact in self.facts_within(execution, EventSpan { after, until }).await? {
            insert(page, fact);
        }
        Ok(())
    }

    async fn facts_within(
        &self,
        execution: ExecutionId,
        mut span: EventSpan,
    ) -> Result<Vec<Envelope>, LoadError> {
        let mut facts = Vec::new();
        while facts.len() < REPORTED_MAX {
            let read = self.records().projected_within(execution.0, span, PROJECT_MAX).await;
            let read = read.map_err(|error| LoadError::of_store(execution, error))?;
            let is_last = read.len() < PROJECT_MAX;
            facts.extend(read);
            match facts.last().map(EventPlace::of) {
                Some(last) if !is_last => span.after = last,
                Some(_) | None => break,
            }
        }
        Ok(facts)
    }
}

/// Adds a fact to the event of a page that it stands before, or after the last one.
fn insert(page: &mut [ConvertedEvent], fact: Envelope) {
    let place = EventPlace::of(&fact);
    let told = |seq| {
        let mut event = public_envelope(fact, seq);
        event.source = EventSource::Reported;
        event
    };
    if let Some(next) = page.iter_mut().find(|next| place < next.place) {
        let seq = next.event.seq.saturating_sub(1);
        next.facts_before.push(told(seq));
    } else if let Some(last) = page.last_mut() {
        let seq = last.event.seq;
        last.facts_after.push(told(seq));
    }
}
