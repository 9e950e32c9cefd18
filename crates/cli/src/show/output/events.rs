//! Formats events on one line each, for people.

use std::collections::BTreeMap;

use noetl_compat::public_name;
use noetl_model::{
    CommandId, Event, EventTone, ItemSource, LoopMode, Payload, PayloadRef, Place, Recorded,
    ScopeTarget, SignalName, SkipReason, StepName, TaskAddress, TimerPurpose, ToolError,
    WaitCondition,
};
use serde_json::Value;

use super::table::line;
use super::time::{clock_millis, day};
use crate::show::terminal::{BAD, CAREFUL, FAINT, GOOD, paint};

/// The most characters of a value on a line.
const VALUE_CHARS_MAX: usize = 80;
const TAG_WIDTH: usize = 20;

/// Formats an event: `   12  12:00:01.250  step.exit             fetch`. The name is the public
/// one, as in feeds and streams.
pub(crate) fn event_line(recorded: &Recorded) -> String {
    let Recorded { seq, at, event, event_id: _, prev: _ } = recorded;
    let tag = format!("{:TAG_WIDTH$}", public_name(event).0);
    let tag = match event.tone() {
        EventTone::Success => paint(GOOD, tag),
        EventTone::Failure => paint(BAD, tag),
        EventTone::Warning => paint(CAREFUL, tag),
        EventTone::Neutral => tag,
    };
    let time = paint(FAINT, clock_millis(*at));
    let text = format!("{seq:>6}  {time}  {tag}  {}", about(event));
    text.trim_end().to_owned()
}

/// Describes the content of an event in a few words.
fn about(event: &Event) -> String {
    match event {
        Event::ExecutionStarted { playbook, workload, .. } => {
            format!("{}@{}  {}", playbook.path, playbook.version, value(workload))
        }
        Event::ExecutionForked { origin, .. } => {
            format!("from {} at event {}", origin.execution, origin.seq)
        }
        Event::StepEntered { step, from, .. } if from.is_empty() => step.to_string(),
        Event::StepEntered { step, from, .. } => format!("{step}  from {}", names(from)),
        Event::StepSkipped { step, reason, from: _ } => format!("{step}  {}", why_skipped(*reason)),
        Event::StepAwaited { step, from } => {
            format!("{step}  reached from {from}, waits for others")
        }
        Event::LoopOpened { run, items, mode, in_flight_max } => {
            format!("run {run}  {}, {}", source(items), way(*mode, *in_flight_max))
        }
        Event::FrameOpened { run, frame, len, .. } => {
            format!("run {run}  frame {frame}, {len} rows")
        }
        Event::IterationCompleted { run, index, .. } => format!("run {run}  item {index}"),
        Event::IterationFailed { run, index, error } => {
            format!("run {run}  item {index}  {}", failed(error))
        }
        Event::CommandIssued { command, task, step, tool, .. } => {
            format!("command {command}  {step}  {tool}, {}", place(task))
        }
        Event::CommandClaimed { command, attempt, worker, .. } => {
            format!("command {command}  attempt {attempt} by {worker}")
        }
        Event::CommandParked { command, attempt, worker } => {
            format!("command {command}  attempt {attempt} by {worker} waits for a callback")
        }
        Event::WaitOpened { command, condition, .. } => waits(*command, condition),
        Event::SignalReceived { name, body, sender, .. } => signalled(name, body, sender.as_ref()),
        Event::SignalDelivered { command, signal } => format!("command {command}  event {signal}"),
        Event::CommandCompleted { command, output, .. } => {
            format!("command {command}  {}", value(output))
        }
        Event::CommandFailed { command, error, .. } => {
            format!("command {command}  {}", failed(error))
        }
        Event::CommandCancelled { command, reason, .. } => format!("command {command}  {reason}"),
        Event::AttemptSuperseded { command, attempt, worker } => {
            format!("command {command}  attempt {attempt} by {worker} came too late")
        }
        Event::ChildStarted { command, child } => format!("command {command}  execution {child}"),
        Event::ContextUpdated { target, values, large } => {
            format!("{}  {}", owner(*target), listed(values, large))
        }
        Event::TimerSet { timer, due_at, purpose } => {
            format!("timer {timer}  {}, due {}", goal(purpose), day(*due_at))
        }
        Event::TimerFired { timer } | Event::TimerCancelled { timer } => format!("timer {timer}"),
        Event::StepCompleted { step, output: Some(output), .. } => {
            format!("{step}  {}", value(output))
        }
        Event::StepCompleted { step, output: None, .. } => step.to_string(),
        Event::StepFailed { step, error, handled, .. } => {
            format!("{step}  {}{}", failed(error), if *handled { ", handled" } else { "" })
        }
        Event::ExecutionCompleted { output } => value(output),
        Event::ExecutionFailed { error, .. } => failed(error),
        Event::ExecutionCancelled { reason, .. } => reason.clone(),
        Event::ExecutionStalled { detail } => detail.clone(),
        Event::ExecutionRewound { seen, found } => {
            format!("a server had seen {seen} events, the database had {found}")
        }
        Event::Reported { name, step: Some(step), .. } => format!("{step}  {name}"),
        Event::Reported { name, step: None, .. } => name.clone(),
    }
}

fn waits(command: CommandId, condition: &WaitCondition) -> String {
    match condition {
        WaitCondition::Time { until } => format!("command {command}  waits until {}", day(*until)),
        WaitCondition::Signal { name } => format!("command {command}  waits for signal {name}"),
    }
}

fn signalled(name: &SignalName, body: &Payload, sender: Option<&String>) -> String {
    match sender {
        Some(sender) => format!("{name}  from {sender}  {}", value(body)),
        None => format!("{name}  {}", value(body)),
    }
}

fn names(steps: &[StepName]) -> String {
    steps.iter().map(StepName::as_str).collect::<Vec<_>>().join(", ")
}

fn why_skipped(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::Guard => "its `when` is false",
        SkipReason::Admission => "its rules do not admit it",
        SkipReason::Stopped => "the execution was stopped",
    }
}

fn source(items: &ItemSource) -> String {
    match items {
        ItemSource::Range(total) | ItemSource::List { len: total, .. } => format!("{total} items"),
        ItemSource::Cursor => "items as they are claimed".to_owned(),
    }
}

fn way(mode: LoopMode, in_flight_max: u32) -> String {
    match mode {
        LoopMode::Sequential => "one by one".to_owned(),
        LoopMode::Parallel | LoopMode::Cursor => format!("at most {in_flight_max} at once"),
    }
}

fn owner(target: ScopeTarget) -> String {
    match target {
        ScopeTarget::Execution => "ctx".to_owned(),
        ScopeTarget::Run { run } => format!("run {run}"),
        ScopeTarget::Item { run, index } => format!("run {run} item {index}"),
    }
}

fn listed(values: &BTreeMap<String, Value>, large: &BTreeMap<String, PayloadRef>) -> String {
    let here = values.iter().map(|(name, value)| format!("{name}={value}"));
    let elsewhere = large.iter().map(|(name, at)| format!("{name}=({} bytes)", at.size));
    let values: Vec<String> = here.chain(elsewhere).collect();
    line(&values.join(" "), VALUE_CHARS_MAX)
}

fn goal(purpose: &TimerPurpose) -> String {
    match purpose {
        TimerPurpose::Retry { task } => format!("retry of {}", place(task)),
        TimerPurpose::WaitEnd { task } => format!("end of the wait of {}", place(task)),
        TimerPurpose::TaskTimeout { task } => format!("time limit of {}", place(task)),
        TimerPurpose::StepTimeout { run } => format!("time limit of run {run}"),
        TimerPurpose::ExecutionTimeout => "time limit of the execution".to_owned(),
    }
}

fn place(task: &TaskAddress) -> String {
    let place = match task.place {
        Place::Task(task) => format!("task {task}"),
        Place::Item { index, task } => format!("item {index} task {task}"),
        Place::Claim { frame } => format!("claim of frame {frame}"),
    };
    match task.retry {
        0 => place,
        retry => format!("{place}, retry {retry}"),
    }
}

fn failed(error: &ToolError) -> String {
    format!("{}: {}", error.kind, line(&error.message, VALUE_CHARS_MAX))
}

fn value(payload: &Payload) -> String {
    match payload {
        Payload::Inline(value) => line(&value.to_string(), VALUE_CHARS_MAX),
        Payload::Ref(reference) => format!("{} bytes, stored apart", reference.size),
    }
}
