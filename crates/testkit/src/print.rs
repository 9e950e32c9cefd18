//! Events as readable lines, for expectations in tests.

use std::sync::Arc;

use noetl_model::{Event, ItemSource, Payload, Place, ScopeTarget, TimerPurpose, WaitCondition};
use serde_json::Value;

/// Returns an event as a line; `None` for events that every story has.
#[expect(clippy::too_many_lines, reason = "one short arm per event")]
pub fn history_line(event: &Event, resolve: &dyn Fn(&Payload) -> Arc<Value>) -> Option<String> {
    let line = match event {
        Event::ExecutionStarted { .. } | Event::CommandClaimed { .. } => return None,
        Event::ExecutionForked { origin, .. } => {
            format!("fork {} at {}", origin.execution, origin.seq)
        }
        Event::StepEntered { step, from, .. } if from.is_empty() => format!("enter {step}"),
        Event::StepEntered { step, from, .. } => {
            let from: Vec<&str> = from.iter().map(noetl_model::StepName::as_str).collect();
            format!("enter {step} from {}", from.join(", "))
        }
        Event::StepSkipped { step, reason, from: _ } => format!("skip {step} ({reason:?})"),
        Event::StepAwaited { step, from } => format!("await {step}, reached from {from}"),
        Event::LoopOpened { items, mode, in_flight_max, .. } => {
            let items = match items {
                ItemSource::Range(len) => format!("{len} numbers"),
                ItemSource::List { len, .. } => format!("{len} items"),
                ItemSource::Cursor => "frames".to_owned(),
            };
            format!("loop over {items}, {mode:?}, {in_flight_max} in flight")
        }
        Event::FrameOpened { frame, len, .. } => format!("frame {frame} of {len}"),
        Event::IterationCompleted { index, error: Some(error), .. } => {
            format!("item {index} failed, taken care of: {}", error.message)
        }
        Event::IterationCompleted { index, output: None, .. } => format!("item {index} done"),
        Event::IterationCompleted { index, output: Some(output), .. } => {
            format!("item {index} done: {}", resolve(output))
        }
        Event::IterationFailed { index, error, .. } => format!("item {index} failed: {error}"),
        Event::CommandIssued { command, task, step, tool, .. } => {
            let place = match task.place {
                Place::Task(0) => String::new(),
                Place::Task(task) => format!(" task {task}"),
                Place::Item { index, task: 0 } => format!(" item {index}"),
                Place::Item { index, task } => format!(" item {index} task {task}"),
                Place::Claim { frame } => format!(" claim {frame}"),
            };
            let retry =
                if task.retry == 0 { String::new() } else { format!(" retry {}", task.retry) };
            format!("issue {command}: {step}{place}{retry} ({tool})")
        }
        Event::CommandParked { command, attempt, worker } => {
            format!("park {command}: attempt {attempt} of {worker}")
        }
        Event::WaitOpened { command, condition, .. } => match condition {
            WaitCondition::Time { until } => format!("wait {command}: until {until}"),
            WaitCondition::Signal { name, key: None } => {
                format!("wait {command}: for signal {name}")
            }
            WaitCondition::Signal { name, key: Some(key) } => {
                format!("wait {command}: for signal {name} of {key}")
            }
        },
        Event::SignalReceived { name, body, .. } => format!("signal {name}: {}", resolve(body)),
        Event::SignalDelivered { command, signal } => format!("signal {signal} ends {command}"),
        Event::ApprovalRequested { command, request } => {
            format!("approval {command}: {}", request.title)
        }
        Event::ApprovalDecided { command, verdict, actor, values, .. } => {
            let by = actor.as_deref().unwrap_or("nobody");
            format!("{verdict} {command} by {by}: {}", resolve(values))
        }
        Event::ExecutionPaused { .. } => "pause".to_owned(),
        Event::ExecutionResumed { .. } => "resume".to_owned(),
        Event::SlotRequested { command, limit, .. } => match command {
            Some(command) => format!("ask {} for {command}", limit.name),
            None => format!("ask {}", limit.name),
        },
        Event::SlotGranted { command, limit } => match command {
            Some(command) => format!("{limit} granted to {command}"),
            None => format!("{limit} granted"),
        },
        Event::CommandCompleted { command, output, .. } => {
            format!("done {command}: {}", resolve(output))
        }
        Event::CommandFailed { command, error, .. } => {
            format!("fail {command}: {} ({})", error, error.kind)
        }
        Event::CommandCancelled { command, reason, .. } => format!("cancel {command}: {reason}"),
        Event::AttemptSuperseded { command, attempt, worker } => {
            format!("superseded {command}: attempt {attempt} of {worker}")
        }
        Event::ChildStarted { command, child } => format!("child of {command}: {child}"),
        Event::ContextUpdated { target, values, large } => {
            let target = match target {
                ScopeTarget::Execution => "ctx".to_owned(),
                ScopeTarget::Run { .. } => "step".to_owned(),
                ScopeTarget::Item { index, .. } => format!("item {index}"),
            };
            let large = large
                .iter()
                .map(|(name, at)| (name.clone(), (*resolve(&Payload::Ref(*at))).clone()));
            let values: Value = values.clone().into_iter().chain(large).collect();
            format!("set {target}: {values}")
        }
        Event::TimerSet { timer, purpose, .. } => {
            let purpose = match purpose {
                TimerPurpose::Retry { .. } => "retry",
                TimerPurpose::WaitEnd { .. } => "end of a wait",
                TimerPurpose::StepTimeout { .. } => "step timeout",
                TimerPurpose::TaskTimeout { .. } => "task timeout",
                TimerPurpose::ExecutionTimeout => "execution timeout",
                TimerPurpose::HeldStart => "held start",
                TimerPurpose::Late => "expected end",
            };
            format!("timer {timer} set ({purpose})")
        }
        Event::TimerFired { timer } => format!("timer {timer} fired"),
        Event::TimerCancelled { timer } => format!("timer {timer} cancelled"),
        Event::StepCompleted { step, output: None, .. } => format!("leave {step}"),
        Event::StepCompleted { step, output: Some(output), .. } => {
            format!("leave {step}: {}", resolve(output))
        }
        Event::StepFailed { step, error, handled, .. } => {
            format!("step {step} failed{}: {error}", if *handled { ", handled" } else { "" })
        }
        Event::ExecutionCompleted { output, .. } => format!("COMPLETED {}", resolve(output)),
        Event::ExecutionFailed { error, .. } => format!("FAILED {error}"),
        Event::ExecutionCancelled { reason, .. } => format!("CANCELLED {reason}"),
        Event::ExecutionLate { .. } => "LATE".to_owned(),
        Event::NotificationRequested { reason, document, target, problems } => {
            let by = document.as_ref().map(|path| format!(" by {path}")).unwrap_or_default();
            let target = serde_json::to_string(target).expect("a target is JSON");
            let problems: String = problems.iter().map(|it| format!(" ({it})")).collect();
            format!("notify {reason}{by}: {target}{problems}")
        }
        Event::ExecutionStalled { detail } => format!("stalled: {detail}"),
        Event::ExecutionRewound { seen, found } => format!("rewound from {seen} to {found}"),
        Event::Reported { name, .. } => format!("reported {name}"),
    };
    Some(line + "\n")
}
