//! Finds a command and its worker by the event that issued the command.

use noetl_engine::Possession;
use noetl_model::{
    Attempt, Bindings, CommandId, Event, EventId, ExecutionId, Pool, Recorded, StepName, ToolKind,
    WorkerId,
};
use noetl_store::READ_EVENTS_MAX;

use crate::error::ApiError;
use crate::state::AppState;

/// A command with the event that issued it.
#[derive(Debug, Clone)]
pub(crate) struct Issued {
    pub(crate) execution: ExecutionId,
    pub(crate) recorded: Recorded,
    pub(crate) command: CommandId,
    pub(crate) step: StepName,
    pub(crate) tool: ToolKind,
    pub(crate) pool: Pool,
    pub(crate) bindings: Bindings,
}

pub(crate) async fn find_issued(state: &AppState, event: EventId) -> Result<Issued, ApiError> {
    let unknown =
        || ApiError::not_found("unknown-command", format!("event {event} issued no command"));
    let (execution, recorded) = state.store().find(event).await?.ok_or_else(unknown)?;
    let Event::CommandIssued { command, step, tool, pool, bindings, task: _ } =
        recorded.event.clone()
    else {
        return Err(unknown());
    };
    Ok(Issued { execution, recorded, command, step, tool, pool, bindings })
}

/// Returns the attempt, and its worker, under which `by` (or the last worker) holds or held a
/// command.
pub(crate) async fn attempt_of(
    state: &AppState,
    issued: &Issued,
    by: Option<&WorkerId>,
) -> Result<Option<(Attempt, WorkerId)>, ApiError> {
    let possession = state.control().possession(issued.execution, issued.command, by).await?;
    match (possession, by) {
        (Possession::Worker { worker, attempt, .. }, None) => Ok(Some((attempt, worker))),
        (Possession::Worker { worker, attempt, .. }, Some(by)) if worker == *by => {
            Ok(Some((attempt, worker)))
        }
        (Possession::Ended, Some(by)) => Ok(Some((Attempt(1), by.clone()))),
        (Possession::Nobody | Possession::Unknown, _) => Ok(None),
        (Possession::Worker { .. } | Possession::Ended | Possession::EndedContested, _) => {
            attempt_in_log(state, issued, by).await
        }
    }
}

/// Finds the attempt in the event log, for a command that several workers have held or whose last
/// worker is not named.
async fn attempt_in_log(
    state: &AppState,
    issued: &Issued,
    by: Option<&WorkerId>,
) -> Result<Option<(Attempt, WorkerId)>, ApiError> {
    let (mut after, mut latest) = (issued.recorded.seq, None);
    loop {
        let page = state.control().events(issued.execution, after, READ_EVENTS_MAX).await?;
        for recorded in &page {
            if let Event::CommandClaimed { command, attempt, worker, .. } = &recorded.event
                && *command == issued.command
                && by.is_none_or(|by| by == worker)
            {
                latest = Some((*attempt, worker.clone()));
            }
        }
        match page.last() {
            Some(last) => after = last.seq,
            None => return Ok(latest),
        }
    }
}

/// Returns the event id in a public command id: `<execution>:<step>:<event>[:i<index>]`.
pub(crate) fn issued_by(command_id: &str) -> Option<EventId> {
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
