//! Places of a long log that a link asks for: the next step, the next failed item, and the command of
//! an item.
//!
//! Counts of a state grow with the log, so that the event that makes one grow is found by halving.
//! Such a search happens when a link is followed, not when a page is drawn.

use noetl_api::wire::{PositionRun, PositionState};
use noetl_app::App;
use noetl_model::{Event, ExecutionId, Place, Recorded, RunId, Seq};

use super::address::Here;
use crate::error::PageError;

/// Number of events that are read rather than halved further.
const READ: u64 = 500;
/// Maximum number of parts of the log that are read to find the command of an item.
const PROBES_MAX: usize = 64;
/// Maximum number of failures that are passed by on the way to the next failed item.
const PASSED_MAX: usize = 200;

/// The place that a link asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SoughtPlace {
    /// The event at which the next step is entered.
    NextStep,
    /// The next failed item of the selected step.
    NextFailedItem,
}

impl SoughtPlace {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::NextStep => "step",
            Self::NextFailedItem => "failed",
        }
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        [Self::NextStep, Self::NextFailedItem].into_iter().find(|it| it.name() == name)
    }
}

/// Returns the page with the place that is sought; the same page if there is none.
pub(super) async fn found(app: &App, here: &Here, sought: SoughtPlace) -> Result<Here, PageError> {
    match sought {
        SoughtPlace::NextStep => next_step(app, here).await,
        SoughtPlace::NextFailedItem => next_failed(app, here).await,
    }
}

async fn next_step(app: &App, here: &Here) -> Result<Here, PageError> {
    let state = app.position_state(here.execution, here.at).await?;
    let runs = |state: &PositionState| state.steps.iter().map(|it| u64::from(it.runs)).sum();
    let entered = grown(app, here.execution, &state, state.last, &runs).await?;
    Ok(here.at(entered.filter(|seq| *seq < state.last)))
}

async fn next_failed(app: &App, here: &Here) -> Result<Here, PageError> {
    let state = app.position_state(here.execution, here.at).await?;
    let run = here.step.as_deref().and_then(|name| latest_run(&state, name)).cloned();
    let (Some(name), Some(run)) = (here.step.as_deref(), run) else { return Ok(here.clone()) };
    let end = run.ended.unwrap_or(state.last);
    let shown = match here.item {
        Some(item) => issued(app, here.execution, &run, end, item).await?,
        None => None,
    };
    let begin = run.entered;
    for (from, after) in [(shown.map_or(begin, |seq| seq.0), here.item), (begin, None)] {
        if let Some((item, seq)) = failure_after(app, here, name, &run, from..end, after).await? {
            // A position before the failure moves to it.
            let at = here.at.map(|at| at.max(seq)).filter(|at| *at < state.last);
            return Ok(here.at(at).item(Some(item)));
        }
    }
    Ok(here.clone())
}

/// Finds the next item of a run that failed after an event, beyond an item.
async fn failure_after(
    app: &App,
    here: &Here,
    step: &str,
    run: &PositionRun,
    within: std::ops::Range<u64>,
    beyond: Option<u64>,
) -> Result<Option<(u64, u64)>, PageError> {
    let failed = |state: &PositionState| {
        let latest = latest_run(state, step).filter(|latest| latest.run == run.run);
        latest.and_then(|latest| latest.items).map_or(0, |items| items.failed)
    };
    let mut from = within.start;
    for _ in 0..PASSED_MAX {
        let state = app.position_state(here.execution, Some(from)).await?;
        let seq = grown(app, here.execution, &state, within.end, &failed).await?;
        let Some(seq) = seq else { return Ok(None) };
        let read = app.log(here.execution, Seq(seq.saturating_sub(1))).await?;
        let failures = read.iter().filter(|it| it.seq.0 <= within.end);
        let failures = failures.filter_map(|it| Some((failed_item(it, run.run)?, it.seq.0)));
        if let Some(found) = failures.filter(|(item, _)| beyond.is_none_or(|it| *item > it)).min() {
            return Ok(Some(found));
        }
        from = read.last().map_or(seq, |last| last.seq.0);
        if from >= within.end {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Finds the first event after a state, up to `end`, with which a count has grown.
async fn grown(
    app: &App,
    execution: ExecutionId,
    state: &PositionState,
    end: u64,
    count: &(dyn Fn(&PositionState) -> u64 + Sync),
) -> Result<Option<u64>, PageError> {
    let (mut before, mut after) = (state.position, end);
    if after <= before || count(&app.position_state(execution, Some(after)).await?) == count(state)
    {
        return Ok(None);
    }
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        match count(&app.position_state(execution, Some(middle)).await?) == count(state) {
            true => before = middle,
            false => after = middle,
        }
    }
    Ok(Some(after))
}

/// Finds the event that issued the first command of an item. Items are begun in order, so that the
/// part of the log that is left is halved until it can be read.
pub(super) async fn issued(
    app: &App,
    execution: ExecutionId,
    run: &PositionRun,
    end: u64,
    item: u64,
) -> Result<Option<Seq>, PageError> {
    let (mut before, mut after) = (run.entered, end);
    for _ in 0..PROBES_MAX {
        if before >= after {
            return Ok(None);
        }
        let from = match after - before > READ {
            true => before + (after - before) / 2,
            false => before,
        };
        let read = app.log(execution, Seq(from)).await?;
        let Some(last) = read.last().map(|last| last.seq.0) else { return Ok(None) };
        let begun: Vec<(u64, Seq)> = read.iter().filter_map(|it| begun_item(it, run.run)).collect();
        if let Some((_, seq)) = begun.iter().find(|(begun, _)| *begun == item) {
            return Ok(Some(*seq));
        }
        match begun.iter().map(|(begun, _)| *begun).min() {
            Some(least) if item < least => after = from,
            Some(_) => before = last,
            // This part tells nothing; what is before it is searched, unless nothing is left there.
            None if from > before => after = from,
            None => before = last,
        }
    }
    Ok(None)
}

fn latest_run<'a>(state: &'a PositionState, step: &str) -> Option<&'a PositionRun> {
    state.steps.iter().find(|it| it.name == step)?.latest.as_ref()
}

/// Returns the item whose first task an event has issued for a run.
fn begun_item(recorded: &Recorded, run: u64) -> Option<(u64, Seq)> {
    let Event::CommandIssued { task, .. } = &recorded.event else { return None };
    match task.place {
        Place::Item { index, task: 0 } if task.run == RunId(run) && task.retry == 0 => {
            Some((index, recorded.seq))
        }
        Place::Item { .. } | Place::Task(_) | Place::Claim { .. } => None,
    }
}

/// Returns the item of a run that has failed with an event.
fn failed_item(recorded: &Recorded, run: u64) -> Option<u64> {
    if let Event::IterationFailed { run: of, index, .. }
    | Event::IterationCompleted { run: of, index, error: Some(_), .. } = &recorded.event
    {
        return (*of == RunId(run)).then_some(*index);
    }
    None
}
