//! An open command and what may happen to it: the rules every store's queue follows.

use std::collections::BTreeMap;

use noetl_model::{Attempt, CommandId, Pool, Timestamp, WorkerId};

use crate::{AppendError, HeldAnswer, QueueChange};

/// A command that is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCommand {
    pub pool: Pool,
    /// For people.
    pub step: String,
    /// How often it has been leased.
    pub attempt: Attempt,
    pub holder: Holder,
}

/// Who has an open command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// Nobody yet: it waits for a worker.
    Nobody {
        since: Timestamp,
    },
    Worker {
        worker: WorkerId,
        lease_until: Timestamp,
    },
    /// Something other than a worker.
    Parked,
}

impl OpenCommand {
    /// Since when the command can be leased; `None` if it cannot be at `now`.
    pub fn ready_since(&self, now: Timestamp) -> Option<Timestamp> {
        match self.holder {
            Holder::Nobody { since } => Some(since),
            Holder::Worker { lease_until, .. } => (lease_until <= now).then_some(lease_until),
            Holder::Parked => None,
        }
    }

    /// What the holder of `attempt` is told; an attempt that ran out is welcome until it is
    /// superseded.
    pub fn answer(&self, attempt: Attempt) -> HeldAnswer {
        match self.holder {
            Holder::Worker { .. } if self.attempt == attempt => HeldAnswer::Extended,
            Holder::Worker { .. } | Holder::Nobody { .. } | Holder::Parked => {
                HeldAnswer::Superseded
            }
        }
    }
}

/// What becomes of some commands of one execution: their last state, or `None` for those that are
/// over, in the order in which they were first touched.
pub type StagedCommands = Vec<(CommandId, Option<OpenCommand>)>;

/// What `changes` make of the commands of one execution, or a conflict if they rest on a command
/// that is not so. `current` answers for the commands as they are.
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
        (QueueChange::Add { command: _, pool, step }, None) => Ok(Some(OpenCommand {
            pool: pool.clone(),
            step: step.clone(),
            attempt: Attempt(0),
            holder: Holder::Nobody { since: now },
        })),
        (QueueChange::Lease { command: _, attempt, worker, lease }, Some(open))
            if open.attempt.next() == *attempt && open.ready_since(now).is_some() =>
        {
            let holder = Holder::Worker { worker: worker.clone(), lease_until: now.after(*lease) };
            Ok(Some(OpenCommand { attempt: *attempt, holder, ..open.clone() }))
        }
        (QueueChange::Park { .. }, Some(open)) => {
            Ok(Some(OpenCommand { holder: Holder::Parked, ..open.clone() }))
        }
        (QueueChange::Expire { command: _, attempt }, Some(open))
            if open.attempt == *attempt && open.ready_since(now).is_some() =>
        {
            Ok(None)
        }
        (QueueChange::Remove { .. }, _) => Ok(None),
        (QueueChange::Add { .. }, Some(_))
        | (QueueChange::Lease { .. } | QueueChange::Expire { .. }, _)
        | (QueueChange::Park { .. }, None) => Err(AppendError::Conflict),
    }
}
