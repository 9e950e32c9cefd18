//! The values of the page, loaded for a position.

use std::sync::Arc;

use noetl_api::wire::{GuardView, LogDensity, PositionState, PositionStep, TimelineWindow};
use noetl_app::{
    CriticalRun, Initiator, KnownExecution, LogPartQuery, TimelineWindowQuery, WaitHint,
};
use noetl_model::{
    Event, ExecutionId, ExecutionStatus, LogOrigin, Recorded, Seq, StepStatus, Summary,
};

use super::address::{Here, PositionQuery, Tab};
use super::attempts::RunRecord;
use super::drawn::{DrawnPlaybook, DrawnPlaybooks};
use super::events::EventWindow;
use super::expression::TriedExpression;
use super::variables::Variables;
use crate::error::PageError;
use crate::request::PageRequest;

/// Number of rows of the timeline.
pub(super) const ROWS: usize = 100;
/// Number of buckets of the density.
const BUCKETS: u64 = 160;

pub(super) struct ExecutionView {
    /// The view as the visitor asked for it. Updates are drawn for it: without a chosen step, the
    /// page shows the step that tells most at the time.
    pub(super) asked: Here,
    /// The view that is drawn: with a step.
    pub(super) here: Here,
    pub(super) summary: Summary,
    pub(super) initiator: Initiator,
    /// The reason why the execution does not advance.
    pub(super) hint: Option<WaitHint>,
    pub(super) state: PositionState,
    pub(super) drawn: Arc<DrawnPlaybook>,
    /// The event at the position.
    pub(super) event: Option<Recorded>,
    pub(super) neighbours: StepNeighbours,
    pub(super) timeline: TimelineWindow,
    /// The runs on the critical path, if they are asked for and the log is not too long.
    pub(super) critical: Option<Vec<CriticalRun>>,
    /// The density and the marks of the whole log.
    pub(super) marks: LogDensity,
    pub(super) selected: Option<SelectedStep>,
    pub(super) content: TabContent,
}

/// The events at which the steps before and after the position were entered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StepNeighbours {
    pub(super) previous: Option<u64>,
    pub(super) next: Option<u64>,
}

/// The selected step, with its latest run at the position.
pub(super) struct SelectedStep {
    pub(super) step: PositionStep,
    pub(super) run: Option<RunRecord>,
    /// The guards of the step's arcs, with the values they read when the step ended.
    pub(super) guards: Vec<GuardView>,
}

/// The content of the chosen tab, beyond the state.
pub(super) enum TabContent {
    Step,
    Variables(Box<Variables>),
    Events(Box<EventWindow>),
    Try(Box<TriedExpression>),
    Logs,
    Source,
}

impl ExecutionView {
    pub(super) async fn load(
        page: &PageRequest,
        drawn: &DrawnPlaybooks,
        execution: ExecutionId,
        query: PositionQuery,
    ) -> Result<Self, PageError> {
        let app = page.app();
        let mut here = Here::of(execution, &query);
        let summary = app.execution(execution).await?;
        let known = KnownExecution { origin: LogOrigin::Native, summary: summary.clone() };
        let initiator = app.initiator(&known).await?;
        let hint = app.hint_of(&known).await?;
        let state = app.position_state(execution, here.at).await?;
        let drawn = drawn.load(app, state.catalog_id.into()).await?;
        let asked = here.clone();
        if here.step.is_none() {
            here.step = telling_step(&state);
        }
        let before = Seq(state.position.saturating_sub(1));
        let following = app.log(execution, before).await?;
        let neighbours = neighbours(&state, &following);
        let event = following.into_iter().next();
        let chosen = &here.timeline;
        let rows = TimelineWindowQuery {
            part: timeline_part(&here, &state),
            offset: chosen.offset,
            limit: Some(ROWS),
            expanded: chosen.expanded.clone(),
        };
        let timeline = app.timeline_window(execution, &rows).await?;
        let critical = match chosen.is_critical {
            true => app.critical_path(execution, state.position).await?,
            false => None,
        };
        let whole = LogPartQuery::default();
        let marks = app.log_density(execution, whole, here.axis, Some(BUCKETS)).await?;
        let selected = match here.step.as_deref() {
            Some(name) => SelectedStep::load(page, &state, execution, name).await?,
            None => None,
        };
        let content = match here.tab {
            Tab::Step => TabContent::Step,
            Tab::Logs => TabContent::Logs,
            Tab::Source => TabContent::Source,
            Tab::Variables => {
                TabContent::Variables(Box::new(Variables::load(app, &here, &state).await?))
            }
            Tab::Try => TabContent::Try(Box::new(TriedExpression::load(app, &here).await?)),
            Tab::Events => {
                TabContent::Events(Box::new(EventWindow::load(app, &here, &state).await?))
            }
        };
        Ok(Self {
            asked,
            here,
            summary,
            initiator,
            hint,
            state,
            drawn,
            event,
            neighbours,
            timeline,
            critical,
            marks,
            selected,
            content,
        })
    }

    /// True if the page follows the execution: it runs, and the position is the end of its log.
    pub(super) fn is_live(&self) -> bool {
        self.here.at.is_none() && self.summary.status == ExecutionStatus::Running
    }

    /// Returns the failed step at the position, if the execution has failed there.
    pub(super) fn failed(&self) -> Option<&SelectedStep> {
        let has_failed = self.state.status == ExecutionStatus::Failed;
        self.selected.as_ref().filter(|it| has_failed && it.step.status == Some(StepStatus::Failed))
    }
}

/// Returns the step that a visitor asks about first: the failed one, else the one entered last.
fn telling_step(state: &PositionState) -> Option<String> {
    let failed = state.steps.iter().find(|step| step.status == Some(StepStatus::Failed));
    match failed {
        Some(step) if state.status == ExecutionStatus::Failed => Some(step.name.clone()),
        Some(_) | None => state.current_step.clone(),
    }
}

/// Returns the part of the log that the timeline shows: up to the position, or between the two.
fn timeline_part(here: &Here, state: &PositionState) -> LogPartQuery {
    let position = state.position;
    match here.to.filter(|to| here.timeline.is_between && (1..=state.last).contains(to)) {
        Some(to) => LogPartQuery { from: Some(to.min(position)), to: Some(to.max(position)) },
        None => LogPartQuery { from: None, to: Some(position) },
    }
}

/// Finds the entries of steps around the position; the next one among the events that follow it.
fn neighbours(state: &PositionState, following: &[Recorded]) -> StepNeighbours {
    let entered = state.steps.iter().filter_map(|step| step.latest.as_ref()).map(|run| run.entered);
    let is_entry = |event: &Event| matches!(event, Event::StepEntered { .. });
    let next = following.iter().skip(1).find(|recorded| is_entry(&recorded.event));
    StepNeighbours {
        previous: entered.filter(|seq| *seq < state.position).max(),
        next: next.map(|recorded| recorded.seq.0),
    }
}

impl SelectedStep {
    async fn load(
        page: &PageRequest,
        state: &PositionState,
        execution: ExecutionId,
        name: &str,
    ) -> Result<Option<Self>, PageError> {
        let Some(step) = state.steps.iter().find(|step| step.name == name).cloned() else {
            return Ok(None);
        };
        let run = match &step.latest {
            Some(run) => Some(RunRecord::load(page.app(), execution, run, state.position).await?),
            None => None,
        };
        let ended = step.latest.as_ref().and_then(|run| run.ended);
        let guards = match ended.filter(|seq| *seq <= state.position) {
            Some(seq) => page.app().guards_at(execution, seq).await?.guards,
            None => Vec::new(),
        };
        Ok(Some(Self { step, run, guards }))
    }
}
