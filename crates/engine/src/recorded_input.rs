//! The inputs behind the events of a log: a decision is recorded as its events, and the first of
//! them tells which input it was about.

use noetl_model::{
    Attempt, CommandId, ErrorKind, Event, ExecutionStatus, Labels, Logs, PauseScope, Payload,
    Recorded, ToolKind,
};
use serde_json::{Map, Value};

use crate::{
    ApprovalDecision, CommandResult, CommandWait, Execution, Input, PauseRequest, Signal,
    StartInput,
};

/// The origin of a recorded event.
#[derive(Debug)]
pub enum EventOrigin {
    /// The first event of the decision about this input.
    Input(Box<Input>),
    /// An event that follows others in a decision.
    Consequence,
    /// An event that a request from outside has caused, in a way that the log does not tell.
    Outside,
    /// A fact on which no decision depends.
    Note,
}

impl StartInput {
    /// Returns the start that the first event of an execution records, given the workload of the
    /// event; `None` for another event.
    pub fn recorded(event: &Event, workload: Map<String, Value>) -> Option<Self> {
        let Event::ExecutionStarted {
            playbook: _,
            workload: _,
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
            return None;
        };
        Some(Self {
            payload: workload,
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
            added: &[],
        })
    }
}

/// Returns the values of the form of a recorded decision about an approval, which [`origin_of`]
/// needs.
pub fn recorded_form(event: &Event) -> Option<&Payload> {
    if let Event::ApprovalDecided { values, timed_out: false, .. } = event {
        Some(values)
    } else {
        None
    }
}

/// Returns the origin of an event, given the state before it and the values of its form.
///
/// The end of an execution follows from its playbook or from a request without a name; it is taken
/// as a request, because a caller that follows the playbook knows the ends that it decides.
#[allow(clippy::too_many_lines, reason = "one short arm per event")]
pub fn origin_of(state: &Execution, recorded: &Recorded, form: Map<String, Value>) -> EventOrigin {
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
            return of_end(state, (*command, *attempt), ended, (logs, job.as_ref()));
        }
        Event::CommandFailed { command, attempt, error, output, logs, job } => {
            let ended = CommandResult::Failed { error: error.clone(), output: output.clone() };
            return of_end(state, (*command, *attempt), ended, (logs, job.as_ref()));
        }
        Event::ChildStarted { command, child } => {
            Input::ChildStarted { command: *command, child: *child }
        }
        Event::TimerFired { timer } => Input::TimerFired { timer: *timer },
        Event::SignalReceived { name, body, sender, key, correlation, actor } => {
            let wait = correlation.as_ref().map(|of| (state.signal_wait(name, of), of.clone()));
            let to = match wait {
                Some((None, _)) => return EventOrigin::Consequence,
                Some((Some(command), correlation)) => Some((command, correlation)),
                None => None,
            };
            let (name, body, sender) = (name.clone(), body.clone(), sender.clone());
            Input::Signal(Signal { name, body, sender, key: key.clone(), to, actor: actor.clone() })
        }
        Event::ApprovalDecided {
            command,
            verdict,
            actor,
            actor_stated,
            link_by,
            comment,
            values: _,
            timed_out: false,
        } => Input::Decide(ApprovalDecision {
            command: *command,
            verdict: *verdict,
            actor: actor.clone(),
            actor_stated: *actor_stated,
            link_by: link_by.clone(),
            comment: comment.clone(),
            values: form,
        }),
        Event::ExecutionPaused { scope, actor, reason } => {
            let (actor, reason) = (actor.clone(), reason.clone());
            Input::Pause(PauseRequest { scope: *scope, actor, reason })
        }
        Event::ExecutionResumed { actor, reason } => {
            let (actor, reason) = (actor.clone(), reason.clone());
            Input::Resume(PauseRequest { scope: PauseScope::Execution, actor, reason })
        }
        Event::SlotGranted { command, limit } => {
            Input::SlotGranted { command: *command, limit: limit.clone() }
        }
        Event::ExecutionCompleted { actor: None, .. } => {
            let (status, reason) = (ExecutionStatus::Completed, String::new());
            Input::Finalize { status, reason, actor: None }
        }
        Event::ExecutionFailed { error, actor: None, .. } if error.kind == ErrorKind::Policy => {
            let (status, reason) = (ExecutionStatus::Failed, error.message.clone());
            Input::Finalize { status, reason, actor: None }
        }
        Event::ExecutionFailed { error, actor: None, .. } if error.kind != ErrorKind::Limit => {
            return EventOrigin::Consequence;
        }
        // A cancellation, an exceeded limit, and an end by a named person depend on nothing in the
        // playbook.
        Event::CommandCancelled { .. }
        | Event::ExecutionCancelled { .. }
        | Event::ExecutionCompleted { .. }
        | Event::ExecutionFailed { .. }
        | Event::ExecutionForked { .. }
        | Event::NotificationRequested { document: Some(_), .. } => return EventOrigin::Outside,
        Event::AttemptSuperseded { .. }
        | Event::ExecutionStalled { .. }
        | Event::ExecutionRewound { .. }
        | Event::Reported { .. } => return EventOrigin::Note,
        // The deadline of an approval is the first event of its decision.
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
        | Event::SlotRequested { .. }
        | Event::ExecutionLate { .. }
        | Event::NotificationRequested { .. } => return EventOrigin::Consequence,
    };
    EventOrigin::Input(Box::new(input))
}

/// Returns the origin of the end of a command, which depends on what the command waited for.
fn of_end(
    state: &Execution,
    (command, attempt): (CommandId, Attempt),
    ended: CommandResult,
    (logs, job): (&Logs, Option<&String>),
) -> EventOrigin {
    let Some(open) = state.open_command(command) else { return EventOrigin::Consequence };
    let input = match open.waits_for {
        // No worker has reported this attempt: it is one more than the one that was given up.
        CommandWait::Report { attempt: held, .. } if attempt == held.next() => {
            Input::LeaseExhausted { command, attempt: held }
        }
        // A callback may come before its worker has parked the command.
        CommandWait::Report { .. } if job.is_some() => {
            Input::Callback { command, job: job.cloned(), ended }
        }
        CommandWait::Report { worker, .. } => {
            let (worker, logs) = (worker.clone(), logs.clone());
            Input::Report { command, attempt, worker, ended, logs }
        }
        CommandWait::Callback { .. } => Input::Callback { command, job: job.cloned(), ended },
        CommandWait::Child { .. } => Input::ChildEnded { command, ended },
        // A child that could not be started.
        CommandWait::Worker | CommandWait::Slot(_) | CommandWait::Resumption(_)
            if open.tool == ToolKind::Playbook =>
        {
            Input::ChildEnded { command, ended }
        }
        // An output of the cache, or a timer, a signal or a person that ends a wait: the command
        // ends within their decision.
        CommandWait::Worker
        | CommandWait::Slot(_)
        | CommandWait::Resumption(_)
        | CommandWait::Condition { .. }
        | CommandWait::Approval { .. } => return EventOrigin::Consequence,
    };
    EventOrigin::Input(Box::new(input))
}
