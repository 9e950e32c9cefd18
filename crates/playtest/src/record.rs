//! A test written from the log of an execution: its workload, the results of its calls as mocks, its
//! signals and decisions, and its end as expectations. Values that look like secrets are masked.

mod known_secrets;
mod mask;
mod mocks;
mod secret_words;

use std::collections::BTreeSet;
use std::sync::Arc;

use noetl_model::{CommandId, Event, Payload, Recorded, StepName, Timestamp, Verdict};
use noetl_playbook::Playbook;
use serde_json::{Map, Value, json};

use crate::history::{HistoryError, StoredValues};
use mask::Mask;
use mocks::RecordedCalls;

/// A test file as a document, and the number of masked values.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedTest {
    pub document: Value,
    pub masked: usize,
    /// True if the execution has not ended, or was ended from outside, which a test cannot repeat.
    pub is_partial: bool,
}

/// The playbook of a recorded test.
#[derive(Debug, Clone, Copy)]
pub struct RecordedPlaybook<'a> {
    pub playbook: &'a Playbook,
    /// The value of its document, whose secrets are masked wherever they appear.
    pub document: &'a Value,
    /// The file that the test names; `None` if it is beside the test.
    pub file: Option<&'a str>,
}

/// Writes a test with a name from the log of an execution.
pub fn record_test(
    recorded: RecordedPlaybook<'_>,
    log: &[Recorded],
    values: &StoredValues,
    name: &str,
) -> Result<RecordedTest, HistoryError> {
    let RecordedPlaybook { playbook, document, file } = recorded;
    let first = log.first().ok_or(HistoryError::NoStart)?;
    let Event::ExecutionStarted { workload, .. } = &first.event else {
        return Err(HistoryError::NoStart);
    };
    let mut mask = Mask::new(playbook, document, log, values);
    let resolve = |payload: &Payload| resolve(payload, values);
    let mut test = Map::new();
    test.insert("name".to_owned(), json!(name));
    let given = mask.workload(&given_values(playbook, &*resolve(workload)?));
    insert(&mut test, "workload", Value::Object(given));
    test.insert("now".to_owned(), json!(first.at.to_string()));
    let mut seen = SeenFacts::new(first.at);
    let mut calls = RecordedCalls::default();
    for recorded in log {
        seen.see(recorded, &resolve, &mut mask)?;
        calls.see(playbook, recorded, &resolve, &mut mask)?;
    }
    insert(&mut test, "mocks", calls.into_mocks());
    insert(&mut test, "signals", Value::Array(seen.signals));
    insert(&mut test, "decisions", Value::Array(seen.decisions));
    let mut expect = seen.end;
    let executed: Vec<&str> = seen.executed.iter().map(StepName::as_str).collect();
    expect.insert("executed".to_owned(), json!(executed));
    let skipped: Vec<&str> = seen.skipped.iter().map(StepName::as_str).collect();
    insert(&mut expect, "skipped", json!(skipped));
    test.insert("expect".to_owned(), Value::Object(expect));
    let mut document = Map::new();
    if let Some(file) = file {
        document.insert("playbook".to_owned(), json!(file));
    }
    document.insert("tests".to_owned(), json!([test]));
    let document = Value::Object(document);
    Ok(RecordedTest { document, masked: mask.count, is_partial: !seen.has_ended })
}

/// Adds a value, unless it is empty.
fn insert(map: &mut Map<String, Value>, key: &str, value: Value) {
    let is_empty = match &value {
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    if !is_empty {
        map.insert(key.to_owned(), value);
    }
}

fn resolve(payload: &Payload, values: &StoredValues) -> Result<Arc<Value>, HistoryError> {
    match payload {
        Payload::Inline(value) => Ok(value.clone()),
        Payload::Ref(reference) => values
            .get(&reference.digest)
            .cloned()
            .ok_or(HistoryError::MissingValue(reference.digest)),
    }
}

/// Returns the values of a workload that are not the playbook's defaults.
fn given_values(playbook: &Playbook, workload: &Value) -> Map<String, Value> {
    let entries = workload.as_object().into_iter().flatten();
    let given = entries.filter(|(name, value)| playbook.workload.get(*name) != Some(value));
    given.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The facts of a log that are not results of calls.
struct SeenFacts {
    started_at: Timestamp,
    signals: Vec<Value>,
    decisions: Vec<Value>,
    /// The approvals that wait: command, step, time.
    asked: Vec<(CommandId, StepName, Timestamp)>,
    /// The steps of the commands.
    steps: Vec<(CommandId, StepName)>,
    executed: BTreeSet<StepName>,
    skipped: BTreeSet<StepName>,
    end: Map<String, Value>,
    has_ended: bool,
}

impl SeenFacts {
    fn new(started_at: Timestamp) -> Self {
        Self {
            started_at,
            signals: Vec::new(),
            decisions: Vec::new(),
            asked: Vec::new(),
            steps: Vec::new(),
            executed: BTreeSet::new(),
            skipped: BTreeSet::new(),
            end: Map::new(),
            has_ended: false,
        }
    }

    fn see(
        &mut self,
        recorded: &Recorded,
        resolve: &dyn Fn(&Payload) -> Result<Arc<Value>, HistoryError>,
        mask: &mut Mask,
    ) -> Result<(), HistoryError> {
        if let Event::StepEntered { step, .. } = &recorded.event {
            self.executed.insert(step.clone());
        } else if let Event::StepSkipped { step, .. } = &recorded.event {
            self.skipped.insert(step.clone());
        } else if let Event::CommandIssued { command, step, .. } = &recorded.event {
            self.steps.push((*command, step.clone()));
        } else if let Event::ApprovalRequested { command, .. } = &recorded.event {
            let step = self.steps.iter().rev().find(|(known, _)| known == command);
            self.asked.extend(step.map(|(_, step)| (*command, step.clone(), recorded.at)));
        } else if let Event::ExecutionCompleted { output, actor: None } = &recorded.event {
            self.has_ended = true;
            self.end.insert("output".to_owned(), mask.value(&*resolve(output)?));
        } else if let Event::ExecutionFailed { error, steps, actor: None } = &recorded.event {
            self.has_ended = true;
            let mut expected = Map::new();
            expected.insert("kind".to_owned(), json!(error.kind));
            expected.insert("message".to_owned(), json!(mask.text(&error.message)));
            if let Some(step) = steps.first() {
                expected.insert("step".to_owned(), json!(step.as_str()));
            }
            self.end.insert("error".to_owned(), Value::Object(expected));
        } else {
            self.see_message(recorded, resolve, mask)?;
        }
        Ok(())
    }

    /// Notes a signal or a decision.
    fn see_message(
        &mut self,
        recorded: &Recorded,
        resolve: &dyn Fn(&Payload) -> Result<Arc<Value>, HistoryError>,
        mask: &mut Mask,
    ) -> Result<(), HistoryError> {
        if let Event::SignalReceived { name, body, sender, correlation, .. } = &recorded.event {
            let mut signal = Map::new();
            signal.insert("name".to_owned(), json!(name.as_str()));
            if let Some(key) = correlation {
                signal.insert("key".to_owned(), json!(mask.text(&key.to_string())));
            }
            signal.insert("at".to_owned(), since(self.started_at, recorded.at));
            signal.insert("body".to_owned(), mask.value(&*resolve(body)?));
            if let Some(sender) = sender {
                signal.insert("sender".to_owned(), mask.value(&json!(sender)));
            }
            self.signals.push(Value::Object(signal));
        } else if let Event::ApprovalDecided {
            command,
            verdict,
            actor,
            actor_stated: _,
            link_by: _,
            comment,
            values,
            timed_out: false,
        } = &recorded.event
        {
            let Some((_, step, at)) = self.asked.iter().find(|(asked, _, _)| asked == command)
            else {
                return Ok(());
            };
            let mut decision = Map::new();
            decision.insert("step".to_owned(), json!(step.as_str()));
            let verdict = match verdict {
                Verdict::Approved => "approved",
                Verdict::Rejected => "rejected",
            };
            decision.insert("verdict".to_owned(), json!(verdict));
            decision.insert("after".to_owned(), since(*at, recorded.at));
            for (key, value) in [("actor", actor), ("comment", comment)] {
                if let Some(value) = value {
                    decision.insert(key.to_owned(), mask.value(&json!(value)));
                }
            }
            insert(&mut decision, "values", mask.value(&*resolve(values)?));
            self.decisions.push(Value::Object(decision));
        }
        Ok(())
    }
}

/// Returns a time span as the text of a duration.
fn since(earlier: Timestamp, later: Timestamp) -> Value {
    json!(format!("{}ms", later.since(earlier).as_millis()))
}
