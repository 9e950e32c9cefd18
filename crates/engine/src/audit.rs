//! Whether a log is what was written: an auditor sees every event in order and says what is wrong
//! with the first that cannot stand where it stands.
//!
//! Invariant: what it keeps does not grow with the log.

use noetl_model::{Digest, EventId, EventTag, ExecutionId, Recorded, Seq};
use thiserror::Error;

use crate::{Execution, Illegal, begin, evolve};

/// Reads a log and checks its chain of digests and that each event is legal after its past.
#[derive(Debug)]
pub struct Auditor {
    execution: ExecutionId,
    /// What the first event follows.
    before: Digest,
    state: Option<Execution>,
    last: Option<EventName>,
    /// The digest of the event before the last.
    previous: Option<Digest>,
    /// An event that does not follow the last one; the next event tells what has happened.
    doubtful: Option<Recorded>,
    /// The first event with a digest: those after it have one too.
    proven_from: Option<Seq>,
}

/// An event as a fault names it.
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

/// What is wrong with a log.
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
    #[error("{event} cannot stand where it stands: {}", .illegal.reason)]
    Illegal { event: EventName, illegal: Illegal },
}

impl Auditor {
    /// An auditor of the log of `execution`, whose first event is that of `root`: itself, or the
    /// execution whose past it shares.
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

    /// The execution as far as its log has been seen.
    pub fn state(&self) -> Option<&Execution> {
        self.state.as_ref()
    }

    /// The first event that holds the digest of the one before it. Those before it were written before
    /// there were digests: it vouches for what they were when it was written.
    pub fn proven_from(&self) -> Option<Seq> {
        self.proven_from
    }

    /// Sees the next event.
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

    /// There are no more events, though there should be `seq` of them; `head` is the digest that the
    /// last one is known to have had.
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
            // What is kept of the last event is written with it, if it has a digest itself.
            (Some(last), None) if self.proven_from.is_some() => Err(LogFault::Unattested(last)),
            (Some(_) | None, Some(_) | None) => Ok(()),
        }
    }

    fn head(&self) -> Digest {
        self.state.as_ref().map_or(self.before, Execution::head)
    }

    /// What must have been done to the log for `odd` not to follow the last event, told by the event
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
