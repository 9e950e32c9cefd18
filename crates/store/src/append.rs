//! The write side of the store: an append, its queue and timer changes, and its errors.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use noetl_model::{
    Attempt, CommandId, Digest, ExecutionId, ForkPoint, IndexChange, Message, Parent, Pool,
    Priority, Recorded, Seq, Summary, TimerId, Timestamp, WorkerId,
};

use crate::{CommandKey, KeyHolder, StartKey, StoreError};

/// All changes that one decision makes to one execution, written atomically.
#[derive(Debug, Clone)]
pub struct Append {
    pub execution: ExecutionId,
    /// The seq of the last event the decision has read: [`Seq::ZERO`] starts an execution, and the
    /// seq of the fork point starts a fork.
    pub expected: Seq,
    /// The new events, numbered from `expected + 1` on.
    pub events: Vec<Recorded>,
    /// The summary of the execution after the last of `events`.
    pub summary: Summary,
    pub queue: Vec<QueueChange>,
    pub timers: Vec<TimerChange>,
    pub outbox: Vec<Message>,
    /// Changes to the index entries of the execution, in order.
    pub index: Vec<IndexChange>,
    /// Large values that the events refer to, as JSON bytes by digest. Storing a value twice is
    /// allowed.
    pub payloads: Vec<(Digest, Arc<Vec<u8>>)>,
    /// The start key of a new execution; ignored if the execution exists.
    pub key: Option<StartKey>,
}

impl Append {
    /// Returns the start key if this append starts an execution.
    pub fn start_key_used(&self) -> Option<&StartKey> {
        self.key.as_ref().filter(|_| self.expected == self.begins_after())
    }

    /// True if the append can be written without reading other rows: no start key, no start of a
    /// child or a fork, and no lease, park, unpark or expiry of a command that this append does not add.
    pub fn needs_no_rows(&self) -> bool {
        self.start_key_used().is_none() && self.needs_only_its_key()
    }

    /// True if the start key is the only row that may have to be read before writing.
    pub fn needs_only_its_key(&self) -> bool {
        if self.starts_child_of().is_some() || self.starts_fork_at().is_some() {
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
            | QueueChange::Unpark { command }
            | QueueChange::Expire { command, .. } => added.contains(command),
            QueueChange::Remove { .. } => true,
        })
    }

    /// Returns the parent command if this append starts a child execution.
    pub fn starts_child_of(&self) -> Option<CommandKey> {
        let parent = self.summary.parent.and_then(Parent::command)?;
        (self.expected == self.begins_after()).then_some((parent.execution, parent.command))
    }

    /// Returns the fork point if this append starts a fork. Conflicts unless the origin has the
    /// event of the fork point, with the digest that the fork's first event names: after a restore
    /// of the database the origin may be gone or may have another history.
    pub fn starts_fork_at(&self) -> Option<ForkPoint> {
        self.summary.fork.filter(|point| self.expected == point.seq)
    }

    /// Returns the seq after which this execution's own log begins: zero, or the fork point of a
    /// fork.
    pub(crate) fn begins_after(&self) -> Seq {
        self.summary.fork.map_or(Seq::ZERO, |fork| fork.seq)
    }

    /// True if the first event's `prev` is `head`, or if either of them is unknown.
    pub fn follows(&self, head: Option<Digest>) -> bool {
        let prev = self.events.first().and_then(|event| event.prev);
        head.zip(prev).is_none_or(|(head, prev)| head == prev)
    }

    /// Returns the seq of the last event after this append; `None` if the events are not numbered
    /// from `expected + 1` on.
    pub fn last_seq(&self) -> Option<Seq> {
        self.events
            .iter()
            .try_fold(self.expected, |last, event| (event.seq == last.next()).then_some(event.seq))
    }
}

/// A change to the queue of open commands.
#[derive(Debug, Clone, PartialEq)]
pub enum QueueChange {
    /// Adds a command, which can be leased at once unless it is parked; `step` is for display.
    /// Conflicts if the command exists.
    Add { command: CommandId, pool: Pool, step: String, priority: Priority, is_parked: bool },
    /// Leases the command to a worker for `lease` from now on, by the store's clock. Conflicts
    /// unless the row's attempt is `attempt - 1` and no lease on the command is active.
    Lease { command: CommandId, attempt: Attempt, worker: WorkerId, lease: Duration },
    /// Makes the command unavailable for leases while it waits for something else, such as a child
    /// execution. Conflicts if the command is not open.
    Park { command: CommandId },
    /// Makes a parked command that was never leased available for leases from now on. Conflicts if
    /// the command is not parked or was leased.
    Unpark { command: CommandId },
    /// Gives up the command because the lease of this attempt has expired. Conflicts if that lease
    /// is active or is not the latest.
    Expire { command: CommandId, attempt: Attempt },
    /// Removes an ended command. Removing a missing command is allowed.
    Remove { command: CommandId },
}

impl QueueChange {
    /// Returns the id of the changed command.
    pub fn command(&self) -> CommandId {
        match *self {
            QueueChange::Add { command, .. }
            | QueueChange::Lease { command, .. }
            | QueueChange::Park { command }
            | QueueChange::Unpark { command }
            | QueueChange::Expire { command, .. }
            | QueueChange::Remove { command } => command,
        }
    }
}

/// A change to the durable timers. Setting a timer again moves it; removing a missing timer is
/// allowed.
#[derive(Debug, Clone, PartialEq)]
pub enum TimerChange {
    Set { timer: TimerId, due_at: Timestamp },
    Remove { timer: TimerId },
}

/// The reason an append was rejected or has an unknown outcome. An append is never written in part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Another writer appended or leased first, or an event id is taken. The caller loads and
    /// decides again, and never repeats the same events.
    #[error("the log has moved on")]
    Conflict,
    /// The parent command already has a child execution.
    #[error("this command's child execution exists already: {child}")]
    ChildExists { child: ExecutionId },
    /// An execution was started under the same key, and the key has not expired.
    #[error("an execution was started under this key: {}", .0.execution)]
    KeyTaken(KeyHolder),
    /// The outcome is unknown because the responsible part of the store did not answer. The caller
    /// reads the log before it decides again.
    #[error("it is not known whether the append was written")]
    Unanswered(#[source] Unanswered),
}

/// The store error that left an append without an answer, shared by all appends of a batch.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct Unanswered(pub Arc<StoreError>);

/// Two values are equal if they share one error instance.
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
