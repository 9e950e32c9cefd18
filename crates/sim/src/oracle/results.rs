//! Comparison of the results with those of a world without faults.

use std::collections::{BTreeMap, BTreeSet};

use noetl_model::{Event, ExecutionId};
use serde_json::Value;

use super::{EndedWorld, StoredExecution};
use crate::client::ExecutionRequest;
use crate::expected::{ExpectedResult, end_of};

/// Checks that executions without timing limits, cancellations and lost commands end as they do
/// without faults. Returns their number.
pub(super) async fn compare(
    ended: &EndedWorld<'_>,
    found: &BTreeMap<ExecutionId, StoredExecution>,
) -> Result<u64, String> {
    let maimed = maimed(found);
    let mut compared = 0;
    for (&execution, known) in found {
        if known.summary.parent.is_some() || maimed.contains(&execution) {
            continue;
        }
        let request = request_of(ended, known).await?;
        let timed = ended.plan.document(&request.path).is_none_or(|document| document.timed);
        if timed || request.planned_end.is_some() {
            continue;
        }
        let (end, expected) = (end(ended, known).await?, end_of(ended.plan, request));
        if end != expected {
            let path = &request.path;
            let history = history(known);
            return Err(format!(
                "execution {execution} of `{path}` ended with {end:?}, without faults with \
                 {expected:?}\n{history}"
            ));
        }
        compared += 1;
    }
    Ok(compared)
}

/// Returns the executions that lost a command to crashing workers, in themselves or in a child. A
/// fork shares the children of its origin.
fn maimed(found: &BTreeMap<ExecutionId, StoredExecution>) -> BTreeSet<ExecutionId> {
    let lost = found.iter().filter(|(_, known)| known.account.lost > 0);
    let mut maimed: BTreeSet<ExecutionId> = lost.map(|(execution, _)| *execution).collect();
    loop {
        let above = found.iter().filter(|(execution, known)| {
            !maimed.contains(execution) && children(known).any(|child| maimed.contains(&child))
        });
        let above: Vec<ExecutionId> = above.map(|(execution, _)| *execution).collect();
        if above.is_empty() {
            return maimed;
        }
        maimed.extend(above);
    }
}

fn children(known: &StoredExecution) -> impl Iterator<Item = ExecutionId> {
    known.log.iter().filter_map(|recorded| {
        let Event::ChildStarted { child, .. } = &recorded.event else { return None };
        Some(*child)
    })
}

/// Returns the events of an execution as lines.
fn history(known: &StoredExecution) -> String {
    known.log.iter().map(|it| format!("{}: {:?}\n", it.seq, it.event)).collect()
}

async fn request_of<'a>(
    ended: &EndedWorld<'a>,
    known: &StoredExecution,
) -> Result<&'a ExecutionRequest, String> {
    let Some(Event::ExecutionStarted { workload, .. }) = known.log.first().map(|it| &it.event)
    else {
        return Err("the log does not begin with a start".to_owned());
    };
    let number = ended.value(workload).await?.get("request").and_then(Value::as_u64);
    number
        .and_then(|number| ended.plan.requests.get(usize::try_from(number).ok()?))
        .ok_or_else(|| format!("nobody asked for execution {}", known.summary.execution))
}

async fn end(ended: &EndedWorld<'_>, known: &StoredExecution) -> Result<ExpectedResult, String> {
    for recorded in &known.log {
        match &recorded.event {
            Event::ExecutionCompleted { output, .. } => {
                return Ok(ExpectedResult::Completed(ended.value(output).await?));
            }
            Event::ExecutionFailed { .. } => return Ok(ExpectedResult::Failed),
            Event::ExecutionCancelled { reason, .. } => return Err(format!("cancelled: {reason}")),
            _ => {}
        }
    }
    Err("it has not ended".to_owned())
}
