//! The beginning and end of work as events record it: runs of steps, commands, loop items and the
//! delays of retries.
//!
//! Readers that measure or repeat work ask here instead of matching all events, so that a new event
//! is described once.

use crate::{CommandId, Event, RunId, StepName, TaskAddress, TimerId, TimerPurpose, WaitCondition};

/// A change of the open work of an execution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WorkChange<'a> {
    StepEntered {
        run: RunId,
        step: &'a StepName,
        /// The steps whose arcs led here; empty for the entry step.
        from: &'a [StepName],
    },
    StepEnded {
        run: RunId,
        end: WorkEnd,
    },
    CommandIssued {
        command: CommandId,
        task: TaskAddress,
        step: &'a StepName,
    },
    /// A command, which the next change issues, has to wait for a slot of a limit first.
    SlotRequested {
        command: CommandId,
    },
    /// A command has its slot, and waits for a worker.
    SlotGranted {
        command: CommandId,
    },
    /// A command, which waited for a worker, is carried out or waits for something else.
    CommandHeld {
        command: CommandId,
        by: WorkHolder<'a>,
    },
    CommandEnded {
        command: CommandId,
        end: WorkEnd,
    },
    ItemEnded {
        run: RunId,
        index: u64,
        end: ItemWorkEnd,
    },
    RetryDelayed {
        timer: TimerId,
        task: TaskAddress,
    },
    /// A timer of any purpose fired or was cancelled.
    TimerEnded {
        timer: TimerId,
    },
    ExecutionEnded(WorkEnd),
}

/// The part of the system that a command waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WorkHolder<'a> {
    Worker {
        /// The number of claims, this one included.
        claims: u32,
    },
    Child,
    Condition(&'a WaitCondition),
    Approval,
}

/// The end of a run, a command or an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkEnd {
    Completed,
    Failed,
    Cancelled,
}

/// The end of a loop item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemWorkEnd {
    Completed,
    /// The item counts as failed; a rule has handled the error of its last task.
    Handled,
    Failed,
}

impl Event {
    /// Returns the work that the event begins or ends; `None` if it changes no open work.
    pub fn work_change(&self) -> Option<WorkChange<'_>> {
        let held = |command: CommandId, by| WorkChange::CommandHeld { command, by };
        let ended = |command: CommandId, end| WorkChange::CommandEnded { command, end };
        let step_ended = |run: RunId, end| WorkChange::StepEnded { run, end };
        Some(match self {
            Event::StepEntered { run, step, from } => {
                WorkChange::StepEntered { run: *run, step, from }
            }
            Event::StepCompleted { run, .. } => step_ended(*run, WorkEnd::Completed),
            Event::StepFailed { run, .. } => step_ended(*run, WorkEnd::Failed),
            Event::CommandIssued { command, task, step, .. } => {
                WorkChange::CommandIssued { command: *command, task: *task, step }
            }
            Event::SlotRequested { command: Some(command), .. } => {
                WorkChange::SlotRequested { command: *command }
            }
            Event::SlotGranted { command: Some(command), .. } => {
                WorkChange::SlotGranted { command: *command }
            }
            Event::CommandClaimed { command, attempt, .. } => {
                held(*command, WorkHolder::Worker { claims: attempt.0 })
            }
            Event::ChildStarted { command, .. } => held(*command, WorkHolder::Child),
            Event::WaitOpened { command, condition, .. } => {
                held(*command, WorkHolder::Condition(condition))
            }
            Event::ApprovalRequested { command, .. } => held(*command, WorkHolder::Approval),
            Event::CommandCompleted { command, .. } => ended(*command, WorkEnd::Completed),
            Event::CommandFailed { command, .. } => ended(*command, WorkEnd::Failed),
            Event::CommandCancelled { command, .. } => ended(*command, WorkEnd::Cancelled),
            Event::IterationCompleted { run, index, error, .. } => {
                let end = error.as_ref().map_or(ItemWorkEnd::Completed, |_| ItemWorkEnd::Handled);
                WorkChange::ItemEnded { run: *run, index: *index, end }
            }
            Event::IterationFailed { run, index, .. } => {
                WorkChange::ItemEnded { run: *run, index: *index, end: ItemWorkEnd::Failed }
            }
            Event::TimerSet { timer, purpose: TimerPurpose::Retry { task }, .. } => {
                WorkChange::RetryDelayed { timer: *timer, task: *task }
            }
            Event::TimerFired { timer } | Event::TimerCancelled { timer } => {
                WorkChange::TimerEnded { timer: *timer }
            }
            Event::ExecutionCompleted { .. } => WorkChange::ExecutionEnded(WorkEnd::Completed),
            Event::ExecutionFailed { .. } => WorkChange::ExecutionEnded(WorkEnd::Failed),
            Event::ExecutionCancelled { .. } => WorkChange::ExecutionEnded(WorkEnd::Cancelled),
            Event::TimerSet { .. }
            | Event::ExecutionStarted { .. }
            | Event::ExecutionForked { .. }
            | Event::StepSkipped { .. }
            | Event::StepAwaited { .. }
            | Event::LoopOpened { .. }
            | Event::FrameOpened { .. }
            // The job of a parked command runs elsewhere: the command goes on.
            | Event::CommandParked { .. }
            | Event::SignalReceived { .. }
            | Event::SignalDelivered { .. }
            | Event::ApprovalDecided { .. }
            | Event::ExecutionPaused { .. }
            | Event::ExecutionResumed { .. }
            | Event::SlotRequested { .. }
            | Event::SlotGranted { .. }
            | Event::AttemptSuperseded { .. }
            | Event::ContextUpdated { .. }
            | Event::ExecutionLate { .. }
            | Event::NotificationRequested { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::Reported { .. } => return None,
        })
    }
}
