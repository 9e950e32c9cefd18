//! The object that an event is about, and the fields that several events have.
//!
//! Readers of a log that need no more than these ask here instead of matching all events, so that a
//! new event is described once.

use crate::{Actor, CommandId, Event, Payload, RunId, StepName, TimerId, ToolError};

/// The object that an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventSubject<'a> {
    Execution,
    Step(&'a StepName),
    /// A run of a step whose name an earlier event has.
    Run(RunId),
    Command(CommandId),
    Timer(TimerId),
    /// Variables, or a fact of another program that names no step.
    Other,
}

/// The importance of an event for a reader of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventTone {
    Neutral,
    /// A step or the execution completed.
    Success,
    /// A command, an item, a step or the execution failed.
    Failure,
    /// Work was cancelled, taken over or lost.
    Warning,
}

impl Event {
    /// Returns the person or program that caused the event, if the event records one.
    pub fn actor(&self) -> Option<&Actor> {
        if let Event::ExecutionStarted { actor, .. }
        | Event::ExecutionForked { actor, .. }
        | Event::ExecutionCompleted { actor, .. }
        | Event::ExecutionFailed { actor, .. }
        | Event::ExecutionCancelled { actor, .. }
        | Event::SignalReceived { actor, .. } = self
        {
            actor.as_ref()
        } else {
            None
        }
    }

    /// True if the event is the last that changes the state of its execution.
    pub fn ends_execution(&self) -> bool {
        matches!(
            self,
            Event::ExecutionCompleted { .. }
                | Event::ExecutionFailed { .. }
                | Event::ExecutionCancelled { .. }
        )
    }

    /// Returns the object that the event is about.
    pub fn subject(&self) -> EventSubject<'_> {
        match self {
            Event::ExecutionStarted { .. }
            | Event::ExecutionForked { .. }
            | Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
            | Event::ExecutionPaused { .. }
            | Event::ExecutionResumed { .. }
            | Event::SlotRequested { command: None, .. }
            | Event::SlotGranted { command: None, .. }
            | Event::ExecutionLate { .. }
            | Event::NotificationRequested { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::SignalReceived { .. } => EventSubject::Execution,
            Event::StepEntered { step, .. }
            | Event::StepSkipped { step, .. }
            | Event::StepAwaited { step, .. }
            | Event::StepCompleted { step, .. }
            | Event::StepFailed { step, .. }
            | Event::Reported { step: Some(step), .. } => EventSubject::Step(step),
            Event::LoopOpened { run, .. }
            | Event::FrameOpened { run, .. }
            | Event::IterationCompleted { run, .. }
            | Event::IterationFailed { run, .. } => EventSubject::Run(*run),
            Event::CommandIssued { command, .. }
            | Event::CommandClaimed { command, .. }
            | Event::CommandParked { command, .. }
            | Event::WaitOpened { command, .. }
            | Event::SignalDelivered { command, .. }
            | Event::ApprovalRequested { command, .. }
            | Event::ApprovalDecided { command, .. }
            | Event::SlotRequested { command: Some(command), .. }
            | Event::SlotGranted { command: Some(command), .. }
            | Event::CommandCompleted { command, .. }
            | Event::CommandFailed { command, .. }
            | Event::CommandCancelled { command, .. }
            | Event::AttemptSuperseded { command, .. }
            | Event::ChildStarted { command, .. } => EventSubject::Command(*command),
            Event::TimerSet { timer, .. }
            | Event::TimerFired { timer }
            | Event::TimerCancelled { timer } => EventSubject::Timer(*timer),
            Event::ContextUpdated { .. } | Event::Reported { step: None, .. } => {
                EventSubject::Other
            }
        }
    }

    /// Returns the step that the event names.
    pub fn step(&self) -> Option<&StepName> {
        if let Event::CommandIssued { step, .. } = self {
            return Some(step);
        }
        match self.subject() {
            EventSubject::Step(step) => Some(step),
            EventSubject::Execution
            | EventSubject::Run(_)
            | EventSubject::Command(_)
            | EventSubject::Timer(_)
            | EventSubject::Other => None,
        }
    }

    /// Returns the error of an event that records a failure.
    pub fn error(&self) -> Option<&ToolError> {
        if let Event::CommandFailed { error, .. }
        | Event::IterationFailed { error, .. }
        | Event::StepFailed { error, .. }
        | Event::ExecutionFailed { error, .. } = self
        {
            return Some(error);
        }
        None
    }

    /// Returns the output that the event holds. An event whose output is the one of the last
    /// command holds none.
    pub fn output(&self) -> Option<&Payload> {
        if let Event::CommandCompleted { output, .. } | Event::ExecutionCompleted { output, .. } =
            self
        {
            return Some(output);
        }
        if let Event::CommandFailed { output, .. }
        | Event::StepCompleted { output, .. }
        | Event::StepFailed { output, .. }
        | Event::IterationCompleted { output, .. } = self
        {
            return output.as_ref();
        }
        None
    }

    /// Returns the importance of the event for a reader of the log.
    pub fn tone(&self) -> EventTone {
        if self.error().is_some() {
            return EventTone::Failure;
        }
        if let Event::ExecutionCompleted { .. } | Event::StepCompleted { .. } = self {
            return EventTone::Success;
        }
        if let Event::ExecutionCancelled { .. }
        | Event::ExecutionPaused { .. }
        | Event::ExecutionLate { .. }
        | Event::ExecutionStalled { .. }
        | Event::ExecutionRewound { .. }
        | Event::CommandCancelled { .. }
        | Event::AttemptSuperseded { .. } = self
        {
            return EventTone::Warning;
        }
        EventTone::Neutral
    }
}
