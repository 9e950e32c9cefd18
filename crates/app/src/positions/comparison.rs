//! Two executions side by side, each at a position: steps, variables, and the first event at which
//! their logs part.
//!
//! Invariant: the answer is bounded by the playbooks, and the number of events that are read by
//! [`COMPARED_EVENTS_MAX`] per log.

use std::collections::BTreeMap;

use noetl_api::wire::{
    ComparedSide, ComparedStep, ComparedValue, ExecutionComparison, LogParting, PositionStep,
};
use noetl_engine::Execution;
use noetl_model::{ExecutionId, Payload, Seq, StepName};
use noetl_playbook::Playbook;
use noetl_replay::{LogSide, Parting, PartingFold, StepDifference};
use noetl_store::{FORKS_MAX, READ_EVENTS_MAX};

use super::change::mark_of;
use super::state::steps_of;
use super::values::ShownValues;
use super::{AtPosition, PositionError};
use crate::app::App;

/// Maximum number of events of each log that are compared.
const COMPARED_EVENTS_MAX: u64 = 10_000;

/// An execution and a position in its log; the last event if `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutionPosition {
    pub execution: ExecutionId,
    pub position: Option<u64>,
}

/// An execution at a position, with its playbook.
struct Compared {
    at: AtPosition,
    playbook: std::sync::Arc<Playbook>,
}

impl App {
    /// Compares two executions, or two positions of one.
    pub async fn compare_executions(
        &self,
        left: ExecutionPosition,
        right: ExecutionPosition,
    ) -> Result<ExecutionComparison, PositionError> {
        let (left, right) = (self.compared(left).await?, self.compared(right).await?);
        let shared = self.shared_events(&left.at, &right.at).await?;
        let parting = self.parting(&left.at.state, &right.at.state, shared).await?;
        let mut shown = ShownValues::default();
        let (one, other) = (&left.at.state, &right.at.state);
        let workload = ("workload", Some(one.workload()), Some(other.workload()));
        let workload = compared_value(workload, &mut shown);
        let ctx = variables(one, other, &mut shown);
        Ok(ExecutionComparison {
            left: side_of(&left.at),
            right: side_of(&right.at),
            shared: shared.0,
            parting,
            steps: steps(&left, &right, &mut shown),
            workload,
            ctx,
        })
    }

    async fn compared(&self, place: ExecutionPosition) -> Result<Compared, PositionError> {
        let at = self.at_position(place.execution, place.position).await?;
        let playbook = self.control().playbook_of(&at.state).await?;
        Ok(Compared { at, playbook })
    }

    /// Returns the last event that two logs share as forks, up to their positions.
    async fn shared_events(
        &self,
        left: &AtPosition,
        right: &AtPosition,
    ) -> Result<Seq, PositionError> {
        let lineage = self.lineage(left).await?;
        let common = self.lineage(right).await?.into_iter().filter_map(|(execution, shared)| {
            lineage.get(&execution).map(|other| shared.min(*other))
        });
        // The nearest common ancestor is the one with which they share most.
        Ok(common.max().unwrap_or(Seq::ZERO))
    }

    /// Returns an execution and its ancestors by fork, each with the last event shared with it.
    async fn lineage(&self, at: &AtPosition) -> Result<BTreeMap<ExecutionId, Seq>, PositionError> {
        let mut shared = at.state.seq();
        let mut lineage = BTreeMap::from([(at.summary.execution, shared)]);
        let mut next = at.summary.fork;
        for _ in 0..FORKS_MAX {
            let Some(fork) = next else { break };
            shared = shared.min(fork.seq);
            lineage.insert(fork.execution, shared);
            // Retention may have deleted the origin; the fork keeps the shared events.
            next = match self.execution(fork.execution).await {
                Ok(summary) => summary.fork,
                Err(noetl_control::LoadError::NotFound(_)) => None,
                Err(error) => return Err(error.into()),
            };
        }
        Ok(lineage)
    }

    /// Finds the first event after the shared ones at which two logs part.
    async fn parting(
        &self,
        left: &Execution,
        right: &Execution,
        shared: Seq,
    ) -> Result<LogParting, PositionError> {
        let mut fold = PartingFold::default();
        let mut is_whole = true;
        for (side, state) in [(LogSide::Left, left), (LogSide::Right, right)] {
            is_whole &= self.fold_part(&mut fold, side, state, shared).await?;
        }
        let found = if is_whole { fold.finish() } else { fold.so_far() };
        Ok(match found {
            Some(Parting { left: one, right: other }) => LogParting::Parted {
                left: self.marked(left.id(), one).await?,
                right: self.marked(right.id(), other).await?,
            },
            None if is_whole => LogParting::Same,
            None => LogParting::NotFound { compared: COMPARED_EVENTS_MAX },
        })
    }

    /// Folds the events of a log after the shared ones, up to its position. Returns false if there
    /// are more than the limit.
    async fn fold_part(
        &self,
        fold: &mut PartingFold,
        side: LogSide,
        state: &Execution,
        shared: Seq,
    ) -> Result<bool, PositionError> {
        let end = state.seq().min(Seq(shared.0 + COMPARED_EVENTS_MAX));
        let mut after = shared;
        while after < end {
            let page = self.events(state.id(), after, READ_EVENTS_MAX).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            page.iter().take_while(|it| it.seq <= end).for_each(|it| fold.see(side, it));
        }
        Ok(end == state.seq())
    }

    async fn marked(
        &self,
        execution: ExecutionId,
        seq: Option<Seq>,
    ) -> Result<Option<noetl_api::wire::EventMark>, PositionError> {
        Ok(match seq {
            Some(seq) => Some(mark_of(&self.event_at(execution, seq.0).await?)),
            None => None,
        })
    }
}

fn side_of(at: &AtPosition) -> ComparedSide {
    let AtPosition { summary, state } = at;
    ComparedSide {
        execution_id: summary.execution.into(),
        position: state.seq().0,
        last: summary.seq.0,
        status: state.status(),
        path: state.playbook().path.clone(),
        version: state.playbook().version,
        started_at: state.started_at(),
        at: state.last_at(),
        error: state.error().cloned(),
    }
}

fn variables(left: &Execution, right: &Execution, shown: &mut ShownValues) -> Vec<ComparedValue> {
    let mut pairs: BTreeMap<&String, (Option<&Payload>, Option<&Payload>)> =
        left.context().map(|(name, value)| (name, (Some(value), None))).collect();
    for (name, value) in right.context() {
        pairs.entry(name).or_default().1 = Some(value);
    }
    pairs
        .into_iter()
        .map(|(name, (left, right))| compared_value((name, left, right), shown))
        .collect()
}

fn compared_value(
    (name, left, right): (&str, Option<&Payload>, Option<&Payload>),
    shown: &mut ShownValues,
) -> ComparedValue {
    ComparedValue {
        name: name.to_owned(),
        is_same: left == right,
        left: left.map(|value| shown.take(value)),
        right: right.map(|value| shown.take(value)),
    }
}

fn steps(left: &Compared, right: &Compared, shown: &mut ShownValues) -> Vec<ComparedStep> {
    let (one, other) = (&left.at.state, &right.at.state);
    let mut rest: Vec<Option<PositionStep>> =
        steps_of(other, &right.playbook, shown).into_iter().map(Some).collect();
    let pair = |left: Option<PositionStep>, right: Option<PositionStep>| {
        let name = left.as_ref().or(right.as_ref()).map(|it| it.name.clone()).unwrap_or_default();
        let step = StepName::new(&name);
        let difference =
            StepDifference { name: &step, before: one.step(&name), after: other.step(&name) };
        let (is_same, has_other_output) = (
            difference.is_alike() && left.is_some() == right.is_some(),
            difference.has_other_output(),
        );
        ComparedStep { name, left, right, is_same, has_other_output }
    };
    let mut steps = Vec::new();
    for step in steps_of(one, &left.playbook, shown) {
        let same_name = |it: &&mut Option<PositionStep>| {
            it.as_ref().is_some_and(|other| other.name == step.name)
        };
        let other = rest.iter_mut().find(same_name).and_then(Option::take);
        steps.push(pair(Some(step), other));
    }
    steps.extend(rest.into_iter().flatten().map(|step| pair(None, Some(step))));
    steps
}
