//! Decisions: the events that follow from an input.
//!
//! A decision works on a copy of the state and folds every event as it is made, so that the rest of
//! the decision sees its effect.

mod draft;
mod end;
mod fork;
mod halt;
mod join;
mod loops;
mod park;
mod step;
mod task;
mod wait;

use std::time::Duration;

use noetl_model::{
    Attempt, CommandId, ErrorKind, ErrorMode, Event, EventId, ExecutionId, Logs, PlaybookRef,
    Recorded, Seq, ToolError, WorkerId,
};
use serde_json::Value;

use crate::evolve::begin;
use crate::state::{CommandHolder, CommandState};
use crate::value::merge;
use crate::{CommandResult, Decision, DecisionArgs, Execution, Input, Needs, Refusal, StartInput};

use draft::DecisionDraft;
pub use fork::{Changes, Fork, Unforkable, changed, fits, fork};
use halt::{Halt, give_up, give_up_start, settle};
pub use park::awaits_callback;
use task::EndRecord;
pub use wait::{SIGNALS_MAX, Signal};

/// Decides the first events of an execution.
pub fn start(
    execution: ExecutionId,
    playbook: &PlaybookRef,
    input: &StartInput,
    given: DecisionArgs<'_>,
) -> Result<Decision, Needs> {
    let mut workload = given.playbook.workload.clone();
    merge(&mut workload, &input.payload);
    let error_mode = input.error_mode.or(given.playbook.error_mode).unwrap_or(ErrorMode::Strict);
    let started = Recorded {
        seq: Seq(1),
        event_id: EventId(0),
        at: given.now,
        event: Event::ExecutionStarted {
            playbook: playbook.clone(),
            workload: noetl_model::Payload::inline(Value::Object(workload)),
            origin: input.origin.clone(),
            error_mode,
            pool: input.pool.clone(),
            trace: input.trace.clone(),
        },
        prev: None,
    };
    let state = begin(execution, &started).expect("a start begins an execution");
    let opened = || DecisionDraft::new(state.clone(), given, vec![started.event.clone()]);
    let mut draft = opened();
    let begun = draft.begin();
    let decided = begun.map(|()| Decision::Accepted(draft.into_events()));
    settle(decided, given.effort, |exceeded| give_up_start(opened(), exceeded))
}

/// Decides the events that follow from `input` in the given state.
///
/// Pure: the same arguments give the same events.
pub fn decide(
    state: &Execution,
    input: &Input,
    given: DecisionArgs<'_>,
) -> Result<Decision, Needs> {
    let decided = follow(state, input, given);
    settle(decided, given.effort, |exceeded| give_up(state, input, given, exceeded))
}

/// Dispatches an input to its decision.
fn follow(state: &Execution, input: &Input, given: DecisionArgs<'_>) -> Result<Decision, Halt> {
    if state.status.is_terminal() {
        return Ok(after_the_end(state, input));
    }
    let draft = || DecisionDraft::new(state.clone(), given, Vec::new());
    match input {
        Input::Claim { command, attempt, worker, lease, after } => {
            claim(draft(), *command, *attempt, worker, (*lease, *after))
        }
        Input::Report { command, attempt, worker, ended, logs } => {
            report(draft(), *command, *attempt, worker, (ended, logs))
        }
        Input::Park { command, attempt, worker } => {
            Ok(park::park(draft(), *command, *attempt, worker))
        }
        Input::Callback { command, job, ended } => {
            park::call_back(draft(), *command, job.as_deref(), ended)
        }
        Input::LeaseExhausted { command, attempt } => lease_exhausted(draft(), *command, *attempt),
        Input::ChildStarted { command, child } => Ok(child_started(draft(), *command, *child)),
        Input::ChildEnded { command, ended } => child_ended(draft(), *command, ended),
        Input::TimerFired { timer } => draft().timer_fired(*timer),
        Input::Signal(signal) => wait::receive(draft(), signal),
        Input::Cancel { reason, below } => Ok(draft().cancel(reason, *below)),
        Input::Finalize { status, reason } => Ok(draft().finalize(*status, reason)),
        Input::Stalled { detail } => draft().stalled(detail),
        Input::NotClaimed { command, detail } => Ok(not_claimed(state, *command, detail)),
        Input::Rewound { seen, found } => Ok(rewound(*seen, *found)),
        Input::Reported { name, step, body } => Ok(Decision::Accepted(vec![Event::Reported {
            name: name.clone(),
            step: step.clone(),
            body: body.clone(),
        }])),
    }
}

fn refused(refusal: Refusal) -> Decision {
    Decision::Refused { refusal, recorded: Vec::new() }
}

/// Decides an input to an ended execution: late facts are recorded, repeated reports are accepted
/// without events, everything else is refused.
fn after_the_end(state: &Execution, input: &Input) -> Decision {
    match input {
        Input::Report { command, attempt, worker, .. }
        | Input::Park { command, attempt, worker } => repeated(state, *command, *attempt, worker),
        Input::Reported { name, step, body } => Decision::Accepted(vec![Event::Reported {
            name: name.clone(),
            step: step.clone(),
            body: body.clone(),
        }]),
        Input::Stalled { .. } => Decision::Accepted(Vec::new()),
        Input::NotClaimed { command, detail } => not_claimed(state, *command, detail),
        Input::Rewound { seen, found } => rewound(*seen, *found),
        Input::Claim { .. }
        | Input::LeaseExhausted { .. }
        | Input::Callback { .. }
        | Input::ChildStarted { .. }
        | Input::ChildEnded { .. }
        | Input::TimerFired { .. }
        | Input::Signal(_)
        | Input::Cancel { .. }
        | Input::Finalize { .. } => refused(Refusal::Finished(state.status)),
    }
}

/// Records that no worker gets a command although it is ready or, if it has ended, that it is still
/// in the queue.
fn not_claimed(state: &Execution, command: CommandId, detail: &str) -> Decision {
    let detail = match state.commands.get(&command) {
        // A worker claimed it meanwhile.
        Some(CommandState {
            holder:
                CommandHolder::Worker { .. }
                | CommandHolder::Child { .. }
                | CommandHolder::Callback { .. }
                | CommandHolder::Wait { .. },
            ..
        }) => {
            return Decision::Accepted(Vec::new());
        }
        Some(CommandState { holder: CommandHolder::Nobody, .. }) => detail.to_owned(),
        None => format!("{detail}; by the log it has ended"),
    };
    Decision::Accepted(vec![Event::ExecutionStalled { detail }])
}

fn rewound(seen: Seq, found: Seq) -> Decision {
    Decision::Accepted(vec![Event::ExecutionRewound { seen, found }])
}

/// Decides a report about a command that is not open.
fn repeated(
    state: &Execution,
    command: CommandId,
    attempt: Attempt,
    worker: &WorkerId,
) -> Decision {
    if command.0 >= state.drawn.commands {
        return refused(Refusal::UnknownCommand(command));
    }
    let ended_by = state.contested.get(&command).copied().unwrap_or(Attempt(1));
    if attempt == ended_by {
        // Workers report at least once, so a repeated report is normal and changes nothing.
        return Decision::Accepted(Vec::new());
    }
    superseded(command, attempt, worker)
}

fn superseded(command: CommandId, attempt: Attempt, worker: &WorkerId) -> Decision {
    Decision::Refused {
        refusal: Refusal::Superseded { command, attempt },
        recorded: vec![Event::AttemptSuperseded { command, attempt, worker: worker.clone() }],
    }
}

fn claim(
    mut draft: DecisionDraft<'_>,
    command: CommandId,
    attempt: Attempt,
    worker: &WorkerId,
    (lease, after): (Duration, Option<CommandId>),
) -> Result<Decision, Halt> {
    let Some(open) = draft.state.commands.get(&command) else {
        return Ok(refused(Refusal::CommandFinished(command)));
    };
    let held = open.attempt();
    if open.is_parked() || attempt != held.next() {
        return Ok(refused(Refusal::AlreadyClaimed(command)));
    }
    if attempt.0 > draft.given.attempts_max {
        return lease_exhausted(draft, command, held);
    }
    let lease_until = draft.state.event_time(draft.given.now).after(lease);
    draft.emit(Event::CommandClaimed {
        command,
        attempt,
        worker: worker.clone(),
        lease_until,
        after,
    });
    Ok(Decision::Accepted(draft.into_events()))
}

fn report(
    mut draft: DecisionDraft<'_>,
    command: CommandId,
    attempt: Attempt,
    worker: &WorkerId,
    (ended, logs): (&CommandResult, &Logs),
) -> Result<Decision, Halt> {
    let Some(open) = draft.state.commands.get(&command) else {
        return Ok(repeated(&draft.state, command, attempt, worker));
    };
    match &open.holder {
        // An expired lease that was not taken over is still valid: the work is done.
        CommandHolder::Worker { worker: holder, attempt: held, .. }
            if holder == worker && *held == attempt => {}
        CommandHolder::Callback { worker: holder, attempt: held, .. }
            if holder == worker && *held == attempt =>
        {
            if park::has_no_result(ended) {
                return Ok(Decision::Accepted(Vec::new()));
            }
        }
        CommandHolder::Worker { .. }
        | CommandHolder::Callback { .. }
        | CommandHolder::Nobody
        | CommandHolder::Child { .. }
        | CommandHolder::Wait { .. } => return Ok(superseded(command, attempt, worker)),
    }
    draft.command_ended(
        command,
        EndRecord { logs: logs.clone(), ..EndRecord::of(attempt, ended) },
    )?;
    Ok(Decision::Accepted(draft.into_events()))
}

fn lease_exhausted(
    mut draft: DecisionDraft<'_>,
    command: CommandId,
    attempt: Attempt,
) -> Result<Decision, Halt> {
    let open = draft.state.commands.get(&command).filter(|open| !open.is_parked());
    let held = open.map(|open| open.attempt());
    if held != Some(attempt) || attempt.0 < draft.given.attempts_max {
        return Ok(Decision::Accepted(Vec::new()));
    }
    // An attempt number that no worker has, so that a late report of the last worker is superseded.
    let late = attempt.next();
    draft.command_ended(command, EndRecord::of(late, &lost_workers(late)))?;
    Ok(Decision::Accepted(draft.into_events()))
}

/// Returns the failure of a command whose workers were lost in all attempts before `attempt`.
fn lost_workers(attempt: Attempt) -> CommandResult {
    let lost = attempt.0.saturating_sub(1);
    let message = format!(
        "the worker process ended or stopped answering {lost} times while it ran this command, \
         which is the limit; the log of the worker, or of its machine, tells why"
    );
    CommandResult::Failed { error: ToolError::new(ErrorKind::WorkerLost, message), output: None }
}

fn child_started(mut draft: DecisionDraft<'_>, command: CommandId, child: ExecutionId) -> Decision {
    match draft.state.commands.get(&command).map(|open| &open.holder) {
        None => refused(Refusal::CommandFinished(command)),
        Some(CommandHolder::Child { execution, .. }) if *execution == child => {
            Decision::Accepted(Vec::new())
        }
        Some(
            CommandHolder::Child { .. }
            | CommandHolder::Worker { .. }
            | CommandHolder::Callback { .. }
            | CommandHolder::Wait { .. },
        ) => refused(Refusal::AlreadyClaimed(command)),
        Some(CommandHolder::Nobody) => {
            draft.emit(Event::ChildStarted { command, child });
            Decision::Accepted(draft.into_events())
        }
    }
}

fn child_ended(
    mut draft: DecisionDraft<'_>,
    command: CommandId,
    ended: &CommandResult,
) -> Result<Decision, Halt> {
    if !draft.state.commands.contains_key(&command) {
        // The end was reported before, or the command was cancelled meanwhile.
        return Ok(Decision::Accepted(Vec::new()));
    }
    draft.command_ended(command, EndRecord::of(Attempt(1), ended))?;
    Ok(Decision::Accepted(draft.into_events()))
}
