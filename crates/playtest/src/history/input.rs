//! The inputs behind the events of a log.

use noetl_engine::{
    ApprovalDecision, CommandResult, CommandWait, Execution, Input, PauseRequest, Signal,
    StartInput,
};
use noetl_model::{
    Attempt, CommandId, ErrorKind, Event, ExecutionStatus, Labels, Logs, Payload, Recorded,
    ToolKind,
};
use serde_json::{Map, Value};

use super::{HistoryError, StoredValues};

/// The origin of a recorded event.
pub(super) enum EventOrigin {
    /// The first event of a decision about this input.
    Input(Input),
    /// An event that follows others in a decision.
    Consequence,
    /// A person, another program or a document has caused the event.
    Outside,
}

/// Returns the start that a recorded first event describes.
pub(super) fn start_input(
    event: &Event,
    values: &StoredValues,
) -> Result<StartInput, HistoryError> {
    let Event::ExecutionStarted {
        playbook: _,
        workload,
        origin,
        error_mode,
        pool,
        priority,
        paused,
        trace,
        notice,
        labels,
        actor,
    } = event
    else {
        return Err(HistoryError::NoStart);
    };
    Ok(StartInput {
        payload: object(workload, values)?,
        origin: origin.clone(),
        error_mode: Some(*error_mode),
        pool: pool.clone(),
        priority: Some(*priority),
        paused: paused.clone(),
        trace: trace.clone(),
        notice: notice.clone(),
        inherited: Labels::default(),
        labels: labels.clone(),
        actor: actor.clone(),
    })
}

fn object(payload: &Payload, values: &StoredValues) -> Result<Map<String, Value>, HistoryError> {
    let value = match payload {
        Payload::Inline(value) => value,
        Payload::Ref(reference) => {
            values.get(&reference.digest).ok_or(HistoryError::MissingValue(reference.digest))?
        }
    };
    Ok(value.as_object().cloned().unwrap_or_default())
}

/// Returns the origin of an event that no earlier decision explains.
#[allow(clippy::too_many_lines, reason = "one short arm per event")]
pub(super) fn origin_of(state: &Execution, recorded: &Recorded) -> EventOrigin {
    let input = match &recorded.event {
        Event::CommandClaimed { command, attempt, worker, lease_until, after } => Input::Claim {
            command: *command,
            attempt: *attempt,
            worker: worker.clone(),
            lease: lease_until.since(state.event_time(recorded.at)),
            after: *after,
        },
        Event::CommandParked { command, attempt, worker } => {
            Input::Park { command: *command, attempt: *attempt, worker: worker.clone() }
        }
        Event::CommandCompleted { command, attempt, output, logs, job } => {
            let ended = CommandResult::Completed { output: output.clone() };
            return ended_by(state, (*command, *attempt), ended, (logs, job.as_ref()));
        }
        Event::CommandFailed { command, attempt, error, output, logs, job } => {
            let is_lost = error.kind == ErrorKind::WorkerLost;
            let ended = CommandResult::Failed { error: error.clone(), output: output.clone() };
            if is_lost && let Some(held) = held_attempt(state, *command) {
                Input::LeaseExhausted { command: *command, attempt: held }
            } else {
                return ended_by(state, (*command, *attempt), ended, (logs, job.as_ref()));
            }
        }
        Event::ChildStarted { command, child } => {
            Input::ChildStarted { command: *command, child: *child }
        }
        Event::TimerFired { timer } => Input::TimerFired { timer: *timer },
        Event::SignalReceived { .. } => return signal_of(state, &recorded.event),
        Event::ApprovalDecided { command, verdict, actor, comment, values, timed_out: false } => {
            let values = match values {
                Payload::Inline(values) => values.as_object().cloned().unwrap_or_default(),
                Payload::Ref(_) => return EventOrigin::Outside,
            };
            Input::Decide(ApprovalDecision {
                command: *command,
                verdict: *verdict,
                actor: actor.clone(),
                comment: comment.clone(),
                values,
            })
        }
        Event::ExecutionPaused { scope, actor, reason } => Input::Pause(PauseRequest {
            scope: *scope,
            actor: actor.clone(),
            reason: reason.clone(),
        }),
        Event::ExecutionResumed { actor, reason } => Input::Resume(PauseRequest {
            actor: actor.clone(),
            reason: reason.clone(),
            ..PauseRequest::default()
        }),
        Event::SlotGranted { command, limit } => {
            Input::SlotGranted { command: *command, limit: limit.clone() }
        }
        // An end by hand. An end that follows from the playbook is explained by its decision.
        Event::ExecutionCompleted { actor: None, .. } => Input::Finalize {
            status: ExecutionStatus::Completed,
            reason: String::new(),
            actor: None,
        },
        Event::ExecutionFailed { error, actor: None, .. } if error.kind == ErrorKind::Policy => {
            Input::Finalize {
                status: ExecutionStatus::Failed,
                reason: error.message.clone(),
                actor: None,
            }
        }
        Event::ExecutionFailed { error, .. } if error.kind == ErrorKind::Limit => {
            return EventOrigin::Outside;
        }
        // A cancellation, and an end by a named person, depend on nothing in the playbook.
        Event::CommandCancelled { .. }
        | Event::ExecutionCancelled { .. }
        | Event::ExecutionCompleted { actor: Some(_), .. }
        | Event::ExecutionFailed { actor: Some(_), .. }
        | Event::NotificationRequested { document: Some(_), .. }
        | Event::AttemptSuperseded { .. }
        | Event::ExecutionForked { .. }
        | Event::ExecutionStalled { .. }
        | Event::ExecutionRewound { .. }
        | Event::Reported { .. } => return EventOrigin::Outside,
        Event::ApprovalDecided { .. }
        | Event::ExecutionStarted { .. }
        | Event::StepEntered { .. }
        | Event::StepSkipped { .. }
        | Event::StepAwaited { .. }
        | Event::LoopOpened { .. }
        | Event::FrameOpened { .. }
        | Event::IterationCompleted { .. }
        | Event::IterationFailed { .. }
        | Event::CommandIssued { .. }
        | Event::WaitOpened { .. }
        | Event::SignalDelivered { .. }
        | Event::ApprovalRequested { .. }
        | Event::ContextUpdated { .. }
        | Event::TimerSet { .. }
        | Event::TimerCancelled { .. }
        | Event::StepCompleted { .. }
        | Event::StepFailed { .. }
        | Event::ExecutionFailed { .. }
        | Event::SlotRequested { .. }
        | Event::ExecutionLate { .. }
        | Event::NotificationRequested { .. } => return EventOrigin::Consequence,
    };
    EventOrigin::Input(input)
}

fn signal_of(state: &Execution, event: &Event) -> EventOrigin {
    let Event::SignalReceived { name, body, sender, key, correlation, actor } = event else {
        return EventOrigin::Consequence;
    };
    let to = match correlation {
        Some(correlation) => match state.signal_wait(name, correlation) {
            Some(command) => Some((command, correlation.clone())),
            None => return EventOrigin::Consequence,
        },
        None => None,
    };
    EventOrigin::Input(Input::Signal(Signal {
        name: name.clone(),
        body: body.clone(),
        sender: sender.clone(),
        key: key.clone(),
        to,
        actor: actor.clone(),
    }))
}

/// Returns the attempt that holds a command.
fn held_attempt(state: &Execution, command: CommandId) -> Option<Attempt> {
    match state.open_command(command)?.waits_for {
        CommandWait::Report { attempt, .. } => Some(attempt),
        CommandWait::Worker
        | CommandWait::Slot(_)
        | CommandWait::Resumption(_)
        | CommandWait::Child { .. }
        | CommandWait::Condition { .. }
        | CommandWait::Approval { .. }
        | CommandWait::Callback { .. } => None,
    }
}

/// Returns the input that ended a command, by its holder.
fn ended_by(
    state: &Execution,
    (command, attempt): (CommandId, Attempt),
    ended: CommandResult,
    (logs, job): (&Logs, Option<&String>),
) -> EventOrigin {
    let Some(open) = state.open_command(command) else { return EventOrigin::Consequence };
    let input = match open.waits_for {
        // A callback may come before its worker has parked the command.
        CommandWait::Report { .. } | CommandWait::Callback { .. } if job.is_some() => {
            Input::Callback { command, job: job.cloned(), ended }
        }
        CommandWait::Report { worker, .. } => {
            Input::Report { command, attempt, worker: worker.clone(), ended, logs: logs.clone() }
        }
        CommandWait::Callback { .. } => Input::Callback { command, job: job.cloned(), ended },
        CommandWait::Child { .. } => Input::ChildEnded { command, ended },
        CommandWait::Worker if open.tool == ToolKind::Playbook => {
            Input::ChildEnded { command, ended }
        }
        CommandWait::Worker
        | CommandWait::Slot(_)
        | CommandWait::Resumption(_)
        | CommandWait::Condition { .. }
        | CommandWait::Approval { .. } => return EventOrigin::Consequence,
    };
    EventOrigin::Input(input)
}
