//! Steps, arcs, open work and variables at a position.

use noetl_api::wire::{
    NamedPositionValue, PositionArc, PositionItems, PositionRun, PositionState, PositionStep,
};
use noetl_engine::{Execution, LatestRun, StepState};
use noetl_model::{ExecutionId, StepName};
use noetl_playbook::{Playbook, Step};

use super::values::ShownValues;
use super::{AtPosition, PositionError};
use crate::app::App;

impl App {
    /// Returns the state of an execution after the event `position`, or after its last event:
    /// steps, arcs, open work and variables.
    pub async fn position_state(
        &self,
        execution: ExecutionId,
        position: Option<u64>,
    ) -> Result<PositionState, PositionError> {
        let at = self.at_position(execution, position).await?;
        let playbook = self.control().playbook_of(&at.state).await?;
        let open = self.open_work_at(&at).await?;
        let AtPosition { summary, state } = &at;
        let mut shown = ShownValues::default();
        let workload = shown.take(state.workload());
        let ctx = state.context().map(|(name, value)| NamedPositionValue {
            name: name.clone(),
            value: shown.take(value),
        });
        let ctx = ctx.collect();
        Ok(PositionState {
            execution_id: execution.into(),
            position: state.seq().0,
            last: summary.seq.0,
            at: state.last_at(),
            status: state.status(),
            path: state.playbook().path.clone(),
            version: state.playbook().version,
            catalog_id: state.playbook().catalog_id.into(),
            started_at: state.started_at(),
            ended_at: state.ended_at(),
            late_at: state.late_at(),
            current_step: state.current_step().map(StepName::to_string),
            error: state.error().cloned(),
            steps: steps_of(state, &playbook, &mut shown),
            arcs: arcs_of(state, &playbook),
            open,
            workload,
            ctx,
        })
    }
}

/// Returns the steps of the playbook in its order, then those that only the state has.
pub(super) fn steps_of(
    state: &Execution,
    playbook: &Playbook,
    shown: &mut ShownValues,
) -> Vec<PositionStep> {
    let declared = playbook.steps.iter().map(|step| {
        let entered = state.step(step.name.as_str());
        step_of(&step.name, Some(step), entered, shown)
    });
    let mut steps: Vec<PositionStep> = declared.collect();
    let others = state.steps().filter(|step| playbook.index_of(step.name.as_str()).is_none());
    steps.extend(others.map(|step| step_of(step.name, None, Some(step), shown)));
    steps
}

pub(super) fn step_of(
    name: &StepName,
    declared: Option<&Step>,
    entered: Option<StepState<'_>>,
    shown: &mut ShownValues,
) -> PositionStep {
    PositionStep {
        name: name.to_string(),
        tool: declared.and_then(|step| step.tasks.first()).map(|task| task.tool),
        status: entered.map(|step| step.status),
        runs: entered.map_or(0, |step| step.runs),
        skipped: entered.and_then(|step| step.skipped).map(|skip| skip.reason),
        skipped_by: entered.and_then(|step| step.skipped).map(|skip| skip.seq.0),
        first_entered_at: entered.and_then(|step| step.first_entered_at),
        latest: entered.and_then(|step| step.latest.map(|latest| run_of(latest, step.items_open))),
        error: entered.and_then(|step| step.error.cloned()),
        output: match entered {
            Some(step) => shown.take(step.output),
            None => ShownValues::nothing(),
        },
    }
}

fn run_of(latest: LatestRun, running: u64) -> PositionRun {
    let LatestRun { run, entered, entered_at, ended, attempts, items } = latest;
    PositionRun {
        run: run.0,
        entered: entered.0,
        entered_at,
        ended: ended.map(|end| end.seq.0),
        ended_at: ended.map(|end| end.at),
        attempts,
        items: items.map(|items| PositionItems {
            total: items.total,
            completed: items.completed,
            failed: items.failed,
            running,
        }),
    }
}

/// Returns the arcs of the playbook in its order, then taken arcs that it does not have.
fn arcs_of(state: &Execution, playbook: &Playbook) -> Vec<PositionArc> {
    let mut arcs = Vec::new();
    for step in &playbook.steps {
        for (index, arc) in (0..).zip(&step.next.arcs) {
            let to = &playbook.step(arc.to).name;
            let taken = state.arc_taken(step.name.as_str(), to.as_str());
            arcs.push(PositionArc {
                from: step.name.to_string(),
                to: to.to_string(),
                index: Some(index),
                when: arc.when.as_ref().map(|when| when.source().clone()),
                times: taken.map_or(0, |taken| taken.times),
                last: taken.map(|taken| taken.last.0),
            });
        }
    }
    let has_arc = |from: &str, to: &str| {
        let step = playbook.index_of(from).map(|index| playbook.step(index));
        step.is_some_and(|step| {
            step.next.arcs.iter().any(|arc| playbook.step(arc.to).name.as_str() == to)
        })
    };
    let others = state.arcs_taken().filter(|(from, to, _)| !has_arc(from.as_str(), to.as_str()));
    arcs.extend(others.map(|(from, to, taken)| PositionArc {
        from: from.to_string(),
        to: to.to_string(),
        index: None,
        when: None,
        times: taken.times,
        last: Some(taken.last.0),
    }));
    arcs
}
