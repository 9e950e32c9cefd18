//! The cause of an event, and its effects.

use noetl_api::wire::EventLinks;
use noetl_control::{Damage, LoadError};
use noetl_engine::{Execution, Illegal, begin, evolve_without_digest};
use noetl_model::{ExecutionId, Recorded, Seq};
use noetl_replay::{CAUSE_EVENTS_MAX, cause_of};

use super::PositionError;
use super::change::mark_of;
use crate::app::App;

/// Maximum number of later events among which effects are looked for.
const EFFECT_EVENTS_MAX: usize = 2000;
/// Maximum number of effects that are shown.
const EFFECTS_SHOWN_MAX: usize = 100;

impl App {
    /// Finds the event that led to the event at a position, and the events that followed from it.
    pub async fn event_links(
        &self,
        execution: ExecutionId,
        position: u64,
    ) -> Result<EventLinks, PositionError> {
        let event = self.event_at(execution, position).await?;
        let before = match position {
            1 => None,
            position => Some(self.at_position(execution, Some(position - 1)).await?.state),
        };
        let back = u64::try_from(CAUSE_EVENTS_MAX).unwrap_or(u64::MAX);
        let earlier_from = position.saturating_sub(back + 1);
        let mut log = self.events_between(execution, earlier_from + 1, position).await?;
        let cause = cause_of(before.as_ref(), &event, before_of(&log, position));
        let cause = match cause {
            Some(seq) => Some(mark_of(&self.event_at(execution, seq.0).await?)),
            None => None,
        };
        let until = position.saturating_add(u64::try_from(EFFECT_EVENTS_MAX).unwrap_or(u64::MAX));
        log.extend(self.events_between(execution, position + 1, until).await?);
        let effects = events_caused_by(execution, before, &log, Seq(position))
            .map_err(|error| LoadError::damaged(execution, Damage::Illegal(error)))?;
        Ok(EventLinks {
            execution_id: execution.into(),
            event: mark_of(&event),
            cause,
            effects: effects.iter().map(|effect| mark_of(effect)).collect(),
            looked_until: log.last().map_or(position, |last| last.seq.0),
        })
    }
}

/// Returns the events before a position.
fn before_of(log: &[Recorded], position: u64) -> &[Recorded] {
    &log[..log.partition_point(|recorded| recorded.seq.0 < position)]
}

/// Returns the events of `log` that the event at `position` led to. `before` is the state before
/// that event.
fn events_caused_by(
    execution: ExecutionId,
    before: Option<Execution>,
    log: &[Recorded],
    position: Seq,
) -> Result<Vec<&Recorded>, Illegal> {
    let mut state = before;
    let mut effects = Vec::new();
    let from = log.partition_point(|recorded| recorded.seq < position);
    for (index, recorded) in log.iter().enumerate().skip(from) {
        let earlier = &log[index.saturating_sub(CAUSE_EVENTS_MAX)..index];
        if recorded.seq > position && cause_of(state.as_ref(), recorded, earlier) == Some(position)
        {
            effects.push(recorded);
            if effects.len() == EFFECTS_SHOWN_MAX {
                break;
            }
        }
        match &mut state {
            Some(state) => evolve_without_digest(state, recorded)?,
            None => state = Some(begin(execution, recorded)?),
        }
    }
    Ok(effects)
}
