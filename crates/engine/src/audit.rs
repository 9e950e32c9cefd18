//! Verification of a log: an auditor reads every event in order and reports the first one that is
//! missing, changed or misplaced.
//!
//! Invariant: the auditor's memory does not grow with the log.

use noetl_model::{Digest, EventId, EventTag, ExecutionId, Recorded, Seq};
use thiserror::Error;

use crate::{Execution, Illegal, begin, evolve};

/// Verifies a log: its chain of digests, and that each event is legal after the events before it.
#[derive(Debug)]
pub struct Auditor {
    execution: ExecutionId,
    /// The digest that the first event follows.
    before: Digest,
    state: Option<Execution>,
    last: Option<EventName>,
    /// The digest of the event before the last.
    previous: Option<Digest>,
    /// An event whose `prev` does not match; the next event is needed for the diagnosis.
    doubtful: Option<Recorded>,
    /// The first event with a digest; all later ones have one too.
    proven_from: Option<Seq>,
}

/// An event as named in a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventName {
    pub seq: Seq,
    pub id: EventId,
    pub tag: EventTag,
}

impl EventName {
    fn of(recorded: &Recorded) -> Self {
        Self { seq: recorded.seq, id: recorded.event_id, tag: recorded.event.tag() }
    }
}

impl std::fmt::Display for EventName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "event {} ({}, id {})", self.seq, self.tag.as_str(), self.id)
    }
}

/// The fault found in a log.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LogFault {
    #[error("event {0} is missing")]
    Missing(Seq),
    #[error("{0} is not what was written")]
    Changed(EventName),
    #[error("{0} or the digest that is kept of it is not what was written")]
    Unattested(EventName),
    #[error("{first} and {second} have changed places")]
    Swapped { first: EventName, second: EventName },
    #[error("{0} was inserted")]
    Inserted(EventName),
    #[error("an event was removed before {0}")]
    Removed(EventName),
    #[error("{0} does not follow the event before it")]
    Unlinked(EventName),
    #[error("{0} has lost the digest of the event before it")]
    Bare(EventName),
    #[error("{event} is not allowed at this position: {}", .illegal.reason)]
    Illegal { event: EventName, illegal: Illegal },
}

impl Auditor {
    /// Creates an auditor for the log of `execution`. `root` is the execution of its first event:
    /// itself or, for a fork, its oldest origin.
    pub fn new(execution: ExecutionId, root: ExecutionId) -> Self {
        Self {
            execution,
            before: Digest::before(root),
            state: None,
            last: None,
            previous: None,
            doubtful: None,
            proven_from: None,
        }
    }

    /// Returns the execution, folded up to the last verified event.
    pub fn state(&self) -> Option<&Execution> {
        self.state.as_ref()
    }

    /// Returns the first event with a digest of the one before it. Earlier events were stored
    /// without digests; their content is attested only as of when this event was written.
    pub fn proven_from(&self) -> Option<Seq> {
        self.proven_from
    }

    /// Verifies the next event.
    pub fn see(&mut self, recorded: &Recorded) -> Result<(), LogFault> {
        if let Some(doubtful) = self.doubtful.take() {
            return Err(self.diagnosed(&doubtful, Some(recorded), None));
        }
        let expected = self.last.map_or(Seq(1), |last| last.seq.next());
        if recorded.seq != expected {
            return Err(LogFault::Missing(expected));
        }
        match recorded.prev {
            Some(prev) if prev != self.head() => {
                self.doubtful = Some(recorded.clone());
                return Ok(());
            }
            Some(_) => {
                self.proven_from.get_or_insert(recorded.seq);
            }
            None if self.proven_from.is_some() => {
                return Err(LogFault::Bare(EventName::of(recorded)));
            }
            None => {}
        }
        let previous = self.head();
        let folded = match &mut self.state {
            Some(state) => evolve(state, recorded),
            None => begin(self.execution, recorded).map(|state| self.state = Some(state)),
        };
        let event = EventName::of(recorded);
        folded.map_err(|illegal| LogFault::Illegal { event, illegal })?;
        (self.last, self.previous) = (Some(event), Some(previous));
        Ok(())
    }

    /// Verifies the end of the log: it must have `seq` events, and `head` is the stored digest of
    /// the last one.
    pub fn end(&mut self, seq: Seq, head: Option<Digest>) -> Result<(), LogFault> {
        if let Some(doubtful) = self.doubtful.take() {
            return Err(self.diagnosed(&doubtful, None, head));
        }
        match (self.last, head) {
            (last, _) if last.map_or(Seq::ZERO, |last| last.seq) < seq => {
                Err(LogFault::Missing(last.map_or(Seq(1), |last| last.seq.next())))
            }
            (Some(last), Some(_)) if head == self.previous => Err(LogFault::Inserted(last)),
            (Some(last), Some(head)) if head != self.head() => Err(LogFault::Unattested(last)),
            // The last event's digest is stored with the event if the event has a `prev`.
            (Some(last), None) if self.proven_from.is_some() => Err(LogFault::Unattested(last)),
            (Some(_) | None, Some(_) | None) => Ok(()),
        }
    }

    fn head(&self) -> Digest {
        self.state.as_ref().map_or(self.before, Execution::head)
    }

    /// Returns the fault that explains why `odd` does not follow the last event, using the event
    /// after it.
    fn diagnosed(&self, odd: &Recorded, next: Option<&Recorded>, head: Option<Digest>) -> LogFault {
        let (here, name) = (self.head(), EventName::of(odd));
        let own = |it: &Recorded| it.prev.map(|prev| it.digest_after(&prev));
        if let Some(next) = next.filter(|next| next.prev == Some(here)) {
            let moved = Recorded { seq: odd.seq, ..next.clone() };
            return if odd.prev == own(&moved) {
                LogFault::Swapped { first: name, second: EventName::of(next) }
            } else {
                LogFault::Inserted(name)
            };
        }
        if let Some(last) = self.last.filter(|_| odd.prev == self.previous) {
            return LogFault::Inserted(last);
        }
        let attested = next.map_or(head, |next| next.prev);
        let is_whole = attested.is_some() && own(odd) == attested;
        let renumbered = Recorded { seq: odd.seq.next(), ..odd.clone() };
        match self.last {
            Some(last) if is_whole => LogFault::Changed(last),
            Some(_) if attested.is_some() && own(&renumbered) == attested => {
                LogFault::Removed(name)
            }
            Some(_) | None => LogFault::Unlinked(name),
        }
    }
}
