//! The times of a command that has ended, for metrics.

use std::time::Duration;

use noetl_model::{CommandId, Event, Pool, Priority, Recorded, ToolKind};

use crate::Execution;
use crate::state::CommandHolder;

/// The way in which a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandOutcome {
    Completed,
    Failed,
    Cancelled,
}

impl CommandOutcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            CommandOutcome::Completed => "completed",
            CommandOutcome::Failed => "failed",
            CommandOutcome::Cancelled => "cancelled",
        }
    }
}

/// The times of a command that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTiming {
    pub tool: ToolKind,
    pub pool: Pool,
    pub priority: Priority,
    pub end: CommandOutcome,
    /// The time from the issue to the claim by the last worker; `None` if no worker claimed it.
    pub queued: Option<Duration>,
    /// The time from that claim, the start of the child or the start of the wait to the end; `None`
    /// if the command ended before.
    pub ran: Option<Duration>,
}

/// Returns the times of the command that an event ends, given the execution before the event.
pub fn command_timing(before: &Execution, recorded: &Recorded) -> Option<CommandTiming> {
    let (command, end) = command_end(&recorded.event)?;
    let open = before.commands.get(&command)?;
    let (since, is_claimed) = match &open.holder {
        CommandHolder::Nobody => (None, false),
        CommandHolder::Worker { since, .. } | CommandHolder::Callback { claimed_at: since, .. } => {
            (Some(*since), true)
        }
        CommandHolder::Child { since, .. }
        | CommandHolder::Wait { since, .. }
        | CommandHolder::Approval { since, .. } => (Some(*since), false),
    };
    Some(CommandTiming {
        tool: open.tool,
        pool: open.pool.clone(),
        priority: before.priority,
        end,
        queued: since.filter(|_| is_claimed).map(|since| since.since(open.issued_at)),
        ran: since.map(|since| recorded.at.since(since)),
    })
}

/// Returns the command that an event ends, and how.
fn command_end(event: &Event) -> Option<(CommandId, CommandOutcome)> {
    if let Event::CommandCompleted { command, .. } = event {
        return Some((*command, CommandOutcome::Completed));
    }
    if let Event::CommandFailed { command, .. } = event {
        return Some((*command, CommandOutcome::Failed));
    }
    if let Event::CommandCancelled { command, .. } = event {
        return Some((*command, CommandOutcome::Cancelled));
    }
    None
}
