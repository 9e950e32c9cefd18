//! Parked commands: the worker has started a job elsewhere, and the job's callback ends the command.
//!
//! A parked command has no lease. A worker cannot claim it, and only its callback, its timeout or a
//! cancellation ends it.

use noetl_model::{Attempt, CommandId, Event, Payload, TimerPurpose, WorkerId};

use super::draft::DecisionDraft;
use super::halt::Halt;
use super::task::EndRecord;
use super::{refused, repeated, superseded};
use crate::state::CommandHolder;
use crate::{CommandResult, Decision, Execution, Refusal};

/// Returns the command of a step that a callback ends: the first that is parked, otherwise the first
/// that a worker holds, because a callback can be faster than its worker. `job` is the job of the
/// callback, if the callback names it.
pub fn awaits_callback(
    state: &Execution,
    step: &str,
    job: Option<&str>,
) -> Result<CommandId, Refusal> {
    if let Some(job) = job.filter(|job| state.has_ended(job)) {
        return Err(Refusal::JobEnded(job.to_owned()));
    }
    if state.status.is_terminal() {
        return Err(Refusal::Finished(state.status));
    }
    let of_step = || state.commands.iter().filter(|(_, open)| open.step.as_str() == step);
    let mut parked =
        of_step().filter(|(_, open)| matches!(open.holder, CommandHolder::Callback { .. }));
    let mut held =
        of_step().filter(|(_, open)| matches!(open.holder, CommandHolder::Worker { .. }));
    let found = parked.next().or_else(|| held.next());
    found.map(|(command, _)| *command).ok_or_else(|| Refusal::NothingAwaited(step.to_owned()))
}

/// Parks a command that its worker holds.
pub(super) fn park(
    mut draft: DecisionDraft<'_>,
    command: CommandId,
    attempt: Attempt,
    worker: &WorkerId,
) -> Decision {
    let Some(open) = draft.state.commands.get(&command) else {
        return repeated(&draft.state, command, attempt, worker);
    };
    match &open.holder {
        CommandHolder::Worker { worker: holder, attempt: held, .. }
            if holder == worker && *held == attempt =>
        {
            draft.emit(Event::CommandParked { command, attempt, worker: worker.clone() });
            draft.limit_wait(command);
            Decision::Accepted(draft.into_events())
        }
        // The worker repeats what it has said before.
        CommandHolder::Callback { worker: holder, attempt: held, .. }
            if holder == worker && *held == attempt =>
        {
            Decision::Accepted(Vec::new())
        }
        CommandHolder::Worker { .. }
        | CommandHolder::Callback { .. }
        | CommandHolder::Nobody
        | CommandHolder::Child { .. }
        | CommandHolder::Wait { .. }
        | CommandHolder::Approval { .. } => superseded(command, attempt, worker),
    }
}

/// Ends a command by the callback of its job.
pub(super) fn call_back(
    mut draft: DecisionDraft<'_>,
    command: CommandId,
    job: Option<&str>,
    ended: &CommandResult,
) -> Result<Decision, Halt> {
    if let Some(job) = job.filter(|job| draft.state.has_ended(job)) {
        return Ok(refused(Refusal::JobEnded(job.to_owned())));
    }
    let Some(open) = draft.state.commands.get(&command) else {
        let is_unknown = command.0 >= draft.state.drawn.commands;
        let refusal = if is_unknown { Refusal::UnknownCommand } else { Refusal::CommandFinished };
        return Ok(refused(refusal(command)));
    };
    match open.holder {
        CommandHolder::Callback { .. } | CommandHolder::Worker { .. } => {}
        CommandHolder::Nobody
        | CommandHolder::Child { .. }
        | CommandHolder::Wait { .. }
        | CommandHolder::Approval { .. } => {
            return Ok(refused(Refusal::NotAwaited(command)));
        }
    }
    let end = EndRecord { job, ..EndRecord::of(open.attempt(), ended) };
    draft.command_ended(command, end)?;
    Ok(Decision::Accepted(draft.into_events()))
}

/// True if a report says only that its worker is done, which does not end a parked command.
pub(super) fn has_no_result(ended: &CommandResult) -> bool {
    match ended {
        CommandResult::Completed { output } => *output == Payload::null(),
        CommandResult::Failed { .. } => false,
    }
}

impl DecisionDraft<'_> {
    /// Sets the timer for the timeout of a parked task, which counts from the claim: no worker
    /// enforces it any more.
    fn limit_wait(&mut self, command: CommandId) {
        let Some(open) = self.state.commands.get(&command) else { return };
        let CommandHolder::Callback { claimed_at, .. } = open.holder else { return };
        let address = open.task;
        if let Some(timeout) = self.written_timeout(address) {
            let passed = self.state.event_time(self.given.now).since(claimed_at);
            let purpose = TimerPurpose::TaskTimeout { task: address };
            self.set_timer(timeout.saturating_sub(passed), purpose);
        }
    }
}
