//! What one decision writes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use noetl_model::{
    Attempt, CommandId, Digest, ExecutionId, Message, Parent, Pool, Recorded, Seq, Summary,
    TimerId, Timestamp, WorkerId,
};

use crate::{KeyHolder, StartKey, StoreError};

/// All that one decision changes about one execution: written whole or not at all.
#[derive(Debug, Clone)]
pub struct Append {
    pub execution: ExecutionId,
    /// The last event the decision has seen; [`Seq::ZERO`] starts an execution, and the number of the
    /// event it leaves the other's log at starts a fork.
    pub expected: Seq,
    /// Numbered from `expected + 1` on.
    pub events: Vec<Recorded>,
    /// The execution after the last of these events.
    pub summary: Summary,
    pub queue: Vec<QueueChange>,
    pub timers: Vec<TimerChange>,
    pub outbox: Vec<Message>,
    /// Large values the events refer to: JSON bytes by their digest. Storing one twice is fine.
    pub payloads: Vec<(Digest, Arc<Vec<u8>>)>,
    /// The key an execution is started under; of no meaning to one that is there already.
    pub key: Option<StartKey>,
}

impl Append {
    /// The key that this starts an execution under.
    pub fn starts_under(&self) -> Option<&StartKey> {
        self.key.as_ref().filter(|_| self.expected == Seq::ZERO)
    }

    /// Whether it says itself all that has to be known to write it: it starts nothing under a key or
    /// for a command, and takes no command that others may take.
    pub fn stands_alone(&self) -> bool {
        self.starts_under().is_none() && self.stands_alone_but_for_its_key()
    }

    /// Whether only the key it starts an execution under may have to be looked up.
    pub fn stands_alone_but_for_its_key(&self) -> bool {
        let starts_child = self.expected == self.begins_after()
            && self.summary.parent.and_then(Parent::command).is_some();
        if starts_child {
            return false;
        }
        let mut added = BTreeSet::new();
        self.queue.iter().all(|change| match change {
            QueueChange::Add { command, .. } => {
                added.insert(*command);
                true
            }
            QueueChange::Lease { command, .. }
            | QueueChange::Park { command }
            | QueueChange::Expire { command, .. } => added.contains(command),
            QueueChange::Remove { .. } => true,
        })
    }

    /// The event after which the log of its execution begins: that of another execution for a fork.
    pub(crate) fn begins_after(&self) -> Seq {
        self.summary.fork.map_or(Seq::ZERO, |fork| fork.seq)
    }

    /// Whether the first of the events names the event whose digest is `head` as the one before it,
    /// as far as both are known.
    pub fn follows(&self, head: Option<Digest>) -> bool {
        let prev = self.events.first().and_then(|event| event.prev);
        head.zip(prev).is_none_or(|(head, prev)| head == prev)
    }

    /// The number of the last event once this is written; `None` if the events are not numbered
    /// from `expected + 1` on.
    pub fn last_seq(&self) -> Option<Seq> {
        self.events
            .iter()
            .try_fold(self.expected, |last, event| (event.seq == last.next()).then_some(event.seq))
    }
}

/// A change of the queue of open commands.
#[derive(Debug, Clone, PartialEq)]
pub enum QueueChange {
    /// A new command, ready at once. `step` is for people. One that is there already is a conflict.
    Add { command: CommandId, pool: Pool, step: String },
    /// A worker takes it, for so long from now on, by the store's clock. A conflict unless the row's
    /// attempt is `attempt - 1` and no lease on it lives, by the same clock.
    Lease { command: CommandId, attempt: Attempt, worker: WorkerId, lease: Duration },
    /// It waits for something other than a worker, such as a child: nobody can lease it. Parking
    /// one that is not there is a conflict.
    Park { command: CommandId },
    /// It is given up because this attempt's lease has run out. A conflict if that lease lives, or
    /// is not the latest.
    Expire { command: CommandId, attempt: Attempt },
    /// It is over. Removing one that is gone already is fine.
    Remove { command: CommandId },
}

impl QueueChange {
    /// The command it is about.
    pub fn command(&self) -> CommandId {
        match *self {
            QueueChange::Add { command, .. }
            | QueueChange::Lease { command, .. }
            | QueueChange::Park { command }
            | QueueChange::Expire { command, .. }
            | QueueChange::Remove { command } => command,
        }
    }
}

/// A change of the durable timers. Setting one again moves it; removing one that is gone is fine.
#[derive(Debug, Clone, PartialEq)]
pub enum TimerChange {
    Set { timer: TimerId, due_at: Timestamp },
    Remove { timer: TimerId },
}

/// Why an append was not, or perhaps not, written: never in part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Someone appended first, or leased first, or has used an event id. Load again and decide
    /// again; never repeat the same events.
    #[error("the log has moved on")]
    Conflict,
    /// The parent already has a child for this command.
    #[error("this command's child execution exists already: {child}")]
    ChildExists { child: ExecutionId },
    /// An execution was started under the same key, and the key is still kept.
    #[error("an execution was started under this key: {}", .0.execution)]
    KeyTaken(KeyHolder),
    /// Nobody knows whether it was written: the part of the store that keeps it did not answer. Look
    /// before anything is decided again.
    #[error("it is not known whether the append was written")]
    Unanswered(#[source] Unanswered),
}

/// Why an append got no answer. Many may share one reason.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct Unanswered(pub Arc<StoreError>);

/// Two are the same if they share their reason.
impl PartialEq for Unanswered {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Unanswered {}

impl From<StoreError> for AppendError {
    fn from(error: StoreError) -> Self {
        AppendError::Unanswered(Unanswered(Arc::new(error)))
    }
}
