//! The results of the calls of a log, as mocks with as few selectors as possible.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use noetl_model::{
    CommandId, Event, Payload, Place, Recorded, StepName, TaskAddress, ToolError, ToolKind,
    ToolRunner,
};
use noetl_playbook::{LoopSource, Playbook};
use serde_json::{Map, Value, json};

use super::mask::Mask;
use crate::history::HistoryError;

/// A call and its result.
#[derive(Debug, Clone)]
struct RecordedCall {
    task: TaskAddress,
    /// The `output` or `error` of the mock; `None` while the call runs.
    result: Option<Map<String, Value>>,
}

/// The calls of a log, by step and label, in the order in which they were issued.
#[derive(Debug, Default)]
pub(super) struct RecordedCalls {
    calls: BTreeMap<(StepName, String), Vec<RecordedCall>>,
    /// The place of each open call.
    open: BTreeMap<CommandId, (StepName, String, usize)>,
    /// The steps with several tasks, whose mocks name their task.
    pipelines: BTreeSet<StepName>,
}

/// The selectors that tell the calls of a task apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selectors {
    None,
    Item,
    Attempt,
    ItemAndAttempt,
    Call,
}

impl RecordedCalls {
    pub(super) fn see(
        &mut self,
        playbook: &Playbook,
        recorded: &Recorded,
        resolve: &dyn Fn(&Payload) -> Result<Arc<Value>, HistoryError>,
        mask: &mut Mask,
    ) -> Result<(), HistoryError> {
        if let Event::CommandIssued { command, task, step, tool, .. } = &recorded.event {
            if is_mocked(*tool)
                && let Some(label) = self.label_of(playbook, step, task.place)
            {
                let calls = self.calls.entry((step.clone(), label.clone())).or_default();
                self.open.insert(*command, (step.clone(), label, calls.len()));
                calls.push(RecordedCall { task: *task, result: None });
            }
        } else if let Event::CommandCompleted { command, output, .. } = &recorded.event {
            let output = mask.value(&*resolve(output)?);
            self.end(*command, [("output".to_owned(), output)].into_iter().collect());
        } else if let Event::CommandFailed { command, error, output, .. } = &recorded.event {
            let mut result = Map::new();
            result.insert("error".to_owned(), error_of(error, mask));
            if let Some(output) = output {
                result.insert("output".to_owned(), mask.value(&*resolve(output)?));
            }
            self.end(*command, result);
        }
        Ok(())
    }

    fn label_of(&mut self, playbook: &Playbook, step: &StepName, place: Place) -> Option<String> {
        let written = playbook.step(playbook.index_of(step.as_str())?);
        let claim = written.repeat.as_ref().and_then(|repeat| match &repeat.source {
            LoopSource::Cursor(task) => Some(&**task),
            LoopSource::In(_) => None,
        });
        if written.tasks.len() > 1 || claim.is_some() {
            self.pipelines.insert(step.clone());
        }
        let task = match place {
            Place::Task(task) | Place::Item { task, .. } => {
                written.tasks.get(usize::try_from(task).ok()?)?
            }
            Place::Claim { .. } => claim?,
        };
        Some(task.label.clone())
    }

    fn end(&mut self, command: CommandId, result: Map<String, Value>) {
        let Some((step, label, index)) = self.open.remove(&command) else { return };
        if let Some(calls) = self.calls.get_mut(&(step, label)) {
            calls[index].result = Some(result);
        }
    }

    /// Returns the mocks by step.
    pub(super) fn into_mocks(self) -> Value {
        let mut steps: BTreeMap<StepName, Vec<Value>> = BTreeMap::new();
        for ((step, label), calls) in self.calls {
            let is_pipeline = self.pipelines.contains(&step);
            let selectors = selectors_of(&calls);
            let mut mocks: Vec<Value> = Vec::new();
            for (index, call) in calls.into_iter().enumerate() {
                let Some(result) = call.result else { continue };
                let mut mock = Map::new();
                if is_pipeline {
                    mock.insert("task".to_owned(), json!(label));
                }
                mock.extend(chosen(selectors, &call.task, index));
                mock.extend(result);
                mocks.push(Value::Object(mock));
            }
            if selectors == Selectors::None {
                mocks.truncate(1);
            }
            steps.entry(step).or_default().extend(mocks);
        }
        let mocks = steps.into_iter().filter(|(_, mocks)| !mocks.is_empty());
        let mocks = mocks.map(|(step, mut mocks)| {
            let mock = if mocks.len() == 1 { mocks.remove(0) } else { Value::Array(mocks) };
            (step.to_string(), mock)
        });
        Value::Object(mocks.collect())
    }
}

/// True if the calls of a tool need a mock in a test.
fn is_mocked(tool: ToolKind) -> bool {
    match tool.runner() {
        ToolRunner::Worker => tool != ToolKind::Noop,
        ToolRunner::Control => tool == ToolKind::Playbook,
    }
}

fn error_of(error: &ToolError, mask: &mut Mask) -> Value {
    let mut map = Map::new();
    map.insert("kind".to_owned(), json!(error.kind));
    map.insert("message".to_owned(), json!(mask.text(&error.message)));
    if error.retryable != ToolError::new(error.kind, "").retryable {
        map.insert("retryable".to_owned(), json!(error.retryable));
    }
    if let Some(code) = &error.code {
        map.insert("code".to_owned(), json!(mask.text(code)));
    }
    if let Some(status) = error.status {
        map.insert("status".to_owned(), json!(status));
    }
    Value::Object(map)
}

/// Returns the fewest selectors that tell the calls of a task apart.
fn selectors_of(calls: &[RecordedCall]) -> Selectors {
    let results = || calls.iter().filter_map(|call| call.result.as_ref());
    if results().all(|result| Some(result) == results().next()) {
        return Selectors::None;
    }
    let key = |call: &RecordedCall| (call.task.place.item(), call.task.retry);
    let is_unique = calls.iter().map(key).collect::<BTreeSet<_>>().len() == calls.len();
    let has_items = calls.iter().all(|call| call.task.place.item().is_some());
    let has_retries = calls.iter().any(|call| call.task.retry > 0);
    match (is_unique, has_items, has_retries) {
        (true, true, false) => Selectors::Item,
        (true, true, true) => Selectors::ItemAndAttempt,
        (true, false, true) => Selectors::Attempt,
        (true, false, false) | (false, _, _) => Selectors::Call,
    }
}

fn chosen(selectors: Selectors, task: &TaskAddress, index: usize) -> Map<String, Value> {
    let item = ("item".to_owned(), json!(task.place.item()));
    let attempt = ("attempt".to_owned(), json!(task.retry + 1));
    match selectors {
        Selectors::None => Map::new(),
        Selectors::Item => [item].into_iter().collect(),
        Selectors::Attempt => [attempt].into_iter().collect(),
        Selectors::ItemAndAttempt => [item, attempt].into_iter().collect(),
        Selectors::Call => [("call".to_owned(), json!(index + 1))].into_iter().collect(),
    }
}
