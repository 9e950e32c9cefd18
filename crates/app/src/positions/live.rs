//! Live updates of an execution: what has changed since the last update, at most ten times a second.
//!
//! An update is made when a commit wakes the reader; the changes of all commits in between are one
//! update. Its size is bounded by the playbook.

use std::sync::Arc;
use std::time::Duration;

use noetl_api::wire::LiveUpdate;
use noetl_engine::Execution;
use noetl_model::{ExecutionId, Seq};
use noetl_playbook::Playbook;
use noetl_replay::state_difference;
use tokio::time::Instant;

use super::state::step_of;
use super::values::ShownValues;
use super::{AtPosition, PositionError};
use crate::app::App;

/// Minimum time between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// The live updates of one execution, from a position on.
pub struct LiveUpdates {
    app: App,
    execution: ExecutionId,
    /// The state of the last update; `None` before the first one of a reader that starts anew.
    last: Option<Execution>,
    sent_at: Option<Instant>,
}

impl App {
    /// Follows an execution from a position on; from the beginning if `after` is 0. Returns `None`
    /// if the execution has ended and the reader has seen its last event.
    pub async fn live_updates(
        &self,
        execution: ExecutionId,
        after: u64,
    ) -> Result<Option<LiveUpdates>, PositionError> {
        let summary = self.execution(execution).await?;
        if summary.status.is_terminal() && after >= summary.seq.0 {
            return Ok(None);
        }
        let last = match after {
            0 => None,
            after => Some(self.at_position(execution, Some(after)).await?.state),
        };
        Ok(Some(LiveUpdates { app: self.clone(), execution, last, sent_at: None }))
    }
}

impl LiveUpdates {
    /// Waits for the next update; `None` after the update with the end of the execution. Cancel
    /// safe: an update that is not returned is part of the next one.
    pub async fn next(&mut self) -> Result<Option<LiveUpdate>, PositionError> {
        let seen = self.last.as_ref();
        if self.sent_at.is_some() && seen.is_some_and(|last| last.status().is_terminal()) {
            return Ok(None);
        }
        let after = seen.map_or(Seq::ZERO, Execution::seq);
        self.app.control().events_follow(self.execution, after).next().await?;
        if let Some(sent_at) = self.sent_at {
            tokio::time::sleep_until(sent_at + UPDATE_INTERVAL).await;
        }
        let at = self.app.at_position(self.execution, None).await?;
        let playbook = self.app.control().playbook_of(&at.state).await?;
        let update = self.update(&at, &playbook).await?;
        self.sent_at = Some(Instant::now());
        self.last = Some(at.state);
        Ok(Some(update))
    }

    async fn update(
        &self,
        at: &AtPosition,
        playbook: &Arc<Playbook>,
    ) -> Result<LiveUpdate, PositionError> {
        let open = self.app.open_work_at(at).await?;
        let state = &at.state;
        let mut shown = ShownValues::default();
        let declared = |name: &str| playbook.index_of(name).map(|index| playbook.step(index));
        let changed: Vec<&str> = match &self.last {
            Some(last) => {
                let difference = state_difference(last, state);
                let steps = difference.steps.iter();
                steps.filter_map(|step| step.after.map(|after| after.name.as_str())).collect()
            }
            None => state.steps().map(|step| step.name.as_str()).collect(),
        };
        let steps = changed
            .iter()
            .filter_map(|name| state.step(name))
            .map(|step| step_of(step.name, declared(step.name.as_str()), Some(step), &mut shown));
        let steps = steps.collect();
        let summary = state.summary();
        Ok(LiveUpdate {
            execution_id: self.execution.into(),
            position: state.seq().0,
            at: state.last_at(),
            status: state.status(),
            current_step: summary.current_step.map(|step| step.to_string()),
            error: summary.error,
            steps,
            open,
            steps_total: summary.steps.total,
            steps_completed: summary.steps.completed,
            steps_failed: summary.steps.failed,
            items_total: summary.items.total,
            items_completed: summary.items.completed,
            items_failed: summary.items.failed,
        })
    }
}
