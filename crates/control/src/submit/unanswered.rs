//! Appends without an answer: the log tells if one was written.

use noetl_model::{EventId, ExecutionId, Seq};
use noetl_store::Append;

use crate::Control;
use crate::error::LoadError;

/// An append by its execution, place and first event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AppendId {
    execution: ExecutionId,
    expected: Seq,
    first: EventId,
}

/// The result of an append without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AppendOutcome {
    Written,
    /// Another append is in its place: it cannot be written any more.
    Lost,
    /// The append may still be written.
    Open,
}

impl AppendId {
    /// Returns the identity of an append; `None` if it has no events.
    pub(crate) fn of(append: &Append) -> Option<Self> {
        let first = append.events.first()?.event_id;
        Some(Self { execution: append.execution, expected: append.expected, first })
    }
}

impl Control {
    /// Reads the log to find out if an append was written.
    pub(crate) async fn outcome_of(&self, append: &AppendId) -> Result<AppendOutcome, LoadError> {
        let AppendId { execution, expected, first } = *append;
        let found = self.parts.store.read(execution, expected, 1).await;
        let found = found.map_err(|error| LoadError::of_store(execution, error))?;
        Ok(match found.first() {
            None => AppendOutcome::Open,
            Some(recorded) if recorded.event_id == first => AppendOutcome::Written,
            Some(_) => AppendOutcome::Lost,
        })
    }
}
