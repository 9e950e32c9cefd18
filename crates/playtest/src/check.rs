//! Compares the expectations of a test with the end of its execution.

use std::collections::BTreeSet;
use std::time::Duration;

use noetl_model::{Event, ExecutionStatus, StepName, ToolError};
use noetl_playbook::{ExpectedCall, ExpectedError, ExpectedStatus, TestExpectations};
use serde_json::{Value, json};

use crate::call::RenderedCall;
use crate::difference::{FaultLine, MatchMode, differences, matches, shown};
use crate::outcome::{TestFault, TestOutcome};
use crate::virtual_execution::VirtualExecution;

/// The most calls listed in a fault.
const CALLS_SHOWN_MAX: usize = 3;

/// The most events of the expected type listed in a fault.
const EVENTS_SHOWN_MAX: usize = 3;

/// The end of the tested execution.
pub(crate) struct ExecutionEnd<'a, 'p> {
    pub(crate) execution: &'a VirtualExecution<'p>,
    pub(crate) output: Value,
    pub(crate) calls: &'a [RenderedCall],
    pub(crate) duration: Duration,
}

/// Returns the outcome of a test whose start was refused.
pub(crate) fn refused(expect: &TestExpectations, reason: &str) -> TestOutcome {
    let message = expect.error.as_ref().and_then(|error| error.message.as_deref());
    let faults = match (status_of(expect), message) {
        (ExpectedStatus::Refused, Some(part)) if !reason.contains(part) => {
            vec![TestFault::new("the reason of the refusal differs").diff(both(part, reason))]
        }
        (ExpectedStatus::Refused, _) => Vec::new(),
        (ExpectedStatus::Completed | ExpectedStatus::Failed | ExpectedStatus::Cancelled, _) => {
            vec![TestFault::new(format!("the start is refused: {reason}"))]
        }
    };
    TestOutcome {
        faults,
        log: Vec::new(),
        calls: Vec::new(),
        entered: Vec::new(),
        coverage: Vec::new(),
        duration: Duration::ZERO,
    }
}

/// Returns all differences from the expectations.
pub(crate) fn faults(expect: &TestExpectations, end: &ExecutionEnd<'_, '_>) -> Vec<TestFault> {
    let mut faults = Vec::new();
    if let Some(fault) = status_fault(expect, end) {
        faults.push(fault);
    }
    if end.execution.state.status() == ExecutionStatus::Completed {
        let output = |expected: &Option<Value>, mode| {
            let lines = differences("output", expected.as_ref()?, &end.output, mode);
            (!lines.is_empty()).then(|| TestFault::new("the output differs").diff(lines))
        };
        faults.extend(output(&expect.output, MatchMode::Exact));
        faults.extend(output(&expect.output_includes, MatchMode::Includes));
    }
    if let Some(error) = &expect.error {
        faults.extend(error_fault(error, end));
    }
    faults.extend(step_faults(expect, end));
    for call in &expect.calls {
        faults.extend(call_fault(call, end));
    }
    faults.extend(expect.events.iter().filter_map(|event| event_fault(event, end)));
    faults.extend(value_faults(expect, end));
    if let Some(expected) = expect.duration.filter(|expected| *expected != end.duration) {
        let (expected, actual) = (format!("{expected:?}"), format!("{:?}", end.duration));
        faults.push(TestFault::new("the duration differs").diff(both(&expected, &actual)));
    }
    faults
}

fn both(expected: &str, actual: &str) -> Vec<FaultLine> {
    vec![FaultLine::Expected(expected.to_owned()), FaultLine::Actual(actual.to_owned())]
}

/// Returns the expected status: failed if an error is expected, else completed.
fn status_of(expect: &TestExpectations) -> ExpectedStatus {
    expect.status.unwrap_or(match &expect.error {
        Some(_) => ExpectedStatus::Failed,
        None => ExpectedStatus::Completed,
    })
}

fn status_fault(expect: &TestExpectations, end: &ExecutionEnd<'_, '_>) -> Option<TestFault> {
    let expected = status_of(expect);
    let actual = match end.execution.state.status() {
        ExecutionStatus::Completed => "completed",
        ExecutionStatus::Failed => "failed",
        ExecutionStatus::Cancelled => "cancelled",
        ExecutionStatus::Running => "running",
    };
    if expected.as_str() == actual {
        return None;
    }
    let mut diff = both(expected.as_str(), actual);
    if let Some((error, steps)) = failure(end) {
        let steps: Vec<&str> = steps.iter().map(StepName::as_str).collect();
        let place =
            if steps.is_empty() { String::new() } else { format!(" in {}", steps.join(", ")) };
        diff.push(FaultLine::Actual(format!("{}{place}: {}", error.kind, error.message)));
    }
    Some(TestFault::new("the status differs").diff(diff))
}

/// Returns the error of a failed execution, and the steps that failed.
fn failure<'e>(end: &'e ExecutionEnd<'_, '_>) -> Option<(&'e ToolError, &'e [StepName])> {
    for recorded in end.execution.log.iter().rev() {
        if let Event::ExecutionFailed { error, steps, .. } = &recorded.event {
            return Some((error, steps));
        }
    }
    None
}

fn error_fault(expected: &ExpectedError, end: &ExecutionEnd<'_, '_>) -> Option<TestFault> {
    let Some((error, steps)) = failure(end) else {
        let is_expected = end.execution.state.status() == ExecutionStatus::Failed;
        return is_expected.then(|| TestFault::new("the execution failed without an error"));
    };
    let mut diff = Vec::new();
    let mut add = |place: &str, expected: &str, actual: &str| {
        diff.push(FaultLine::Place(place.to_owned()));
        diff.extend(both(expected, actual));
    };
    if let Some(kind) = expected.kind.as_deref().filter(|kind| *kind != error.kind.as_str()) {
        add("error.kind", kind, error.kind.as_str());
    }
    if let Some(part) = expected.message.as_deref().filter(|part| !error.message.contains(part)) {
        add("error.message", part, &error.message);
    }
    if let Some(step) = expected.step.as_ref().filter(|step| !steps.contains(step)) {
        let steps: Vec<&str> = steps.iter().map(StepName::as_str).collect();
        add("error.step", step.as_str(), &steps.join(", "));
    }
    (!diff.is_empty()).then(|| TestFault::new("the error differs").diff(diff))
}

fn step_faults(expect: &TestExpectations, end: &ExecutionEnd<'_, '_>) -> Vec<TestFault> {
    let entered = end.execution.entered();
    let mut faults = Vec::new();
    if let Some(expected) = &expect.executed {
        let actual: BTreeSet<&str> = entered.iter().copied().collect();
        faults.extend(set_fault("the executed steps differ", expected, &actual));
    }
    if let Some(expected) = &expect.skipped {
        let actual = end.execution.skipped();
        faults.extend(set_fault("the skipped steps differ", expected, &actual));
    }
    if let Some(expected) = &expect.order {
        let mut rest = entered.iter();
        let is_in_order = expected.iter().all(|step| rest.any(|entered| *entered == step.as_str()));
        if !is_in_order {
            let expected: Vec<&str> = expected.iter().map(StepName::as_str).collect();
            let diff = both(&expected.join(", "), &entered.join(", "));
            faults.push(TestFault::new("the steps have another order").diff(diff));
        }
    }
    faults
}

fn set_fault(message: &str, expected: &[StepName], actual: &BTreeSet<&str>) -> Option<TestFault> {
    let expected: BTreeSet<&str> = expected.iter().map(StepName::as_str).collect();
    let missing = expected.difference(actual).map(|step| FaultLine::Expected((*step).to_owned()));
    let extra = actual.difference(&expected).map(|step| FaultLine::Actual((*step).to_owned()));
    let diff: Vec<FaultLine> = missing.chain(extra).collect();
    (!diff.is_empty()).then(|| TestFault::new(message).diff(diff))
}

fn call_fault(expected: &ExpectedCall, end: &ExecutionEnd<'_, '_>) -> Option<TestFault> {
    let path = &end.execution.playbook.metadata.path;
    let candidates: Vec<&RenderedCall> = end
        .calls
        .iter()
        .filter(|call| call.playbook == *path && call.step == expected.step)
        .filter(|call| expected.task.as_ref().is_none_or(|task| *task == call.task))
        .filter(|call| expected.item.is_none_or(|item| Some(item) == call.item))
        .filter(|call| expected.attempt.is_none_or(|attempt| attempt == call.attempt))
        .collect();
    let fits = |call: &&&RenderedCall| {
        expected.with.as_ref().is_none_or(|with| matches(with, &call.with, MatchMode::Includes))
    };
    let found = candidates.iter().filter(fits).count();
    let step = &expected.step;
    match expected.times {
        Some(times) if found == times as usize => None,
        None if found > 0 => None,
        Some(times) => {
            let message = format!("step `{step}` has another number of such calls");
            let diff = both(&times.to_string(), &found.to_string());
            Some(TestFault::new(message).diff(diff))
        }
        None => {
            let (Some(with), Some(first)) = (&expected.with, candidates.first()) else {
                return Some(TestFault::new(format!("step `{step}` has no such call")));
            };
            // With one candidate, the difference is clear; else all of them are listed.
            let diff = if candidates.len() == 1 {
                differences("with", with, &first.with, MatchMode::Includes)
            } else {
                let shown_calls = candidates.iter().take(CALLS_SHOWN_MAX);
                let found = shown_calls.map(|call| FaultLine::Actual(shown(&call.with)));
                std::iter::once(FaultLine::Expected(shown(with))).chain(found).collect()
            };
            Some(TestFault::new(format!("no call of step `{step}` is as expected")).diff(diff))
        }
    }
}

/// Returns a fault if the log has no event with the expected fields.
fn event_fault(expected: &Value, end: &ExecutionEnd<'_, '_>) -> Option<TestFault> {
    let events = end.execution.log.iter();
    let events: Vec<Value> = events
        .map(|recorded| serde_json::to_value(&recorded.event).expect("an event is JSON"))
        .filter(|event| event.get("type") == expected.get("type"))
        .collect();
    if events.iter().any(|event| matches(expected, event, MatchMode::Includes)) {
        return None;
    }
    let found = events.iter().take(EVENTS_SHOWN_MAX).map(|event| FaultLine::Actual(shown(event)));
    let diff = std::iter::once(FaultLine::Expected(shown(expected))).chain(found).collect();
    Some(TestFault::new("the log has no such event").diff(diff))
}

/// Compares outputs of steps and values of `ctx`.
fn value_faults(expect: &TestExpectations, end: &ExecutionEnd<'_, '_>) -> Vec<TestFault> {
    let state = &end.execution.state;
    let mut faults = Vec::new();
    for (step, expected) in &expect.outputs {
        let output = state.step_output(step.as_str()).map(|output| end.execution.resolve(output));
        let actual = output.map_or(json!(null), |output| (*output).clone());
        let lines = differences(step.as_str(), expected, &actual, MatchMode::Exact);
        if !lines.is_empty() {
            let message = format!("the output of step `{step}` differs");
            faults.push(TestFault::new(message).diff(lines));
        }
    }
    for (name, expected) in &expect.context {
        let value = state.context_value(name).map(|value| end.execution.resolve(value));
        let actual = value.map_or(json!(null), |value| (*value).clone());
        let lines = differences(&format!("ctx.{name}"), expected, &actual, MatchMode::Exact);
        if !lines.is_empty() {
            faults.push(TestFault::new(format!("`ctx.{name}` differs")).diff(lines));
        }
    }
    faults
}
