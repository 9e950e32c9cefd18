//! Rows of a timeline: a window of steps and of events.

use std::collections::BTreeSet;

use noetl_api::wire::{
    TimelineActivity, TimelineAttempt, TimelineItemGroup, TimelineRow, TimelineSegment,
    TimelineWindow,
};
use noetl_model::{ExecutionId, StepName, Timestamp};
use noetl_replay::{CriticalRun, RowActivity, WindowFold, WindowRow, critical_path};

use super::PositionError;
use super::density::{LogPartQuery, READ_MAX};
use super::state::steps_of;
use super::values::ShownValues;
use crate::app::App;

/// Default and maximum number of rows.
const ROWS: usize = 100;
const ROWS_MAX: usize = 500;
/// Maximum number of steps that are expanded.
const EXPANDED_MAX: usize = 20;

/// Selects rows of a timeline and a part of the log.
#[derive(Debug, Clone, Default)]
pub struct TimelineWindowQuery {
    pub part: LogPartQuery,
    /// The number of rows to leave out.
    pub offset: usize,
    pub limit: Option<usize>,
    /// The steps whose attempts and items are listed.
    pub expanded: Vec<String>,
}

impl App {
    /// Shows when steps worked and when they waited, in a window of rows and of events.
    pub async fn timeline_window(
        &self,
        execution: ExecutionId,
        query: &TimelineWindowQuery,
    ) -> Result<TimelineWindow, PositionError> {
        if query.expanded.len() > EXPANDED_MAX {
            return Err(PositionError::TooManyExpanded { max: EXPANDED_MAX });
        }
        let (from, to) = self.part_of(execution, query.part).await?;
        let before = match from {
            1 => None,
            from => Some(self.at_position(execution, Some(from - 1)).await?.state),
        };
        let at = self.at_position(execution, Some(to)).await?;
        let playbook = self.control().playbook_of(&at.state).await?;
        let has_segments = to - from < READ_MAX;
        let expanded: BTreeSet<StepName> = query.expanded.iter().map(StepName::new).collect();
        let fold = if has_segments && from == 1 && expanded.is_empty() {
            self.folded_log(execution, to).await?.rows
        } else {
            let mut fold = WindowFold::new(before.as_ref(), expanded);
            if has_segments {
                let events = self.events_between(execution, from, to).await?;
                events.iter().for_each(|recorded| fold.see(recorded));
            }
            fold
        };
        let is_truncated = fold.is_truncated;
        let mut folded = fold.finish();
        let steps = steps_of(&at.state, &playbook, &mut ShownValues::none());
        let reached: Vec<_> = steps.into_iter().filter(|step| step.status.is_some()).collect();
        let total = u64::try_from(reached.len()).unwrap_or(u64::MAX);
        let limit = query.limit.unwrap_or(ROWS).clamp(1, ROWS_MAX);
        let rows = reached.into_iter().skip(query.offset).take(limit).map(|step| {
            let row = folded.remove(step.name.as_str()).filter(|_| has_segments);
            let WindowRow { segments, attempts, groups } = row.unwrap_or_default();
            TimelineRow {
                step,
                segments: segments.iter().map(segment_of).collect(),
                attempts: attempts.iter().map(attempt_of).collect(),
                groups: groups.iter().map(group_of).collect(),
            }
        });
        let from_at = before.map_or(at.state.started_at(), |before| before.last_at());
        Ok(TimelineWindow {
            execution_id: execution.into(),
            from,
            to,
            from_at,
            to_at: at.state.last_at(),
            has_segments,
            is_truncated,
            total,
            rows: rows.collect(),
        })
    }
}

impl App {
    /// Returns the runs that the execution waited for up to a position; `None` if the log up to there
    /// is too long to be read.
    pub async fn critical_path(
        &self,
        execution: ExecutionId,
        position: u64,
    ) -> Result<Option<Vec<CriticalRun>>, PositionError> {
        if position > READ_MAX {
            return Ok(None);
        }
        let log = self.events_between(execution, 1, position).await?;
        Ok(Some(critical_path(execution, &log)))
    }

    /// Returns the last event up to an instant; the first event if all are later.
    pub async fn position_at(
        &self,
        execution: ExecutionId,
        at: Timestamp,
    ) -> Result<u64, PositionError> {
        let (mut low, mut high) = (1, self.execution(execution).await?.seq.0);
        // The event `low` is not later than the instant, or it is the first one.
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.event_at(execution, middle).await?.at <= at {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Ok(low)
    }
}

fn activity_of(activity: RowActivity) -> TimelineActivity {
    match activity {
        RowActivity::Running => TimelineActivity::Running,
        RowActivity::Child => TimelineActivity::Child,
        RowActivity::WaitingForWorker => TimelineActivity::WaitingForWorker,
        RowActivity::WaitingForSlot => TimelineActivity::WaitingForSlot,
        RowActivity::WaitingForSignal => TimelineActivity::WaitingForSignal,
        RowActivity::WaitingForApproval => TimelineActivity::WaitingForApproval,
        RowActivity::WaitingForTimer => TimelineActivity::WaitingForTimer,
    }
}

fn segment_of(segment: &noetl_replay::RowSegment) -> TimelineSegment {
    let activity = activity_of(segment.activity);
    TimelineSegment { activity, from_at: segment.from, to_at: segment.to }
}

fn attempt_of(span: &noetl_replay::AttemptSpan) -> TimelineAttempt {
    TimelineAttempt {
        run: span.run.0,
        item: span.item,
        command: span.command.0,
        activity: activity_of(span.activity),
        from_at: span.from,
        to_at: span.to,
        ended: span.ended.map(|seq| seq.0),
        is_failed: span.is_failed,
    }
}

fn group_of(group: &noetl_replay::ItemGroup) -> TimelineItemGroup {
    TimelineItemGroup {
        run: group.run.0,
        first: group.first,
        last: group.last,
        completed: group.completed,
        failed: group.failed,
        from_at: group.from,
        to_at: group.to,
    }
}
