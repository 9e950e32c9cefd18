//! A picture of an execution at some event (context, steps, commands, loops) for comparison with
//! another.
//!
//! Invariant: a picture contains no ids or times, so that two executions with the same behaviour
//! have equal pictures.

use std::collections::BTreeMap;

use noetl_engine::{Execution, Illegal, begin, evolve_without_digest};
use noetl_model::{
    CommandId, Event, ExecutionId, ItemSource, Payload, Place, Recorded, RunId, StepName,
    TaskAddress,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The largest number of commands shown; further ones are only counted.
const COMMANDS_MAX: usize = 10_000;

/// A fold of events into a picture.
#[derive(Debug, Clone)]
pub struct ComparableState {
    execution: ExecutionId,
    state: Option<Execution>,
    commands: BTreeMap<String, ComparableCommand>,
    commands_left_out: u64,
    open: BTreeMap<CommandId, String>,
    runs: BTreeMap<RunId, StepName>,
    loops: BTreeMap<String, ComparableLoop>,
}

#[derive(Debug, Clone, Serialize)]
struct ComparableCommand {
    tool: String,
    status: &'static str,
    attempts: u32,
}

#[derive(Debug, Clone, Default, Serialize)]
struct ComparableLoop {
    total: Option<u64>,
    completed: u64,
    failed: u64,
    frames: u64,
}

impl ComparableState {
    pub fn new(execution: ExecutionId) -> Self {
        Self {
            execution,
            state: None,
            commands: BTreeMap::new(),
            commands_left_out: 0,
            open: BTreeMap::new(),
            runs: BTreeMap::new(),
            loops: BTreeMap::new(),
        }
    }

    /// Folds the next event. Fails if the event cannot follow the ones before it.
    pub fn see(&mut self, recorded: &Recorded) -> Result<(), Illegal> {
        match &mut self.state {
            None => self.state = Some(begin(self.execution, recorded)?),
            Some(state) => evolve_without_digest(state, recorded)?,
        }
        self.note(&recorded.event);
        Ok(())
    }

    /// Returns the number of folded events.
    pub fn event_count(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.seq().0)
    }

    /// Returns the picture as JSON.
    pub fn document(&self) -> Value {
        let Some(state) = &self.state else { return json!({}) };
        let context: Map<String, Value> =
            state.context().map(|(name, value)| (name.clone(), shown(value))).collect();
        let steps: Map<String, Value> = state
            .steps()
            .map(|step| {
                let shown = json!({
                    "status": step.status,
                    "runs": step.runs,
                    "output": shown(step.output),
                    "error": step.error.map(|error| &error.message),
                });
                (step.name.to_string(), shown)
            })
            .collect();
        let mut document = json!({
            "status": state.status(),
            "workload": shown(state.workload()),
            "context": context,
            "steps": steps,
            "commands": self.commands,
            "loops": self.loops,
        });
        if self.commands_left_out > 0 {
            document["commands_left_out"] = json!(self.commands_left_out);
        }
        document
    }

    #[allow(clippy::too_many_lines, reason = "one short arm per event")]
    fn note(&mut self, event: &Event) {
        match event {
            Event::StepEntered { run, step, .. } => {
                self.runs.insert(*run, step.clone());
            }
            Event::StepCompleted { run, .. } | Event::StepFailed { run, .. } => {
                self.runs.remove(run);
            }
            Event::CommandIssued { command, task, step, tool, .. } => {
                self.issued(*command, command_key(step, *task), tool.to_string());
            }
            Event::CommandClaimed { command, attempt, .. } => {
                if let Some(command) = self.command(*command) {
                    command.status = "RUNNING";
                    command.attempts = attempt.0;
                }
            }
            Event::CommandCompleted { command, .. } => self.ended(*command, "COMPLETED"),
            Event::CommandFailed { command, .. } => self.ended(*command, "FAILED"),
            Event::CommandCancelled { command, .. } => self.ended(*command, "CANCELLED"),
            Event::ChildStarted { command, .. } => {
                if let Some(command) = self.command(*command) {
                    command.status = "RUNNING";
                }
            }
            Event::LoopOpened { run, items, .. } => {
                if let Some(repeat) = self.repeat(*run) {
                    repeat.total = length(items);
                }
            }
            Event::FrameOpened { run, .. } => {
                if let Some(repeat) = self.repeat(*run) {
                    repeat.frames += 1;
                }
            }
            Event::IterationCompleted { run, error: None, .. } => {
                if let Some(repeat) = self.repeat(*run) {
                    repeat.completed += 1;
                }
            }
            Event::IterationCompleted { run, error: Some(_), .. }
            | Event::IterationFailed { run, .. } => {
                if let Some(repeat) = self.repeat(*run) {
                    repeat.failed += 1;
                }
            }
            Event::ExecutionForked { again, .. } => self.forked(again),
            Event::CommandParked { .. }
            | Event::WaitOpened { .. }
            | Event::SignalReceived { .. }
            | Event::SignalDelivered { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalDecided { .. }
            | Event::ExecutionPaused { .. }
            | Event::ExecutionResumed { .. }
            | Event::SlotRequested { .. }
            | Event::SlotGranted { .. }
            | Event::ExecutionStarted { .. }
            | Event::StepSkipped { .. }
            | Event::StepAwaited { .. }
            | Event::AttemptSuperseded { .. }
            | Event::ContextUpdated { .. }
            | Event::TimerSet { .. }
            | Event::TimerFired { .. }
            | Event::TimerCancelled { .. }
            | Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
            | Event::ExecutionLate { .. }
            | Event::NotificationRequested { .. }
            | Event::ExecutionStalled { .. }
            | Event::ExecutionRewound { .. }
            | Event::Reported { .. } => {}
        }
    }

    fn issued(&mut self, command: CommandId, key: String, tool: String) {
        if self.commands.len() == COMMANDS_MAX {
            self.commands_left_out += 1;
            return;
        }
        self.open.insert(command, key.clone());
        self.commands.insert(key, ComparableCommand { tool, status: "PENDING", attempts: 0 });
    }

    /// Uncounts the failures of loop items that a fork runs again.
    fn forked(&mut self, again: &[TaskAddress]) {
        for task in again.iter().filter(|task| task.place.item().is_some()) {
            if let Some(repeat) = self.repeat(task.run) {
                repeat.failed = repeat.failed.saturating_sub(1);
            }
        }
    }

    fn command(&mut self, command: CommandId) -> Option<&mut ComparableCommand> {
        self.commands.get_mut(self.open.get(&command)?)
    }

    fn ended(&mut self, command: CommandId, status: &'static str) {
        if let Some(command) = self.command(command) {
            command.status = status;
        }
        self.open.remove(&command);
    }

    fn repeat(&mut self, run: RunId) -> Option<&mut ComparableLoop> {
        let step = self.runs.get(&run)?;
        Some(self.loops.entry(format!("{step}#{run}")).or_default())
    }
}

/// Returns the key of a command from its place in the playbook: `step#run`, then `[item]` and
/// `.task` if there are several, then `~retry` for retries by a rule.
fn command_key(step: &StepName, task: TaskAddress) -> String {
    let TaskAddress { run, place, retry } = task;
    let place = match place {
        Place::Task(0) => String::new(),
        Place::Task(task) => format!(".{task}"),
        Place::Item { index, task: 0 } => format!("[{index}]"),
        Place::Item { index, task } => format!("[{index}].{task}"),
        Place::Claim { frame } => format!("[claim {frame}]"),
    };
    let again = if retry == 0 { String::new() } else { format!("~{retry}") };
    format!("{step}#{run}{place}{again}")
}

/// Returns the value of a payload, or digest and size if it is stored by reference.
fn shown(payload: &Payload) -> Value {
    match payload {
        Payload::Inline(value) => (**value).clone(),
        Payload::Ref(reference) => json!({ "sha256": reference.digest, "bytes": reference.size }),
    }
}

/// Returns the number of items of a loop; `None` if it is not known before.
fn length(items: &ItemSource) -> Option<u64> {
    match items {
        ItemSource::Range(len) | ItemSource::List { len, .. } => Some(*len),
        ItemSource::Cursor => None,
    }
}
