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
#[allow(clippy::too_many_lines, reason = "one short arm per event")]
fn about(event: &Event) -> String {
    match event {
        Event::ExecutionStarted { .. }
        | Event::ExecutionForked { .. }
        | Event::ExecutionCompleted { .. }
        | Event::ExecutionFailed { .. }
        | Event::ExecutionCancelled { .. }
        | Event::ExecutionLate { .. }
        | Event::NotificationRequested { .. }
        | Event::ExecutionStalled { .. }
        | Event::ExecutionRewound { .. } => about_execution(event),
        Event::StepEntered { step, from, .. } => entered(step, from),
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
        Event::CommandIssued { command, task, step, tool, cache, .. } => {
            let reused = cache.as_ref().and_then(|cache| cache.reused);
            let reused = reused.map(|it| format!(", reuses the output of {}", it.execution));
            format!(
                "command {command}  {step}  {tool}, {}{}",
                place(task),
                reused.unwrap_or_default()
            )
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
        Event::ApprovalRequested { command, request } => {
            format!("command {command}  waits for approval: {}", request.title)
        }
        Event::ApprovalDecided {
            command, verdict, actor, actor_stated, link_by, comment, ..
        } => {
            let stated = match (link_by, actor_stated) {
                (Some(maker), _) => format!(" (link of {maker})"),
                (None, true) => " (stated)".to_owned(),
                (None, false) => String::new(),
            };
            let by = actor.as_ref().map(|actor| format!(" by {actor}{stated}"));
            let by = by.unwrap_or_default();
            let said = comment.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
            format!("command {command}  {verdict}{by}{said}")
        }
        Event::ExecutionPaused { .. }
        | Event::ExecutionResumed { .. }
        | Event::SlotRequested { .. }
        | Event::SlotGranted { .. } => held(event),
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
        Event::StepCompleted { step, output, .. } => left(step, output.as_ref()),
        Event::StepFailed { step, error, handled, .. } => {
            format!("{step}  {}{}", failed(error), if *handled { ", handled" } else { "" })
        }
        Event::Reported { name: text, step: None, .. } => text.clone(),
        Event::Reported { name, step: Some(step), .. } => format!("{step}  {name}"),
    }
}

fn entered(step: &StepName, from: &[StepName]) -> String {
    if from.is_empty() { step.to_string() } else { format!("{step}  from {}", names(from)) }
}

fn left(step: &StepName, output: Option<&Payload>) -> String {
    output.map_or_else(|| step.to_string(), |output| format!("{step}  {}", value(output)))
}

fn waits(command: CommandId, condition: &WaitCondition) -> String {
    match condition {
        WaitCondition::Time { until } => format!("command {command}  waits until {}", day(*until)),
        WaitCondition::Signal { name, key: None } => {
            format!("command {command}  waits for signal {name}")
        }
        WaitCondition::Signal { name, key: Some(key) } => {
            format!("command {command}  waits for signal {name} with key {key}")
        }
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

/// Describes the content of an event about the whole execution.
fn about_execution(event: &Event) -> String {
    match event {
        Event::ExecutionStarted { playbook, workload, .. } => {
            format!("{}@{}  {}", playbook.path, playbook.version, value(workload))
        }
        Event::ExecutionForked { origin, .. } => {
            format!("from {} at event {}", origin.execution, origin.seq)
        }
        Event::ExecutionCompleted { output, .. } => value(output),
        Event::ExecutionFailed { error, .. } => failed(error),
        Event::ExecutionCancelled { reason, .. } => reason.clone(),
        Event::ExecutionLate { due_at } => format!("expected to end by {due_at}"),
        Event::NotificationRequested { reason, document, target, problems: _ } => {
            let by = document.as_ref().map(|path| format!(" by {path}")).unwrap_or_default();
            format!("{reason}{by}: {}", line(&target.receiver(), VALUE_CHARS_MAX))
        }
        Event::ExecutionStalled { detail } => detail.clone(),
        Event::ExecutionRewound { seen, found } => {
            format!("a server had seen {seen} events, the database had {found}")
        }
        other => other.tag().as_str().to_owned(),
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
        TimerPurpose::HeldStart => "check of an execution that has not begun".to_owned(),
        TimerPurpose::Late => "expected end of the execution".to_owned(),
    }
}

/// Returns the line of a pause or a slot; nothing for other events.
fn held(event: &Event) -> String {
    if let Event::ExecutionPaused { actor, reason, .. }
    | Event::ExecutionResumed { actor, reason } = event
    {
        return caller(actor.as_deref(), reason.as_deref());
    }
    if let Event::SlotRequested { command, limit, .. } = event {
        return format!("{}limit {} ({})", asking(*command), limit.name, limit.amount);
    }
    if let Event::SlotGranted { command, limit } = event {
        return format!("{}limit {limit}", asking(*command));
    }
    String::new()
}

/// Returns the caller of a pause or a resumption, and its reason.
fn caller(actor: Option<&str>, reason: Option<&str>) -> String {
    let actor = actor.map(|actor| format!("by {actor}"));
    let parts = [actor, reason.map(str::to_owned)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

/// Returns the command that asks for a slot; nothing for the execution itself.
fn asking(command: Option<CommandId>) -> String {
    command.map(|command| format!("command {command}  ")).unwrap_or_default()
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
