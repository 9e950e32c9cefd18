//! The values of the page, loaded for a position.

use std::sync::Arc;

use noetl_api::wire::{
    ApprovalView, GuardResultView, GuardSubjectView, GuardView, LogAxis, LogDensity, PositionRun,
    PositionState, PositionStep, TimelineWindow,
};
use noetl_app::{
    CriticalRun, Initiator, IssuedTask, KnownExecution, LogPartQuery, TimelineWindowQuery, WaitHint,
};
use noetl_model::{
    CommandId, Event, ExecutionId, ExecutionStatus, LogOrigin, Logs, Recorded, Seq, StepName,
    StepStatus, Summary, ToolError,
};
use serde_json::Value;

use super::address::{Here, PositionQuery, Tab};
use super::attempts::{ChosenPart, CommandRecord, RunRecord};
use super::descent::Descent;
use super::drawn::{DrawnPlaybook, DrawnPlaybooks};
use super::events::EventWindow;
use super::expression::TriedExpression;
use super::logs::{self, LogView};
use super::seek;
use super::variables::Variables;
use crate::error::PageError;
use crate::request::PageRequest;

/// Number of rows of the timeline.
pub(super) const ROWS: usize = 100;
/// Maximum number of steps before the selected one whose guards are evaluated again.
const ORIGINS_MAX: usize = 2;
/// Number of buckets of the density.
const BUCKETS: u64 = 160;

pub(super) struct ExecutionView {
    /// The view as the visitor asked for it. Updates are drawn for it: without a chosen step, the
    /// page shows the step that tells most at the time.
    pub(super) asked: Here,
    /// The view that is drawn: with a step.
    pub(super) here: Here,
    pub(super) summary: Summary,
    pub(super) facts: DrawnFacts,
    /// The reason why the execution does not advance.
    pub(super) hint: Option<WaitHint>,
    pub(super) state: PositionState,
    /// Approvals that wait for a decision now; empty for a position in the past.
    pub(super) approvals: Vec<ApprovalView>,
    pub(super) drawn: Arc<DrawnPlaybook>,
    /// The event at the position.
    pub(super) event: Option<Recorded>,
    pub(super) neighbours: StepNeighbours,
    pub(super) timeline: TimelineWindow,
    /// The runs on the critical path, if they are asked for and the log is not too long.
    pub(super) critical: Option<Vec<CriticalRun>>,
    pub(super) selected: Option<SelectedStep>,
    pub(super) content: TabContent,
}

/// The values of the page that only an event changes, as they are after an event.
#[derive(Clone)]
pub(super) struct DrawnFacts {
    seq: Seq,
    pub(super) initiator: Initiator,
    pub(super) descent: Descent,
    /// The density and the marks of the whole log.
    pub(super) marks: LogDensity,
}

impl DrawnFacts {
    async fn load(
        page: &PageRequest,
        listed: &KnownExecution,
        axis: LogAxis,
    ) -> Result<Self, PageError> {
        let (app, summary) = (page.app(), &listed.summary);
        let whole = LogPartQuery::default();
        Ok(Self {
            seq: summary.seq,
            initiator: app.initiator(listed).await?,
            descent: Descent::load(page, summary).await?,
            marks: app.log_density(summary.execution, whole, axis, Some(BUCKETS)).await?,
        })
    }
}

/// The events at which the steps before and after the position were entered.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepNeighbours {
    pub(super) previous: Option<u64>,
    pub(super) next: NextStep,
}

/// The event at which the step after the position was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    None,
    Known(u64),
    /// The event is not among those that follow the position; it is looked for on demand.
    Far,
}

/// The selected step, with its latest run at the position.
pub(super) struct SelectedStep {
    pub(super) step: PositionStep,
    pub(super) run: Option<RunRecord>,
    /// The guards of the step's arcs, with the values they read when the step ended.
    pub(super) guards: Vec<GuardView>,
    /// The settings that the telling command called its tool with, or why they cannot be rendered;
    /// `None` if the playbook has no such task.
    pub(super) call: Option<Result<Value, ToolError>>,
    /// The end of what the telling command has printed.
    pub(super) printed: Logs,
    /// The guards that led to the step or skipped it, with the values they read.
    pub(super) reasons: Vec<EntryReason>,
    /// The command that the visitor has chosen, if the run has it.
    pub(super) chosen: Option<CommandId>,
}

/// A guard that led to a step or skipped it.
pub(super) struct EntryReason {
    /// The step whose arc has the guard; `None` for a guard of the step itself.
    pub(super) from: Option<String>,
    pub(super) guard: GuardView,
}

/// The content of the chosen tab, beyond the state.
pub(super) enum TabContent {
    Step,
    Variables(Box<Variables>),
    Events(Box<EventWindow>),
    Try(Box<TriedExpression>),
    Logs(Box<LogView>),
    Source,
}

impl TabContent {
    async fn load(
        app: &noetl_app::App,
        here: &Here,
        state: &PositionState,
    ) -> Result<Self, PageError> {
        Ok(match here.tab {
            Tab::Step => TabContent::Step,
            Tab::Logs => TabContent::Logs(Box::new(LogView::load(app, here, state).await?)),
            Tab::Source => TabContent::Source,
            Tab::Variables => {
                TabContent::Variables(Box::new(Variables::load(app, here, state).await?))
            }
            Tab::Try => TabContent::Try(Box::new(TriedExpression::load(app, here).await?)),
            Tab::Events => TabContent::Events(Box::new(EventWindow::load(app, here, state).await?)),
        })
    }
}

impl ExecutionView {
    pub(super) async fn load(
        page: &PageRequest,
        drawn: &DrawnPlaybooks,
        execution: ExecutionId,
        query: PositionQuery,
        known: Option<&DrawnFacts>,
    ) -> Result<Self, PageError> {
        let app = page.app();
        let mut here = Here::of(execution, &query);
        let summary = app.execution(execution).await?;
        let listed = KnownExecution { origin: LogOrigin::Native, summary: summary.clone() };
        let facts = match known.filter(|facts| facts.seq == summary.seq) {
            Some(facts) => facts.clone(),
            None => DrawnFacts::load(page, &listed, here.axis).await?,
        };
        let hint = app.hint_of(&listed).await?;
        let state = app.position_state(execution, here.at).await?;
        let approvals = match here.at {
            None => app.approvals_of(execution).await?,
            Some(_) => Vec::new(),
        };
        let drawn = drawn.load(app, state.catalog_id.into()).await?;
        let asked = here.clone();
        if here.step.is_none() {
            here.step = telling_step(&state);
        }
        let before = Seq(state.position.saturating_sub(1));
        let following = app.log(execution, before).await?;
        let (previous, next) = (previous_step(&state), next_step(&state, &following));
        let neighbours = StepNeighbours { previous, next };
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
        let selected = match here.step.as_deref() {
            Some(name) => SelectedStep::load(page, &state, &here, &drawn, name).await?,
            None => None,
        };
        let content = TabContent::load(app, &here, &state).await?;
        Ok(Self {
            asked,
            here,
            summary,
            facts,
            hint,
            state,
            approvals,
            drawn,
            event,
            neighbours,
            timeline,
            critical,
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
pub(super) fn telling_step(state: &PositionState) -> Option<String> {
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

/// Returns the event before the position at which a step was entered last.
fn previous_step(state: &PositionState) -> Option<u64> {
    let entered = state.steps.iter().filter_map(|step| step.latest.as_ref()).map(|run| run.entered);
    entered.filter(|seq| *seq < state.position).max()
}

/// Finds the entry of the next step among the events that follow the position.
fn next_step(state: &PositionState, following: &[Recorded]) -> NextStep {
    let mut later = following.iter().filter(|it| it.seq.0 > state.position);
    let entry = later.find(|it| matches!(it.event, Event::StepEntered { .. }));
    match (entry, following.last()) {
        (Some(entry), _) => NextStep::Known(entry.seq.0),
        (None, Some(last)) if last.seq.0 < state.last => NextStep::Far,
        (None, _) => NextStep::None,
    }
}

/// Loads the run of a step, with the command or the item that the visitor has chosen.
async fn chosen_run(
    page: &PageRequest,
    here: &Here,
    run: &PositionRun,
    position: u64,
) -> Result<RunRecord, PageError> {
    let (app, execution) = (page.app(), here.execution);
    let end = run.ended.unwrap_or(position).min(position);
    let chosen = match (here.command, here.item) {
        (Some(command), _) => ChosenPart::Command(CommandId(command)),
        (None, Some(item)) => {
            ChosenPart::Item { item, issued: seek::issued(app, execution, run, end, item).await? }
        }
        (None, None) => ChosenPart::None,
    };
    RunRecord::load(app, execution, run, end, chosen).await
}

impl SelectedStep {
    async fn load(
        page: &PageRequest,
        state: &PositionState,
        here: &Here,
        drawn: &DrawnPlaybook,
        name: &str,
    ) -> Result<Option<Self>, PageError> {
        let Some(step) = state.steps.iter().find(|step| step.name == name).cloned() else {
            return Ok(None);
        };
        let execution = here.execution;
        let run = match &step.latest {
            Some(run) => Some(chosen_run(page, here, run, state.position).await?),
            None => None,
        };
        let chosen = here.command.map(CommandId).or_else(|| run.as_ref()?.of_item(here.item?));
        let ended = step.latest.as_ref().and_then(|run| run.ended);
        let guards = match ended.filter(|seq| *seq <= state.position) {
            Some(seq) => page.app().guards_at(execution, seq).await?.guards,
            None => Vec::new(),
        };
        let reasons = reasons(page, state, execution, &step, run.as_ref()).await?;
        let chosen = chosen.filter(|it| run.as_ref().is_some_and(|run| run.command(*it).is_some()));
        let printed = Logs::default();
        let mut shown = Self { step, run, guards, reasons, chosen, call: None, printed };
        if let Some(telling) = shown.telling().cloned() {
            shown.call = shown.call_of(page, execution, drawn, &telling).await;
            shown.printed = logs::printed(page.app(), here, state, telling.command).await?;
        }
        Ok(Some(shown))
    }

    /// Renders the settings that a command called its tool with.
    async fn call_of(
        &self,
        page: &PageRequest,
        execution: ExecutionId,
        drawn: &DrawnPlaybook,
        command: &CommandRecord,
    ) -> Option<Result<Value, ToolError>> {
        let (playbook, _) = drawn.graph.as_ref()?;
        let issued = IssuedTask {
            execution,
            command: command.command,
            step: &StepName::new(&self.step.name),
            place: command.task.place,
            bindings: &command.bindings,
        };
        page.app().executed_call(playbook, issued).await
    }

    /// Returns the command that the inspector shows: the chosen one, else the one that tells most.
    pub(super) fn telling(&self) -> Option<&CommandRecord> {
        let run = self.run.as_ref()?;
        self.chosen.and_then(|chosen| run.command(chosen)).or_else(|| run.telling())
    }
}

/// Evaluates the guards that kept the execution from a step: those of the arcs to it.
async fn refusals(
    page: &PageRequest,
    state: &PositionState,
    execution: ExecutionId,
    step: &PositionStep,
) -> Result<Vec<EntryReason>, PageError> {
    let mut found = Vec::new();
    let arcs = state.arcs.iter().filter(|arc| arc.to == step.name && arc.when.is_some());
    for arc in arcs.take(ORIGINS_MAX) {
        let origin = state.steps.iter().find(|it| it.name == arc.from);
        let Some(ended) = origin.and_then(|it| it.latest.as_ref()?.ended) else { continue };
        let is_refused = |guard: &GuardView| match &guard.subject {
            GuardSubjectView::Arc { to, .. } => {
                *to == step.name && guard.result == GuardResultView::NotHeld
            }
            GuardSubjectView::Step | GuardSubjectView::Admission { .. } => false,
        };
        let guards = page.app().guards_at(execution, ended).await?.guards;
        let guard = guards.into_iter().find(is_refused);
        found.extend(guard.map(|guard| EntryReason { from: Some(arc.from.clone()), guard }));
    }
    Ok(found)
}

/// Evaluates the guards that led to the latest run of a step, or that skipped the step.
async fn reasons(
    page: &PageRequest,
    state: &PositionState,
    execution: ExecutionId,
    step: &PositionStep,
    run: Option<&RunRecord>,
) -> Result<Vec<EntryReason>, PageError> {
    let mut found = Vec::new();
    if let Some(seq) = step.skipped_by.filter(|_| step.skipped.is_some()) {
        let own = page.app().guards_at(execution, seq).await?.guards;
        let own = own.into_iter().filter(|it| !matches!(it.subject, GuardSubjectView::Arc { .. }));
        found.extend(own.map(|guard| EntryReason { from: None, guard }));
        return Ok(found);
    }
    if step.status.is_none() {
        return refusals(page, state, execution, step).await;
    }
    let entered = step.latest.as_ref().map_or(0, |run| run.entered);
    for from in run.iter().flat_map(|run| &run.from).take(ORIGINS_MAX) {
        let origin = state.steps.iter().find(|it| it.name == from.as_str());
        // In a cycle, the step before may have run again since.
        let ended = origin.and_then(|it| it.latest.as_ref()?.ended).filter(|seq| *seq < entered);
        let Some(ended) = ended else { continue };
        let leads_here = |guard: &GuardView| match &guard.subject {
            GuardSubjectView::Arc { to, .. } => {
                *to == step.name && guard.when.is_some() && guard.result == GuardResultView::Held
            }
            GuardSubjectView::Step | GuardSubjectView::Admission { .. } => false,
        };
        let guards = page.app().guards_at(execution, ended).await?.guards;
        let guard = guards.into_iter().find(leads_here);
        found.extend(guard.map(|guard| EntryReason { from: Some(from.to_string()), guard }));
    }
    Ok(found)
}
