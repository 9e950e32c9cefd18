//! The table of event names: log names to public names, and foreign spellings to their meaning.
//!
//! Invariant: every event has exactly one public name; events that other programs may report are
//! distinct from those that only the control plane writes.

use noetl_model::{Event, EventTag, ExecutionStatus};

/// Returns the public name and status of an event. A reported event keeps the status that its
/// reporter gave it.
pub fn public_name(event: &Event) -> (&str, &str) {
    if let Event::Reported { name, body, .. } = event {
        let status = body.get("status").and_then(serde_json::Value::as_str);
        return (name, status.unwrap_or(name_of(EventTag::Reported).1));
    }
    name_of(event.tag())
}

/// Returns the public name and status of a kind of event.
pub const fn name_of(tag: EventTag) -> (&'static str, &'static str) {
    match tag {
        EventTag::ExecutionStarted => ("playbook_started", "STARTED"),
        EventTag::ExecutionForked => ("execution.forked", "STARTED"),
        EventTag::StepEntered => ("step.enter", "ENTERED"),
        EventTag::StepSkipped => ("step.skipped", "SKIPPED"),
        EventTag::StepAwaited => ("step.awaited", "WAITING"),
        EventTag::LoopOpened => ("loop.opened", "STARTED"),
        EventTag::FrameOpened => ("frame.opened", "STARTED"),
        EventTag::IterationCompleted => ("iteration.completed", "COMPLETED"),
        EventTag::IterationFailed => ("iteration.failed", "FAILED"),
        EventTag::CommandIssued => ("command.issued", "PENDING"),
        EventTag::CommandClaimed => ("command.claimed", "RUNNING"),
        EventTag::CommandParked => ("command.parked", "WAITING"),
        EventTag::WaitOpened => ("wait.opened", "WAITING"),
        EventTag::SignalReceived => ("signal.received", "RECEIVED"),
        EventTag::SignalDelivered => ("signal.delivered", "DELIVERED"),
        EventTag::ApprovalRequested => ("approval.requested", "WAITING"),
        EventTag::ApprovalDecided => ("approval.decided", "DECIDED"),
        EventTag::ExecutionPaused => ("execution.paused", "PAUSED"),
        EventTag::ExecutionResumed => ("execution.resumed", "RUNNING"),
        EventTag::SlotRequested => ("slot.requested", "WAITING"),
        EventTag::SlotGranted => ("slot.granted", "RUNNING"),
        EventTag::CommandCompleted => ("command.completed", "COMPLETED"),
        EventTag::CommandFailed => ("command.failed", "FAILED"),
        EventTag::CommandCancelled => ("command.cancelled", "CANCELLED"),
        EventTag::AttemptSuperseded => ("attempt.superseded", "SUPERSEDED"),
        EventTag::ChildStarted => ("child.started", "STARTED"),
        EventTag::ContextUpdated => ("ctx.updated", "CONTEXT"),
        EventTag::TimerSet => ("timer.set", "WAITING"),
        EventTag::TimerFired => ("timer.fired", "COMPLETED"),
        EventTag::TimerCancelled => ("timer.cancelled", "CANCELLED"),
        EventTag::StepCompleted => ("step.exit", "COMPLETED"),
        EventTag::StepFailed => ("step.failed", "FAILED"),
        EventTag::ExecutionCompleted => ("playbook.completed", "COMPLETED"),
        EventTag::ExecutionFailed => ("playbook.failed", "FAILED"),
        EventTag::ExecutionCancelled => ("playbook.cancelled", "CANCELLED"),
        EventTag::ExecutionLate => ("execution.late", "RUNNING"),
        EventTag::NotificationRequested => ("notification.requested", "REQUESTED"),
        EventTag::ExecutionStalled => ("execution.stalled", "RUNNING"),
        EventTag::ExecutionRewound => ("execution.rewound", "RUNNING"),
        EventTag::Reported => ("reported", "REPORTED"),
    }
}

/// Returns the log name of an event, given its public name.
pub fn log_name(public: &str) -> Option<&'static str> {
    let tag = EventTag::ALL.iter().find(|tag| name_of(**tag).0 == public);
    tag.map(|tag| tag.as_str())
}

/// The meaning of an event that another program posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventMeaning {
    /// A worker has started a command or still runs it.
    Working,
    /// A tool has returned; the event carries its result.
    ToolReturned,
    /// A tool could not be run, or a worker gives up a command.
    CommandFailed,
    /// A worker is done with a command; its result was reported before.
    CommandCompleted,
    /// A worker has entered a step, as old logs say it. It is recorded; the control plane's own
    /// entry has another name.
    StepEntered,
    /// The execution has ended with this status, as old logs say it. It is recorded if the
    /// execution has ended so, see [`EventMeaning::forges`].
    ExecutionEnded(ExecutionStatus),
    /// An event that only the control plane may write.
    Reserved,
    /// An event that is recorded and has no other effect.
    Fact,
}

impl EventMeaning {
    /// Returns the meaning of an event name, in any known spelling.
    pub fn of(name: &str) -> Self {
        match name {
            "command.started" | "command.claimed" | "command.heartbeat" | "action_started" => {
                EventMeaning::Working
            }
            "call.done" | "action_done" => EventMeaning::ToolReturned,
            "call.error" | "command.failed" | "action_failed" => EventMeaning::CommandFailed,
            "command.completed" | "action_completed" => EventMeaning::CommandCompleted,
            "step_enter" | "step_started" => EventMeaning::StepEntered,
            "playbook_completed" => EventMeaning::ExecutionEnded(ExecutionStatus::Completed),
            "playbook_failed" => EventMeaning::ExecutionEnded(ExecutionStatus::Failed),
            "playbook_cancelled" => EventMeaning::ExecutionEnded(ExecutionStatus::Cancelled),
            "playbook_started"
            | "playbook.started"
            | "playbook.initialized"
            | "playbook.completed"
            | "playbook.failed"
            | "playbook.cancelled"
            | "execution.started"
            | "execution.completed"
            | "execution.failed"
            | "execution.cancelled"
            | "workflow.initialized"
            | "workflow.completed"
            | "workflow.failed"
            | "command.issued"
            | "command.parked"
            | "command.cancelled"
            | "step.enter"
            | "step.skipped"
            | "step_skipped"
            | "ctx.updated" => EventMeaning::Reserved,
            _ => EventMeaning::Fact,
        }
    }

    /// True if the event would pass for one that only the control plane writes, in an execution
    /// with this status: a reserved name, or an end that the execution has not come to.
    pub fn forges(self, status: ExecutionStatus) -> bool {
        match self {
            EventMeaning::Reserved => true,
            EventMeaning::ExecutionEnded(told) => told != status,
            EventMeaning::Working
            | EventMeaning::ToolReturned
            | EventMeaning::CommandFailed
            | EventMeaning::CommandCompleted
            | EventMeaning::StepEntered
            | EventMeaning::Fact => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn every_event_has_a_public_name() {
        let table: String = EventTag::ALL
            .iter()
            .map(|tag| {
                let (name, status) = name_of(*tag);
                format!("{:<20} {name:<20} {status}\n", tag.as_str())
            })
            .collect();
        expect![[r#"
            execution.started    playbook_started     STARTED
            execution.forked     execution.forked     STARTED
            step.entered         step.enter           ENTERED
            step.skipped         step.skipped         SKIPPED
            step.awaited         step.awaited         WAITING
            loop.opened          loop.opened          STARTED
            frame.opened         frame.opened         STARTED
            iteration.completed  iteration.completed  COMPLETED
            iteration.failed     iteration.failed     FAILED
            command.issued       command.issued       PENDING
            command.claimed      command.claimed      RUNNING
            command.parked       command.parked       WAITING
            wait.opened          wait.opened          WAITING
            signal.received      signal.received      RECEIVED
            signal.delivered     signal.delivered     DELIVERED
            approval.requested   approval.requested   WAITING
            approval.decided     approval.decided     DECIDED
            command.completed    command.completed    COMPLETED
            command.failed       command.failed       FAILED
            command.cancelled    command.cancelled    CANCELLED
            attempt.superseded   attempt.superseded   SUPERSEDED
            child.started        child.started        STARTED
            context.updated      ctx.updated          CONTEXT
            timer.set            timer.set            WAITING
            timer.fired          timer.fired          COMPLETED
            timer.cancelled      timer.cancelled      CANCELLED
            step.completed       step.exit            COMPLETED
            step.failed          step.failed          FAILED
            execution.completed  playbook.completed   COMPLETED
            execution.failed     playbook.failed      FAILED
            execution.cancelled  playbook.cancelled   CANCELLED
            execution.paused     execution.paused     PAUSED
            execution.resumed    execution.resumed    RUNNING
            slot.requested       slot.requested       WAITING
            slot.granted         slot.granted         RUNNING
            execution.late       execution.late       RUNNING
            notification.requested notification.requested REQUESTED
            execution.stalled    execution.stalled    RUNNING
            execution.rewound    execution.rewound    RUNNING
            reported             reported             REPORTED
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn two_kinds_of_events_never_share_a_public_name() {
        let mut names: Vec<&str> = EventTag::ALL.iter().map(|tag| name_of(*tag).0).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), EventTag::ALL.len());
    }

    #[track_caller]
    fn check(names: &[&str], expected: EventMeaning) {
        for name in names {
            assert_eq!(EventMeaning::of(name), expected, "{name}");
        }
    }

    #[test]
    fn both_spellings_of_a_tool_that_returned_are_understood() {
        check(&["call.done", "action_done"], EventMeaning::ToolReturned);
    }

    #[test]
    fn every_spelling_of_a_failed_command_is_understood() {
        check(&["call.error", "command.failed", "action_failed"], EventMeaning::CommandFailed);
    }

    #[test]
    fn nobody_else_can_end_an_execution() {
        check(
            &["playbook.completed", "playbook.failed", "execution.cancelled", "step.enter"],
            EventMeaning::Reserved,
        );
    }

    #[test]
    fn an_end_of_an_old_log_is_taken_only_where_the_execution_has_come_to_it() {
        use ExecutionStatus::{Cancelled, Completed, Failed, Running};
        for (name, told) in [
            ("playbook_completed", Completed),
            ("playbook_failed", Failed),
            ("playbook_cancelled", Cancelled),
        ] {
            for status in [Running, Completed, Failed, Cancelled] {
                let meaning = EventMeaning::of(name);
                assert_eq!(meaning.forges(status), told != status, "{name} at {status}");
            }
        }
    }

    #[test]
    fn steps_of_an_old_log_forge_nothing_and_our_own_names_always_do() {
        for status in ExecutionStatus::ALL {
            for name in ["step_enter", "step_started", "step_completed", "step_failed", "note"] {
                assert!(!EventMeaning::of(name).forges(*status), "{name} at {status}");
            }
            for name in ["step.enter", "playbook_started", "playbook.completed", "command.issued"] {
                assert!(EventMeaning::of(name).forges(*status), "{name} at {status}");
            }
        }
    }

    #[test]
    fn a_reported_event_keeps_its_status() {
        for (body, expected) in [
            (serde_json::json!({ "status": "FAILED" }), "FAILED"),
            (serde_json::json!({ "status": null }), "REPORTED"),
            (serde_json::json!({}), "REPORTED"),
        ] {
            let event = Event::Reported { name: "step_completed".to_owned(), step: None, body };
            assert_eq!(public_name(&event), ("step_completed", expected));
        }
    }

    #[test]
    fn an_unknown_event_name_is_a_fact_that_changes_no_state() {
        check(&["subscription.rate_limited", "step.exit", ""], EventMeaning::Fact);
    }
}
