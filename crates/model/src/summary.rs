//! One row about each execution, written with its events, so that lists and details cannot disagree.

use serde::{Deserialize, Serialize};

use crate::{
    CommandId, Digest, ExecutionId, ExecutionStatus, PlaybookRef, Seq, StepName, Timestamp,
    ToolError,
};

/// The command of another execution that an execution was started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentCommand {
    pub execution: ExecutionId,
    pub command: CommandId,
}

/// The execution above another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parent {
    /// One of its commands waits for the end of this one.
    Command(ParentCommand),
    /// A request has named it; nothing there waits.
    Named { execution: ExecutionId },
}

impl Parent {
    /// As it is kept: an execution, and the command of it that waits, if one does.
    pub fn of(execution: ExecutionId, command: Option<CommandId>) -> Self {
        match command {
            Some(command) => Self::Command(ParentCommand { execution, command }),
            None => Self::Named { execution },
        }
    }

    pub fn execution(self) -> ExecutionId {
        match self {
            Self::Command(ParentCommand { execution, .. }) | Self::Named { execution } => execution,
        }
    }

    /// The command that waits, if one does.
    pub fn command(self) -> Option<ParentCommand> {
        match self {
            Self::Command(command) => Some(command),
            Self::Named { .. } => None,
        }
    }
}

/// An event of another execution, up to and including which an execution's past is the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    pub execution: ExecutionId,
    pub seq: Seq,
}

/// How many steps have reached which status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCounts {
    /// Steps entered at least once.
    pub total: u32,
    pub running: u32,
    pub completed: u32,
    pub failed: u32,
}

/// How far loops have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemCounts {
    /// As far as is known: a cursor brings its items little by little.
    pub total: u64,
    pub completed: u64,
    pub failed: u64,
}

impl ItemCounts {
    /// The counts of these and those.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            completed: self.completed + other.completed,
            failed: self.failed + other.failed,
        }
    }
}

/// An execution at a glance: the fold of its log up to `seq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub execution: ExecutionId,
    pub playbook: PlaybookRef,
    pub status: ExecutionStatus,
    pub seq: Seq,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub parent: Option<Parent>,
    /// The step entered last.
    pub current_step: Option<StepName>,
    pub steps: StepCounts,
    /// The items of every loop that was begun.
    pub items: ItemCounts,
    pub error: Option<ToolError>,
    /// The digest of its last event; none if that was written before there were digests.
    pub head: Option<Digest>,
    /// Where it left the execution whose past it shares.
    pub fork: Option<ForkPoint>,
}
