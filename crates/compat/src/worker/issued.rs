//! A command by the event that issued it, as existing workers name commands, and the attempt under
//! which a worker holds it: existing workers do not name their attempt.

use noetl_engine::HolderStatus;
use noetl_model::{
    Attempt, Bindings, CommandId, Event, EventId, ExecutionId, Pool, Recorded, StepName, ToolKind,
    WorkerId,
};

/// A command with the event that issued it.
#[derive(Debug, Clone)]
pub struct Issued {
    pub execution: ExecutionId,
    pub recorded: Recorded,
    pub command: CommandId,
    pub step: StepName,
    pub tool: ToolKind,
    pub pool: Pool,
    pub bindings: Bindings,
}

impl Issued {
    /// Returns the command that an event issued; `None` for other events.
    pub fn of(execution: ExecutionId, recorded: Recorded) -> Option<Self> {
        let Event::CommandIssued { command, step, tool, pool, bindings, task: _, cache: _ } =
            recorded.event.clone()
        else {
            return None;
        };
        Some(Self { execution, recorded, command, step, tool, pool, bindings })
    }
}

/// The place where the attempt of a worker is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptSource {
    /// The state names the attempt and its worker.
    Known(Attempt, WorkerId),
    /// The worker has never held the command.
    Never,
    /// Several workers have held the command, or its last worker is not named: the log has it.
    Log,
}

impl AttemptSource {
    /// Decides where to find the attempt under which `by` (or the last worker) holds or held a
    /// command.
    pub fn of(holder: HolderStatus, by: Option<&WorkerId>) -> Self {
        match (holder, by) {
            (
                HolderStatus::Worker { worker, attempt, .. }
                | HolderStatus::Callback { worker, attempt },
                by,
            ) if by.is_none_or(|by| worker == *by) => Self::Known(attempt, worker),
            (HolderStatus::Ended, Some(by)) => Self::Known(Attempt(1), by.clone()),
            (HolderStatus::Nobody | HolderStatus::Unknown, _) => Self::Never,
            (
                HolderStatus::Worker { .. }
                | HolderStatus::Callback { .. }
                | HolderStatus::Ended
                | HolderStatus::EndedContested,
                _,
            ) => Self::Log,
        }
    }
}

/// The latest claim of a command by a worker (or by any), as a fold over the log.
#[derive(Debug)]
pub struct LatestClaim<'a> {
    command: CommandId,
    by: Option<&'a WorkerId>,
    found: Option<(Attempt, WorkerId)>,
}

impl<'a> LatestClaim<'a> {
    pub fn new(command: CommandId, by: Option<&'a WorkerId>) -> Self {
        Self { command, by, found: None }
    }

    /// Folds one event, in log order.
    pub fn see(&mut self, recorded: &Recorded) {
        if let Event::CommandClaimed { command, attempt, worker, .. } = &recorded.event
            && *command == self.command
            && self.by.is_none_or(|by| by == worker)
        {
            self.found = Some((*attempt, worker.clone()));
        }
    }

    pub fn finish(self) -> Option<(Attempt, WorkerId)> {
        self.found
    }
}

/// Returns the event id in a public command id: `<execution>:<step>:<event>[:i<index>]`.
pub fn issued_by(command_id: &str) -> Option<EventId> {
    let parts: Vec<&str> = command_id.split(':').collect();
    let (last, rest) = parts.split_last()?;
    let is_index = last.strip_prefix('i').is_some_and(|index| index.parse::<u64>().is_ok());
    let event = if is_index { rest.last()? } else { last };
    event.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command_id: &str, expected: Option<i64>) {
        assert_eq!(issued_by(command_id), expected.map(EventId), "{command_id}");
    }

    #[test]
    fn a_command_id_ends_with_the_event_that_issued_it() {
        check("1:start:2", Some(2));
        check("1:a step: with colons:2", Some(2));
    }

    #[test]
    fn an_item_of_a_loop_has_its_index_behind_the_event() {
        check("1:start:2:i7", Some(2));
    }

    #[test]
    fn anything_else_names_no_event() {
        for id in ["", "1:start:", "start", "1:start:x", "i7"] {
            check(id, None);
        }
    }
}
