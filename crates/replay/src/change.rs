//! The difference between two states of an execution: the steps, variables and arcs that differ.
//!
//! Invariant: values are compared and not copied; the number of entries is bounded by the playbook.

use std::collections::BTreeMap;

use noetl_engine::{ArcCount, Execution, StepState};
use noetl_model::{ExecutionStatus, Payload, StepName};

/// The difference between two states.
#[derive(Debug, Clone)]
pub struct StateDifference<'a> {
    pub status: Option<(ExecutionStatus, ExecutionStatus)>,
    /// The steps that differ, by name.
    pub steps: Vec<StepDifference<'a>>,
    /// The variables of `ctx` that differ, by name.
    pub context: Vec<ValueDifference<'a>>,
    /// The workload, if it differs: a fork may change it.
    pub workload: Option<ValueDifference<'a>>,
    /// The arcs that differ, by their steps.
    pub arcs: Vec<ArcDifference<'a>>,
    /// The numbers of open commands, timers and joins, if they differ.
    pub open: Option<(usize, usize)>,
}

/// A step in two states; `None` where it was not reached.
#[derive(Debug, Clone, Copy)]
pub struct StepDifference<'a> {
    pub name: &'a StepName,
    pub before: Option<StepState<'a>>,
    pub after: Option<StepState<'a>>,
}

impl StepDifference<'_> {
    /// True if the outputs differ; a step that was not reached has the output null.
    pub fn has_other_output(&self) -> bool {
        let null = Payload::null();
        let before = self.before.map_or(&null, |step| step.output);
        before != self.after.map_or(&null, |step| step.output)
    }

    /// True if the step behaves the same in both states: status, runs, skip, error, items and
    /// output, not times and ids.
    pub fn is_alike(&self) -> bool {
        let told = |step: StepState<'_>| {
            let error = step.error.map(|it| (it.kind, it.message.clone(), it.code.clone()));
            let items = step.latest.and_then(|run| run.items);
            (step.status, step.runs, step.skipped.map(|it| it.reason), error, items)
        };
        self.before.map(told) == self.after.map(told) && !self.has_other_output()
    }
}

/// A value in two states; `None` where there is none.
#[derive(Debug, Clone, Copy)]
pub struct ValueDifference<'a> {
    pub name: &'a str,
    pub before: Option<&'a Payload>,
    pub after: Option<&'a Payload>,
}

/// An arc in two states; `None` where it was not taken.
#[derive(Debug, Clone, Copy)]
pub struct ArcDifference<'a> {
    pub from: &'a StepName,
    pub to: &'a StepName,
    pub before: Option<ArcCount>,
    pub after: Option<ArcCount>,
}

/// Compares two states.
pub fn state_difference<'a>(before: &'a Execution, after: &'a Execution) -> StateDifference<'a> {
    let differs = |before, after| (before != after).then_some((before, after));
    let workload = ValueDifference {
        name: "workload",
        before: Some(before.workload()),
        after: Some(after.workload()),
    };
    StateDifference {
        status: differs(before.status(), after.status()),
        steps: steps(before, after),
        context: values(before, after),
        workload: (workload.before != workload.after).then_some(workload),
        arcs: arcs(before, after),
        open: (before.open_parts_len() != after.open_parts_len())
            .then_some((before.open_parts_len(), after.open_parts_len())),
    }
}

/// Pairs the entries of two lists that have the same key.
fn paired<K: Ord, V>(
    before: impl Iterator<Item = (K, V)>,
    after: impl Iterator<Item = (K, V)>,
) -> BTreeMap<K, (Option<V>, Option<V>)> {
    let mut pairs: BTreeMap<K, (Option<V>, Option<V>)> =
        before.map(|(key, value)| (key, (Some(value), None))).collect();
    for (key, value) in after {
        pairs.entry(key).or_insert((None, None)).1 = Some(value);
    }
    pairs
}

fn steps<'a>(before: &'a Execution, after: &'a Execution) -> Vec<StepDifference<'a>> {
    let keyed = |step: StepState<'a>| (step.name, step);
    let pairs = paired(before.steps().map(keyed), after.steps().map(keyed));
    let steps = pairs
        .into_iter()
        .map(|(name, (before, after))| StepDifference { name, before, after })
        .filter(|step| step.before != step.after);
    steps.collect()
}

fn values<'a>(before: &'a Execution, after: &'a Execution) -> Vec<ValueDifference<'a>> {
    let pairs = paired(before.context(), after.context());
    let values = pairs
        .into_iter()
        .map(|(name, (before, after))| ValueDifference { name, before, after })
        .filter(|value| value.before != value.after);
    values.collect()
}

fn arcs<'a>(before: &'a Execution, after: &'a Execution) -> Vec<ArcDifference<'a>> {
    let keyed = |(from, to, taken): (&'a StepName, &'a StepName, ArcCount)| ((from, to), taken);
    let pairs = paired(before.arcs_taken().map(keyed), after.arcs_taken().map(keyed));
    let arcs = pairs
        .into_iter()
        .map(|((from, to), (before, after))| ArcDifference { from, to, before, after })
        .filter(|arc| arc.before != arc.after);
    arcs.collect()
}
