//! The change that an event made, and the difference between two positions.

use noetl_api::wire::{ArcChange, EventMark, PositionChange, PositionStepChange, ValueChange};
use noetl_engine::{ArcCount, Execution};
use noetl_model::{ExecutionId, Recorded, Seq, StepName};
use noetl_playbook::Playbook;
use noetl_replay::{StateDifference, StepDifference, ValueDifference, state_difference};

use super::state::step_of;
use super::values::ShownValues;
use super::{AtPosition, PositionError};
use crate::app::App;

impl App {
    /// Returns the change that the event at `position` made, or the last event.
    pub async fn position_change(
        &self,
        execution: ExecutionId,
        position: Option<u64>,
    ) -> Result<PositionChange, PositionError> {
        let last = self.execution(execution).await?.seq.0;
        let to = position.unwrap_or(last);
        let from = to.saturating_sub(1);
        self.position_difference(execution, from, to).await
    }

    /// Returns the difference between two positions, in either order; 0 is before the first event.
    pub async fn position_difference(
        &self,
        execution: ExecutionId,
        one: u64,
        other: u64,
    ) -> Result<PositionChange, PositionError> {
        let (from, to) = (one.min(other), one.max(other));
        // The earlier state is loaded first, so that the later one continues from it.
        let before = match from {
            0 => None,
            from => Some(self.at_position(execution, Some(from)).await?.state),
        };
        let AtPosition { state: after, .. } = self.at_position(execution, Some(to)).await?;
        let playbook = self.control().playbook_of(&after).await?;
        let event = match to - from {
            1 => Some(self.event_at(execution, to).await?),
            _ => None,
        };
        let mut shown = ShownValues::default();
        let mut change = PositionChange {
            execution_id: execution.into(),
            from,
            to,
            event: event.as_ref().map(mark_of),
            status: None,
            steps: Vec::new(),
            ctx: Vec::new(),
            workload: None,
            arcs: Vec::new(),
            open: None,
        };
        match &before {
            Some(before) => fill(&mut change, before, &after, &playbook, &mut shown),
            None => begun(&mut change, &after, &playbook, &mut shown),
        }
        Ok(change)
    }

    /// Reads the event at a position.
    pub(super) async fn event_at(
        &self,
        execution: ExecutionId,
        position: u64,
    ) -> Result<Recorded, PositionError> {
        let before = Seq(position.saturating_sub(1));
        let found = self.events(execution, before, 1).await?.into_iter().next();
        match found.filter(|found| found.seq.0 == position) {
            Some(found) => Ok(found),
            None => {
                let last = self.execution(execution).await?.seq.0;
                Err(PositionError::NoSuchPosition { execution, position, last })
            }
        }
    }
}

/// Returns an event in one line.
pub(super) fn mark_of(recorded: &Recorded) -> EventMark {
    EventMark {
        seq: recorded.seq.0,
        event_id: noetl_api::AnyId(recorded.event_id.0),
        event_type: recorded.event.tag().as_str().to_owned(),
        step: recorded.event.step().map(StepName::to_string),
        at: recorded.at,
    }
}

fn fill(
    change: &mut PositionChange,
    before: &Execution,
    after: &Execution,
    playbook: &Playbook,
    shown: &mut ShownValues,
) {
    let StateDifference { status, steps, context, workload, arcs, open } =
        state_difference(before, after);
    let count = |len: usize| u64::try_from(len).unwrap_or(u64::MAX);
    let times = |taken: Option<ArcCount>| taken.map_or(0, |taken| taken.times);
    change.status = status;
    change.steps = steps.iter().map(|step| step_change(step, playbook, shown)).collect();
    change.ctx = context.iter().map(|value| value_change(value, shown)).collect();
    change.workload = workload.map(|value| value_change(&value, shown));
    change.arcs = arcs
        .iter()
        .map(|arc| ArcChange {
            from: arc.from.to_string(),
            to: arc.to.to_string(),
            times_before: times(arc.before),
            times_after: times(arc.after),
        })
        .collect();
    change.open = open.map(|(before, after)| (count(before), count(after)));
}

/// Fills the change from before the first event: everything is new.
fn begun(
    change: &mut PositionChange,
    after: &Execution,
    playbook: &Playbook,
    shown: &mut ShownValues,
) {
    let added = |name, value, shown: &mut ShownValues| {
        value_change(&ValueDifference { name, before: None, after: Some(value) }, shown)
    };
    change.workload = Some(added("workload", after.workload(), shown));
    change.ctx = after.context().map(|(name, value)| added(name, value, shown)).collect();
    let steps = after.steps().map(|step| {
        let step = StepDifference { name: step.name, before: None, after: Some(step) };
        step_change(&step, playbook, shown)
    });
    change.steps = steps.collect();
    let arcs = after.arcs_taken().map(|(from, to, taken)| ArcChange {
        from: from.to_string(),
        to: to.to_string(),
        times_before: 0,
        times_after: taken.times,
    });
    change.arcs = arcs.collect();
}

fn step_change(
    step: &StepDifference<'_>,
    playbook: &Playbook,
    shown: &mut ShownValues,
) -> PositionStepChange {
    let declared = playbook.index_of(step.name.as_str()).map(|index| playbook.step(index));
    PositionStepChange {
        name: step.name.to_string(),
        before: step.before.map(|before| step_of(step.name, declared, Some(before), shown)),
        after: step.after.map(|after| step_of(step.name, declared, Some(after), shown)),
        has_other_output: step.has_other_output(),
    }
}

fn value_change(value: &ValueDifference<'_>, shown: &mut ShownValues) -> ValueChange {
    ValueChange {
        name: value.name.to_owned(),
        before: value.before.map(|before| shown.take(before)),
        after: value.after.map(|after| shown.take(after)),
    }
}
