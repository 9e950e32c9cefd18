//! The queue rules that every store follows: open commands, their leases, and staged changes.

use std::collections::BTreeMap;

use noetl_model::{Attempt, CommandId, Pool, Priority, Timestamp, WorkerId};

use crate::{AppendError, HeldAnswer, QueueChange};

/// A command that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCommand {
    pub pool: Pool,
    /// The name of the step, for display.
    pub step: String,
    pub priority: Priority,
    /// The number of times the command has been leased.
    pub attempt: Attempt,
    pub holder: Holder,
}

/// The holder of an open command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// No worker has leased the command yet.
    Nobody {
        since: Timestamp,
    },
    Worker {
        worker: WorkerId,
        lease_until: Timestamp,
    },
    /// The command waits for something other than a worker.
    Parked,
}

impl OpenCommand {
    /// Returns the time since which the command can be leased; `None` if it cannot be leased at
    /// `now`.
    pub fn ready_since(&self, now: Timestamp) -> Option<Timestamp> {
        match self.holder {
            Holder::Nobody { since } => Some(since),
            Holder::Worker { lease_until, .. } => (lease_until <= now).then_some(lease_until),
            Holder::Parked => None,
        }
    }

    /// Returns the answer to a heartbeat of `attempt`. An expired attempt is extended unless
    /// another attempt or a park has replaced it.
    pub fn answer(&self, attempt: Attempt) -> HeldAnswer {
        match self.holder {
            Holder::Worker { .. } if self.attempt == attempt => HeldAnswer::Extended,
            Holder::Worker { .. } | Holder::Nobody { .. } | Holder::Parked => {
                HeldAnswer::Superseded
            }
        }
    }
}

/// The resulting state of some commands of one execution, in the order they were first touched;
/// `None` for ended ones.
pub type StagedCommands = Vec<(CommandId, Option<OpenCommand>)>;

/// Applies `changes` to the commands of one execution and returns their resulting states. Conflicts
/// if a change presumes another state. `current` looks up the stored commands.
pub fn stage<'a>(
    changes: &[QueueChange],
    current: impl Fn(CommandId) -> Option<&'a OpenCommand>,
    now: Timestamp,
) -> Result<StagedCommands, AppendError> {
    let mut staged = StagedCommands::new();
    let mut places: BTreeMap<CommandId, usize> = BTreeMap::new();
    for change in changes {
        let command = change.command();
        match places.get(&command) {
            Some(&place) => staged[place].1 = changed(change, staged[place].1.as_ref(), now)?,
            None => {
                places.insert(command, staged.len());
                staged.push((command, changed(change, current(command), now)?));
            }
        }
    }
    Ok(staged)
}

fn changed(
    change: &QueueChange,
    current: Option<&OpenCommand>,
    now: Timestamp,
) -> Result<Option<OpenCommand>, AppendError> {
    match (change, current) {
        (QueueChange::Add { command: _, pool, step, priority, is_parked }, None) => {
            let holder = if *is_parked { Holder::Parked } else { Holder::Nobody { since: now } };
            Ok(Some(OpenCommand {
                pool: pool.clone(),
                step: step.clone(),
                priority: *priority,
                attempt: Attempt(0),
                holder,
            }))
        }
        (QueueChange::Lease { command: _, attempt, worker, lease }, Some(open))
            if open.attempt.next() == *attempt && open.ready_since(now).is_some() =>
        {
            let holder = Holder::Worker { worker: worker.clone(), lease_until: now.after(*lease) };
            Ok(Some(OpenCommand { attempt: *attempt, holder, ..open.clone() }))
        }
        (QueueChange::Park { .. }, Some(open)) => {
            Ok(Some(OpenCommand { holder: Holder::Parked, ..open.clone() }))
        }
        (QueueChange::Unpark { .. }, Some(open))
            if open.holder == Holder::Parked && open.attempt == Attempt(0) =>
        {
            Ok(Some(OpenCommand { holder: Holder::Nobody { since: now }, ..open.clone() }))
        }
        (QueueChange::Expire { command: _, attempt }, Some(open))
            if open.attempt == *attempt && open.ready_since(now).is_some() =>
        {
            Ok(None)
        }
        (QueueChange::Remove { .. }, _) => Ok(None),
        (QueueChange::Add { .. }, Some(_))
        | (
            QueueChange::Lease { .. } | QueueChange::Unpark { .. } | QueueChange::Expire { .. },
            _,
        )
        | (QueueChange::Park { .. }, None) => Err(AppendError::Conflict),
    }
}
