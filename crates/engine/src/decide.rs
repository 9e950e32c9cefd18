//! Decisions: the events that follow from an input.
//!
//! A decision works on a copy of the state and folds every event as it is made, so that the rest of
//! the decision sees its effect.

mod approval;
mod cache;
mod draft;
mod end;
mod fork;
mod halt;
mod join;
mod labels;
mod loops;
mod notice;
mod park;
mod pause;
mod slot;
mod step;
mod task;
mod wait;

use std::time::Duration;

use noetl_model::{
    Attempt, CommandId, ErrorKind, ErrorMode, Event, EventId, ExecutionId, Labels, Logs, Origin,
    PlaybookRef, Recorded, SCHEDULE_KEY, Seq, ToolError, WorkerId,
};
use noetl_playbook::{InputProblems, Playbook, RunPromise};
use serde_json::{Map, Value};

use crate::evolve::begin;
use crate::state::{CommandHolder, CommandState};
use crate::value::merge;
use crate::{CommandResult, Decision, DecisionArgs, Execution, Input, Needs, Refusal, StartInput};

pub use approval::ApprovalDecision;
pub use cache::{CachedOutput, OutputLookup};
use draft::DecisionDraft;
pub use fork::{Changes, Fork, Unforkable, changed, fits, fork};
use halt::{Halt, give_up, give_up_start, settle};
pub use notice::{NoticeSettings, sample_notices};
pub use park::awaits_callback;
pub use pause::PauseRequest;
use task::EndRecord;
pub use wait::{SIGNALS_MAX, Signal};

/// Returns the workload of a start: the given values merged into the playbook's defaults, checked
/// against its declared inputs and converted to their types.
pub fn start_workload(
    playbook: &Playbook,
    input: &StartInput,
) -> Result<Map<String, Value>, InputProblems> {
    let mut given = input.payload.clone();
    // A playbook need not declare the values that the schedule or the subscription adds.
    let by_schedule: &[&str] = match &input.origin {
        Origin::Schedule { .. } => &[SCHEDULE_KEY],
        Origin::Request | Origin::Parent { .. } | Origin::Linked { .. } | Origin::Rerun { .. } => {
            &[]
        }
    };
    let undeclared =
        |name: &&&str| playbook.inputs.as_ref().is_some_and(|inputs| inputs.find(name).is_none());
    let by_message = input.added.iter().filter(undeclared);
    let added: Vec<(String, Value)> = by_schedule
        .iter()
        .chain(by_message)
        .filter_map(|name| given.remove(*name).map(|value| ((*name).to_owned(), value)))
        .collect();
    let mut workload = checked_workload(playbook, playbook.workload.clone(), &given)?;
    workload.extend(added);
    Ok(workload)
}

/// Returns the values of an earlier workload with the given ones merged into them, checked against
/// the declared inputs of the playbook and converted to their types.
pub fn checked_workload(
    playbook: &Playbook,
    mut workload: Map<String, Value>,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, InputProblems> {
    merge(&mut workload, given);
    if let Some(inputs) = &playbook.inputs {
        inputs.check(given, &playbook.workload, &mut workload)?;
    }
    Ok(workload)
}

/// Decides the first events of an execution. The payload was checked by [`start_workload`].
pub fn start(
    execution: ExecutionId,
    playbook: &PlaybookRef,
    input: &StartInput,
    given: DecisionArgs<'_>,
) -> Result<Decision, Needs> {
    let mut workload = given.playbook.workload.clone();
    merge(&mut workload, &input.payload);
    let priority = input.priority.or(given.playbook.priority).unwrap_or_default();
    let error_mode = input.error_mode.or(given.playbook.error_mode).unwrap_or(ErrorMode::Strict);
    let workload = noetl_model::Payload::inline(Value::Object(workload));
    let started = |labels| Recorded {
        seq: Seq(1),
        event_id: EventId(0),
        at: given.now,
        event: Event::ExecutionStarted {
            playbook: playbook.clone(),
            workload: workload.clone(),
            origin: input.origin.clone(),
            error_mode,
            pool: input.pool.clone(),
            priority,
            paused: input.paused.clone(),
            trace: input.trace.clone(),
            notice: input.notice.clone(),
            labels,
            actor: input.actor.clone(),
        },
        prev: None,
    };
    let begun = |started: &_| begin(execution, started).expect("a start begins an execution");
    let labels = match labels::of_start(&begun(&started(Labels::default())), input, given)? {
        Ok(labels) => labels,
        Err(reason) => return Ok(refused(Refusal::Labels(reason))),
    };
    let started = started(labels);
    let state = begun(&started);
    let opened = || DecisionDraft::new(state.clone(), given, vec![started.event.clone()]);
    let mut draft = opened();
    let begun = draft.open_start();
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
        Input::Decide(decision) => approval::decide(draft(), decision),
        Input::Pause(request) => Ok(pause::pause(draft(), request)),
        Input::Resume(request) => pause::resume(draft(), request),
        Input::SlotGranted { command, limit } => slot::granted(draft(), *command, limit),
        Input::SlotDenied { limit, holders } => Ok(slot::denied(draft(), limit, *holders)),
        Input::Cancel { reason, below, actor } => {
            Ok(draft().cancel(reason, *below, actor.as_ref()))
        }
        Input::Finalize { status, reason, actor } => {
            Ok(draft().finalize(*status, reason, actor.as_ref()))
        }
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
        // A repeated signal was recorded before the end.
        Input::Signal(signal) => wait::repeated(state, signal)
            .unwrap_or_else(|| refused(Refusal::Finished(state.status))),
        Input::Decide(decision) => match approval::open_approval(state, decision.command) {
            Err(refusal) => refused(refusal),
            Ok(_) => refused(Refusal::Finished(state.status)),
        },
        Input::Claim { .. }
        | Input::LeaseExhausted { .. }
        | Input::Callback { .. }
        | Input::ChildStarted { .. }
        | Input::ChildEnded { .. }
        | Input::TimerFired { .. }
        | Input::Pause(_)
        | Input::Resume(_)
        | Input::SlotGranted { .. }
        | Input::SlotDenied { .. }
        | Input::Cancel { .. }
        | Input::Finalize { .. } => refused(Refusal::Finished(state.status)),
    }
}

/// Records that no worker gets a command although it is ready or, if it has ended, that it is still
/// in the queue.
fn not_claimed(state: &Execution, command: CommandId, detail: &str) -> Decision {
    let detail = match state.commands.get(&command) {
        Some(_) if state.is_blocked(command) => return Decision::Accepted(Vec::new()),
        // A worker claimed it meanwhile.
        Some(CommandState {
            holder:
                CommandHolder::Worker { .. }
                | CommandHolder::Child { .. }
                | CommandHolder::Callback { .. }
                | CommandHolder::Wait { .. }
                | CommandHolder::Approval { .. },
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
    if draft.state.is_blocked(command) {
        return Ok(refused(Refusal::Blocked(command)));
    }
    if attempt.0 > attempts_max(&draft, open) {
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
        | CommandHolder::Wait { .. }
        | CommandHolder::Approval { .. } => return Ok(superseded(command, attempt, worker)),
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
    let Some(open) = open.filter(|open| open.attempt() == attempt && attempt.0 > 0) else {
        return Ok(Decision::Accepted(Vec::new()));
    };
    if attempt.0 < attempts_max(&draft, open) {
        return Ok(Decision::Accepted(Vec::new()));
    }
    // An attempt number that no worker has, so that a late report of the last worker is superseded.
    let late = attempt.next();
    let lost = match run_promise(draft.given.playbook, open) {
        RunPromise::AtLeastOnce => lost_workers(late),
        RunPromise::AtMostOnce => lost_worker(),
    };
    draft.command_ended(command, EndRecord::of(late, &lost))?;
    Ok(Decision::Accepted(draft.into_events()))
}

/// Returns the number of attempts that a command may have.
fn attempts_max(draft: &DecisionDraft<'_>, open: &CommandState) -> u32 {
    match run_promise(draft.given.playbook, open) {
        RunPromise::AtLeastOnce => draft.given.attempts_max,
        RunPromise::AtMostOnce => 1,
    }
}

fn run_promise(playbook: &Playbook, open: &CommandState) -> RunPromise {
    let step = playbook.index_of(open.step.as_str()).map(|index| playbook.step(index));
    step.map_or(RunPromise::default(), |step| step.run)
}

/// True if an open command must not run again when its worker is lost.
pub fn runs_at_most_once(state: &Execution, playbook: &Playbook, command: CommandId) -> bool {
    let open = state.commands.get(&command);
    open.is_some_and(|open| run_promise(playbook, open) == RunPromise::AtMostOnce)
}

/// Returns the failure of a command that runs at most once and whose worker was lost.
fn lost_worker() -> CommandResult {
    let message = "the worker ended or stopped answering while it ran this command; the step has `run: \
                   at_most_once`, so it is not run again. It may have taken effect or not";
    let error = ToolError::new(ErrorKind::WorkerLost, message);
    CommandResult::Failed { error: ToolError { retryable: false, ..error }, output: None }
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
            | CommandHolder::Wait { .. }
            | CommandHolder::Approval { .. },
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
