//! The loop that starts executions when their instants are due.
//!
//! Invariant: an execution started for an instant is recorded in its schedule before the next
//! instant is handled.

use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use noetl_engine::{ScheduleStep, schedule_step};
use noetl_model::{
    ExecutionId, InstantSkipReason, Origin, Pool, SCHEDULE_KEY, ScheduleEvent, Timestamp,
};
use noetl_playbook::{Overlap, Schedule};
use noetl_store::{PAGE_MAX, ScheduleRow, StartKey, StoreError};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Fired, ScheduleError};
use crate::tasks::pause;
use crate::{Admission, Control, PlaybookChoice, StartError, StartRequest};

/// The lifetime of an instant's start key, which prevents a second start.
const INSTANT_KEEP: Duration = Duration::from_secs(400 * 86400);
/// The largest number of schedules handled concurrently.
const AT_ONCE_MAX: usize = 64;
/// The largest number of steps of one schedule before others are handled.
const STEPS_MAX: usize = 16;
/// The longest error text stored with a schedule.
const TROUBLE_MAX: usize = 500;

impl Control {
    /// Starts executions as their instants come due, until `stop`.
    pub async fn keep_schedules(&self, stop: CancellationToken) {
        let wakes = &self.parts.wakes;
        loop {
            let wait = match self.look_at_schedules().await {
                Ok(wait) => wait,
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "cannot check the schedules; will retry");
                    self.parts.settings.poll
                }
            };
            if !pause(&stop, &wakes.schedules, wait).await {
                return;
            }
        }
    }

    /// Handles schedules that are due or have queued instants. Returns the wait until the next
    /// check.
    async fn look_at_schedules(&self) -> Result<Duration, StoreError> {
        let poll = self.parts.settings.poll;
        let mut after: Option<String> = None;
        loop {
            let waiting = self.parts.store.waiting_schedules(after.as_deref()).await?;
            after = waiting.last().map(|row| row.path.clone());
            let is_last = waiting.len() < PAGE_MAX;
            self.move_on(waiting).await;
            if is_last {
                break;
            }
        }
        let due = self.parts.store.due_schedules(self.parts.stamps.now(), PAGE_MAX).await?;
        if !due.is_empty() {
            let is_all_done = self.move_on(due).await;
            return Ok(if is_all_done { Duration::ZERO } else { poll });
        }
        let next = self.parts.store.next_schedule().await?;
        let now = self.parts.stamps.now();
        Ok(next.map_or(poll, |next| next.since(now).min(poll)))
    }

    /// Handles schedules. Returns true if all succeeded.
    async fn move_on(&self, rows: Vec<ScheduleRow>) -> bool {
        let moving = stream::iter(rows).map(async |row| {
            let path = row.path.clone();
            let moved = self.move_one_on(row).await;
            if let Err(error) = &moved {
                let error = error as &dyn std::error::Error;
                tracing::warn!(error, path, "cannot store the next time of a schedule; will retry");
            }
            moved.is_ok()
        });
        let moved: Vec<bool> = moving.buffer_unordered(AT_ONCE_MAX).collect().await;
        moved.into_iter().all(|is_moved| is_moved)
    }

    /// Executes the due steps of one schedule.
    async fn move_one_on(&self, row: ScheduleRow) -> Result<(), ScheduleError> {
        let document = match self.document_of(&row.path, row.standing.catalog_id).await {
            Ok(document) => document,
            Err(error @ (ScheduleError::Damaged(_) | ScheduleError::Unknown(_))) => {
                let reason = reasons(&error);
                tracing::warn!(path = row.path, reason, "schedule cannot be read");
                self.note(&row, &ScheduleEvent::Broken { reason }, None).await?;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut row = row;
        for _ in 0..STEPS_MAX {
            let running = self.running_of(&row, &document).await?;
            let now = self.parts.stamps.now();
            let event = match schedule_step(&document, &row.standing, running, now) {
                ScheduleStep::Rest => return Ok(()),
                ScheduleStep::Note(event) => event,
                ScheduleStep::Fire { instant, cancels } => {
                    self.fire_instant(&row.path, &document, instant, cancels).await?
                }
            };
            row = match self.note_surely(row, &event, &document).await? {
                Some(row) => row,
                None => return Ok(()),
            };
        }
        Ok(())
    }

    /// Records a step. If another writer was faster, its decision stands; only a started execution
    /// is recorded in any case.
    async fn note_surely(
        &self,
        row: ScheduleRow,
        event: &ScheduleEvent,
        document: &Schedule,
    ) -> Result<Option<ScheduleRow>, ScheduleError> {
        if let Some(moved) = self.note(&row, event, Some(document)).await? {
            return Ok(Some(moved));
        }
        if let ScheduleEvent::Fired { instant, .. } = event {
            let is_known =
                |row: &ScheduleRow| row.standing.last.is_some_and(|last| last.instant >= *instant);
            self.note_unless(&row.path, event, is_known).await?;
        }
        Ok(None)
    }

    /// Returns the execution of the latest instant if it runs and the overlap policy needs it.
    async fn running_of(
        &self,
        row: &ScheduleRow,
        document: &Schedule,
    ) -> Result<Option<ExecutionId>, StoreError> {
        match document.overlap {
            Overlap::Allow => return Ok(None),
            Overlap::Skip | Overlap::Queue | Overlap::Cancel => {}
        }
        let Some(last) = row.standing.last else { return Ok(None) };
        let summary = self.parts.store.summary(last.execution).await?;
        let is_running = summary.is_some_and(|summary| !summary.status.is_terminal());
        Ok(is_running.then_some(last.execution))
    }

    /// Starts the execution of an instant and returns the event to record.
    async fn fire_instant(
        &self,
        path: &str,
        document: &Schedule,
        instant: Timestamp,
        cancels: Option<ExecutionId>,
    ) -> Result<ScheduleEvent, ScheduleError> {
        if let Some(older) = cancels {
            let reason = format!("schedule {path} starts the execution of {instant}");
            // The execution may have ended meanwhile.
            let _answer = self.cancel(older, reason).await.map_err(StartError::Submit)?;
        }
        match self.start_instant(path, document, instant).await {
            Ok(fired) => Ok(ScheduleEvent::Fired { instant, execution: fired.execution() }),
            Err(error) if error.is_transient() => Err(error.into()),
            Err(error) => {
                let error = reasons(&error);
                tracing::warn!(path, %instant, error, "a schedule cannot start its playbook");
                let reason = InstantSkipReason::Unstartable { error };
                Ok(ScheduleEvent::Passed { until: instant, reason })
            }
        }
    }

    /// Starts the execution of an instant, or returns the one that exists.
    pub(super) async fn start_instant(
        &self,
        path: &str,
        document: &Schedule,
        instant: Timestamp,
    ) -> Result<Fired, StartError> {
        let mut payload = document.payload.clone();
        let about = json!({ "path": path, "instant": instant.to_string() });
        payload.insert(SCHEDULE_KEY.to_owned(), about);
        let choice = PlaybookChoice::Path { path: document.playbook.clone(), version: None };
        let mut request = StartRequest::new(choice, payload);
        request.admission = Admission::Internal;
        request.input.labels = document.labels.clone();
        request.input.origin = Origin::Schedule { path: path.to_owned(), instant };
        if let Some(pool) = &document.pool {
            request.input.pool = Pool::new(pool.clone());
        }
        request.key = Some(StartKey {
            scope: format!("schedule {path}"),
            name: instant.to_string(),
            keep: INSTANT_KEEP,
            request: None,
        });
        match self.start(request).await {
            Ok(execution) => {
                tracing::info!(path, %instant, %execution, "schedule fired");
                Ok(Fired::Now(execution))
            }
            Err(StartError::KeyTaken(holder)) => Ok(Fired::Before(holder.execution)),
            Err(error) => Err(error),
        }
    }
}

/// Returns an error with its causes, short enough to be stored with a schedule.
fn reasons(error: &dyn std::error::Error) -> String {
    let mut reasons = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        reasons = format!("{reasons}: {cause}");
        source = cause.source();
    }
    reasons.chars().take(TROUBLE_MAX).collect()
}
