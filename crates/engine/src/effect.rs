//! The effects of events outside the execution. Every effect is derived from an event.

use std::time::Duration;

use noetl_model::{
    Attempt, ChildExecutions, CommandId, ErrorKind, Event, ExecutionStatus, Message, Origin,
    Payload, Pool, Recorded, StepName, TimerId, Timestamp, ToolError, ToolKind, WorkerId,
};

use crate::Execution;
use crate::state::CommandHolder;

/// A change outside the execution's own state, written in the event's transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Enqueue {
        command: CommandId,
        pool: Pool,
        step: StepName,
    },
    Lease {
        command: CommandId,
        attempt: Attempt,
        worker: WorkerId,
        lease: Duration,
    },
    /// The command waits for its child, its callback, a time or a signal, not for a worker.
    Park {
        command: CommandId,
    },
    /// The command is removed from the queue if the lease of this attempt has expired.
    Expire {
        command: CommandId,
        attempt: Attempt,
    },
    Dequeue {
        command: CommandId,
    },
    SetTimer {
        timer: TimerId,
        due_at: Timestamp,
    },
    DropTimer {
        timer: TimerId,
    },
    Send(Message),
}

/// Returns the effects of an event, given the execution before it (for the first event: after it).
pub fn effects_of(before: &Execution, recorded: &Recorded) -> Vec<Effect> {
    match &recorded.event {
        // No worker is told of a wait: the control plane opens it in the same decision.
        Event::CommandIssued { command, step, pool, tool: ToolKind::Wait, .. } => {
            vec![Effect::Enqueue { command: *command, pool: pool.clone(), step: step.clone() }]
        }
        Event::CommandIssued { command, task, step, pool, .. } => {
            let (command, pool, step) = (*command, pool.clone(), step.clone());
            let ready = Message::CommandReady {
                pool: pool.clone(),
                command,
                event_id: recorded.event_id,
                step: step.clone(),
                item: task.place.item(),
                trace: before.trace.clone(),
            };
            vec![Effect::Enqueue { command, pool, step }, Effect::Send(ready)]
        }
        Event::CommandClaimed { command, attempt, worker, lease_until, after: _ } => {
            vec![Effect::Lease {
                command: *command,
                attempt: *attempt,
                worker: worker.clone(),
                // A duration, not an end: the store compares leases with its own clock.
                lease: lease_until.since(recorded.at),
            }]
        }
        Event::CommandCompleted { command, .. } => vec![Effect::Dequeue { command: *command }],
        Event::CommandFailed { command, attempt, error, .. } => {
            let given_up = given_up(before, *command, error);
            [failed(before, *command, *attempt)].into_iter().chain(given_up).collect()
        }
        Event::CommandCancelled { command, reason, below } => {
            cancelled(before, *command, reason, *below)
        }
        Event::CommandParked { command, .. }
        | Event::ChildStarted { command, .. }
        | Event::WaitOpened { command, .. } => {
            vec![Effect::Park { command: *command }]
        }
        Event::TimerSet { timer, due_at, .. } => {
            vec![Effect::SetTimer { timer: *timer, due_at: *due_at }]
        }
        Event::TimerFired { timer } | Event::TimerCancelled { timer } => {
            vec![Effect::DropTimer { timer: *timer }]
        }
        Event::ExecutionCompleted { output } => {
            ended(before, ExecutionStatus::Completed, output.clone(), None)
        }
        Event::ExecutionFailed { error, .. } => {
            ended(before, ExecutionStatus::Failed, Payload::null(), Some(error.clone()))
        }
        Event::ExecutionCancelled { reason, below } => execution_cancelled(before, reason, *below),
        Event::ExecutionStarted { .. }
        | Event::ExecutionForked { .. }
        | Event::StepEntered { .. }
        | Event::StepSkipped { .. }
        | Event::StepAwaited { .. }
        | Event::LoopOpened { .. }
        | Event::FrameOpened { .. }
        | Event::IterationCompleted { .. }
        | Event::IterationFailed { .. }
        | Event::AttemptSuperseded { .. }
        | Event::ContextUpdated { .. }
        | Event::StepCompleted { .. }
        | Event::StepFailed { .. }
        | Event::SignalReceived { .. }
        | Event::SignalDelivered { .. }
        | Event::ExecutionStalled { .. }
        | Event::ExecutionRewound { .. }
        | Event::Reported { .. } => Vec::new(),
    }
}

/// Returns the effects of a cancellation: the parent is notified, and executions started below
/// without being waited for are cancelled too unless they are spared.
fn execution_cancelled(before: &Execution, reason: &str, below: ChildExecutions) -> Vec<Effect> {
    let error = ToolError::new(ErrorKind::Child, format!("cancelled: {reason}"));
    let mut effects = ended(before, ExecutionStatus::Cancelled, Payload::null(), Some(error));
    match below {
        ChildExecutions::Cancelled => {
            effects.push(Effect::Send(Message::CancelLinked { reason: reason.to_owned() }));
        }
        ChildExecutions::Kept => {}
    }
    effects
}

/// Returns the queue effect of a failed command. If its worker did not report the failure, the
/// command is removed only if its lease has expired by the store's clock.
fn failed(before: &Execution, command: CommandId, attempt: Attempt) -> Effect {
    match before.commands.get(&command).map(|open| &open.holder) {
        Some(CommandHolder::Worker { attempt: held, .. }) if *held != attempt => {
            Effect::Expire { command, attempt: *held }
        }
        Some(
            CommandHolder::Worker { .. }
            | CommandHolder::Nobody
            | CommandHolder::Child { .. }
            | CommandHolder::Callback { .. }
            | CommandHolder::Wait { .. },
        )
        | None => Effect::Dequeue { command },
    }
}

/// Returns the cancellation of a child that still runs when its command times out.
fn given_up(before: &Execution, command: CommandId, error: &ToolError) -> Option<Effect> {
    match before.commands.get(&command).map(|open| &open.holder)? {
        CommandHolder::Child { execution: child, .. } if error.kind == ErrorKind::Timeout => {
            let reason = error.message.clone();
            Some(Effect::Send(Message::CancelChild { child: *child, reason }))
        }
        CommandHolder::Child { .. }
        | CommandHolder::Worker { .. }
        | CommandHolder::Callback { .. }
        | CommandHolder::Wait { .. }
        | CommandHolder::Nobody => None,
    }
}

/// Returns the effects of a cancelled command: the worker or child that runs it is told to stop.
fn cancelled(
    before: &Execution,
    command: CommandId,
    reason: &str,
    below: ChildExecutions,
) -> Vec<Effect> {
    let mut effects = vec![Effect::Dequeue { command }];
    match before.commands.get(&command).map(|open| &open.holder) {
        Some(CommandHolder::Worker { .. }) => {
            effects.push(Effect::Send(Message::CommandCancelled { command }));
        }
        Some(CommandHolder::Child { execution: child, .. }) => match below {
            ChildExecutions::Cancelled => {
                let reason = reason.to_owned();
                effects.push(Effect::Send(Message::CancelChild { child: *child, reason }));
            }
            ChildExecutions::Kept => {}
        },
        // Nothing can stop a job that runs elsewhere.
        Some(
            CommandHolder::Nobody | CommandHolder::Callback { .. } | CommandHolder::Wait { .. },
        )
        | None => {}
    }
    effects
}

/// Returns the effects of an execution's end: its timers are dropped, its parent is notified.
fn ended(
    before: &Execution,
    status: ExecutionStatus,
    output: Payload,
    error: Option<ToolError>,
) -> Vec<Effect> {
    let mut effects: Vec<Effect> =
        before.timers.keys().map(|timer| Effect::DropTimer { timer: *timer }).collect();
    match before.origin {
        Origin::Request
        | Origin::Linked { .. }
        | Origin::Schedule { .. }
        | Origin::Rerun { .. } => {}
        Origin::Parent { execution: parent, command, .. } => {
            effects.push(Effect::Send(Message::ChildEnded {
                parent,
                command,
                status,
                output,
                error,
            }));
        }
    }
    effects
}
