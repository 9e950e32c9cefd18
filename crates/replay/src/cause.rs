//! The cause of an event: the earlier event of the same log that led to it.
//!
//! Events of one decision follow each other in the log, after the event that the decision was
//! about. The state before an event knows the events that issued and claimed its command, set its
//! timer and ended the steps before it, however long ago they were.

use noetl_engine::{CommandWait, Execution};
use noetl_model::{CommandId, Event, Recorded, RunId, Seq, StepName};

/// The number of events before an event among which its cause is looked for; a decision writes
/// fewer, except for the first items of a wide loop.
pub const CAUSE_EVENTS_MAX: usize = 1000;

/// Returns the event that led to `recorded`; `None` if the cause is outside the log or further back
/// than `earlier`. `before` is the state before the event, `earlier` are the events before it, in
/// order.
pub fn cause_of(
    before: Option<&Execution>,
    recorded: &Recorded,
    earlier: &[Recorded],
) -> Option<Seq> {
    let before = before?;
    let preceding = |leads: &dyn Fn(&Event) -> bool| {
        earlier.iter().rev().find(|it| leads(&it.event)).map(|it| it.seq)
    };
    match &recorded.event {
        Event::StepEntered { from, .. } | Event::StepSkipped { from, .. } if from.is_empty() => {
            preceding(&is_start)
        }
        Event::StepEntered { from, .. } | Event::StepSkipped { from, .. } => {
            from.iter().filter_map(|step| end_of(before, step)).max()
        }
        Event::StepAwaited { from, .. } => end_of(before, from),
        Event::LoopOpened { run, .. } => before.run_entered_by(*run),
        Event::CommandClaimed { command, .. } => held_since(before, *command),
        Event::SignalDelivered { signal, .. } => Some(*signal),
        Event::ExecutionResumed { .. } => before.pause().map(|pause| pause.seq),
        Event::SlotGranted { command, .. } => before.slot(*command).map(|slot| slot.asked),
        Event::SlotRequested { .. } => preceding(&is_external),
        Event::CommandParked { command, .. }
        | Event::WaitOpened { command, .. }
        | Event::ApprovalRequested { command, .. }
        | Event::ApprovalDecided { command, .. }
        | Event::CommandCompleted { command, .. }
        | Event::CommandFailed { command, .. }
        | Event::ChildStarted { command, .. }
        | Event::AttemptSuperseded { command, .. } => held_since(before, *command),
        Event::TimerFired { timer } => before.timer_set_by(*timer),
        Event::CommandIssued { task, .. } => preceding(&|event| leads_on(event, task.run)),
        Event::FrameOpened { run, .. }
        | Event::IterationCompleted { run, .. }
        | Event::IterationFailed { run, .. }
        | Event::StepCompleted { run, .. }
        | Event::StepFailed { run, .. } => preceding(&|event| leads_on(event, *run)),
        Event::ContextUpdated { .. }
        | Event::TimerSet { .. }
        | Event::TimerCancelled { .. }
        | Event::CommandCancelled { .. }
        | Event::ExecutionLate { .. }
        | Event::NotificationRequested { .. } => preceding(&is_external),
        Event::ExecutionCompleted { .. } | Event::ExecutionFailed { .. } => {
            preceding(&|event| is_external(event) || is_step_end(event))
        }
        Event::ExecutionStarted { .. }
        | Event::ExecutionForked { .. }
        | Event::ExecutionCancelled { .. }
        | Event::ExecutionStalled { .. }
        | Event::ExecutionRewound { .. }
        | Event::SignalReceived { .. }
        | Event::ExecutionPaused { .. }
        | Event::Reported { .. } => None,
    }
}

/// Returns the event that ended the latest run of a step, or skipped it.
fn end_of(before: &Execution, step: &StepName) -> Option<Seq> {
    let step = before.step(step.as_str())?;
    let ended = step.latest.and_then(|latest| latest.ended).map(|ended| ended.seq);
    ended.max(step.skipped.map(|skip| skip.seq))
}

/// Returns the event since which a command has its holder; the event that issued it if it has none.
fn held_since(before: &Execution, command: CommandId) -> Option<Seq> {
    let open = before.open_command(command)?;
    Some(match open.waits_for {
        CommandWait::Worker => open.issued,
        CommandWait::Slot(slot) => slot.asked,
        CommandWait::Resumption(pause) => pause.seq.max(open.issued),
        CommandWait::Report { claimed, .. } => claimed,
        CommandWait::Child { started, .. } => started,
        CommandWait::Callback { parked, .. } => parked,
        CommandWait::Condition { opened, .. } | CommandWait::Approval { opened, .. } => opened,
    })
}

/// True if an event records what happened outside the engine: decisions follow from such events.
fn is_external(event: &Event) -> bool {
    is_start(event)
        || matches!(
            event,
            Event::CommandClaimed { .. }
                | Event::CommandParked { .. }
                | Event::CommandCompleted { .. }
                | Event::CommandFailed { .. }
                | Event::ChildStarted { .. }
                | Event::TimerFired { .. }
                | Event::SignalReceived { .. }
                | Event::ApprovalDecided { .. }
                | Event::ExecutionResumed { .. }
                | Event::SlotGranted { .. }
        )
}

/// True if an execution begins or is forked with the event.
fn is_start(event: &Event) -> bool {
    matches!(event, Event::ExecutionStarted { .. } | Event::ExecutionForked { .. })
}

fn is_step_end(event: &Event) -> bool {
    matches!(
        event,
        Event::StepCompleted { .. } | Event::StepFailed { .. } | Event::StepSkipped { .. }
    )
}

/// True if a run goes on with the event: its entry, its loop, the end of one of its items, or what
/// happened outside. A claim leads to no event of a run.
fn leads_on(event: &Event, of: RunId) -> bool {
    match event {
        Event::StepEntered { run, .. }
        | Event::LoopOpened { run, .. }
        | Event::FrameOpened { run, .. }
        | Event::IterationCompleted { run, .. }
        | Event::IterationFailed { run, .. } => *run == of,
        Event::CommandClaimed { .. }
        | Event::CommandParked { .. }
        | Event::WaitOpened { .. }
        | Event::ApprovalRequested { .. }
        | Event::SlotGranted { command: Some(_), .. }
        | Event::ChildStarted { .. } => false,
        other => is_external(other),
    }
}
