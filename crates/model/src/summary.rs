//! The summary of an execution: one row, written together with its events, so that lists and
//! details agree.

use serde::{Deserialize, Serialize};

use crate::{
    Actor, CommandId, Digest, ExecutionId, ExecutionStatus, Labels, PlaybookRef, Seq, StepName,
    Timestamp, ToolError,
};

/// The command of a parent execution that an execution was started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentCommand {
    pub execution: ExecutionId,
    pub command: CommandId,
}

/// The parent of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parent {
    /// A command of the parent waits for the end of this execution.
    Command(ParentCommand),
    /// A request named the parent; no command of it waits.
    Named { execution: ExecutionId },
}

impl Parent {
    /// Returns a parent from its stored form: the execution and, if one waits, the command.
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

    /// Returns the command that waits for this execution.
    pub fn command(self) -> Option<ParentCommand> {
        match self {
            Self::Command(command) => Some(command),
            Self::Named { .. } => None,
        }
    }
}

/// The last event that a fork shares with its origin execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ForkPoint {
    pub execution: ExecutionId,
    pub seq: Seq,
}

/// The number of steps in each status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCounts {
    /// Steps entered at least once.
    pub total: u32,
    pub running: u32,
    pub completed: u32,
    pub failed: u32,
}

/// The progress of loops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemCounts {
    /// The items known so far; a cursor loop fetches its items in frames.
    pub total: u64,
    pub completed: u64,
    pub failed: u64,
}

impl ItemCounts {
    /// Returns the sums of both counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            completed: self.completed + other.completed,
            failed: self.failed + other.failed,
        }
    }
}

/// The summary of an execution: the fold of its log up to `seq`.
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
    /// The items of all loops that were opened.
    pub items: ItemCounts,
    pub error: Option<ToolError>,
    /// The digest of the last event; `None` for logs stored without digests.
    pub head: Option<Digest>,
    /// For a fork, the last event shared with its origin.
    pub fork: Option<ForkPoint>,
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// The person or program that requested the start or, for a fork, the fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
}
