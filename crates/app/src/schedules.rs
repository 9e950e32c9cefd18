//! Schedules: listing, showing, pausing, resuming and backfilling.

use noetl_api::wire::{
    Backfilled, BackfilledInstant, ScheduleEventView, ScheduleEvents, ScheduleInstants,
    ScheduleList, ScheduleView,
};
use noetl_control::{Fired, ScheduleAction, ScheduleError};
use noetl_model::{InstantSkipReason, ScheduleEvent, Seq, Timestamp};
use noetl_store::{ScheduleRecord, ScheduleRow};
use serde_json::{Value, json};

use crate::app::App;

/// Default numbers of instants and events.
const INSTANTS: usize = 10;
const EVENTS: usize = 100;
/// Maximum number of instants or events.
const LISTED_MAX: usize = 1000;

/// The treatment of the instants in a backfilled time range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackfillMode {
    Start,
    List,
}

impl App {
    /// Lists all schedules by path.
    pub async fn list_schedules(&self) -> Result<ScheduleList, ScheduleError> {
        let schedules = self.control().schedules().await?;
        Ok(ScheduleList { schedules: schedules.into_iter().map(view).collect() })
    }

    /// Returns the schedule at a path.
    pub async fn schedule(&self, path: &str) -> Result<ScheduleView, ScheduleError> {
        Ok(view(self.control().schedule(path).await?))
    }

    /// Lists the events of a schedule before a seq, newest first.
    pub async fn schedule_events(
        &self,
        path: &str,
        before: Option<u64>,
        limit: Option<usize>,
    ) -> Result<ScheduleEvents, ScheduleError> {
        self.control().schedule(path).await?;
        let limit = limit.unwrap_or(EVENTS).min(LISTED_MAX);
        let records = self.store().schedule_events(path, before.map(Seq), limit).await?;
        Ok(ScheduleEvents { events: records.into_iter().map(event_view).collect() })
    }

    /// Lists the next instants of a schedule after a time; after the current time if it is `None`.
    pub async fn next_instants(
        &self,
        path: &str,
        after: Option<Timestamp>,
        limit: Option<usize>,
    ) -> Result<ScheduleInstants, ScheduleError> {
        let document = self.control().schedule_document(path).await?;
        let mut reached = after.unwrap_or_else(|| self.now());
        let limit = limit.unwrap_or(INSTANTS).min(LISTED_MAX);
        let mut instants = Vec::new();
        while instants.len() < limit
            && let Some(next) = document.next_after(reached)
        {
            instants.push(next.to_string());
            reached = next;
        }
        Ok(ScheduleInstants { instants })
    }

    /// Pauses or resumes a schedule. While it is paused, its instants are skipped.
    pub async fn move_schedule(
        &self,
        path: &str,
        action: ScheduleAction,
    ) -> Result<ScheduleView, ScheduleError> {
        Ok(view(self.control().move_schedule(path, action).await?))
    }

    /// Starts an execution for every instant of a time range that has none, or lists the instants.
    /// The range ends now if `until` is `None`.
    pub async fn backfill(
        &self,
        path: &str,
        from: Timestamp,
        until: Option<Timestamp>,
        mode: BackfillMode,
    ) -> Result<Backfilled, ScheduleError> {
        let until = until.unwrap_or_else(|| self.now());
        let instants: Vec<(Timestamp, Option<Fired>)> = match mode {
            BackfillMode::List => {
                let instants = self.control().instants(path, from, until).await?;
                instants.into_iter().map(|instant| (instant, None)).collect()
            }
            BackfillMode::Start => {
                let fired = self.control().backfill(path, from, until).await?;
                fired.into_iter().map(|(instant, fired)| (instant, Some(fired))).collect()
            }
        };
        let instants = instants.into_iter().map(|(instant, fired)| BackfilledInstant {
            instant: instant.to_string(),
            execution_id: fired.map(|fired| fired.execution().to_string()),
            started: match fired {
                Some(Fired::Now(_)) => true,
                Some(Fired::Before(_)) | None => false,
            },
        });
        Ok(Backfilled { instants: instants.collect() })
    }
}

fn view(row: ScheduleRow) -> ScheduleView {
    let ScheduleRow { path, seq: _, standing, playbook, timing, next_at, updated_at } = row;
    let text = |at: Timestamp| at.to_string();
    ScheduleView {
        path,
        state: standing.state.to_string(),
        playbook,
        timing,
        next_at: next_at.map(text),
        last_instant: standing.last.map(|last| text(last.instant)),
        last_execution_id: standing.last.map(|last| last.execution.to_string()),
        queued_until: standing.queued.map(text),
        trouble: standing.trouble,
        updated_at: text(updated_at),
    }
}

fn event_view(record: ScheduleRecord) -> ScheduleEventView {
    ScheduleEventView {
        seq: record.seq.0,
        event_type: record.event.tag().to_owned(),
        created_at: record.at.to_string(),
        context: context_of(&record.event),
    }
}

fn context_of(event: &ScheduleEvent) -> Value {
    match event {
        ScheduleEvent::Registered { catalog_id } => json!({ "catalog_id": catalog_id.to_string() }),
        ScheduleEvent::Paused | ScheduleEvent::Resumed => json!({}),
        ScheduleEvent::Fired { instant, execution } => {
            json!({ "instant": instant.to_string(), "execution_id": execution.to_string() })
        }
        ScheduleEvent::Queued { instant } => json!({ "instant": instant.to_string() }),
        ScheduleEvent::Passed { until, reason } => {
            let (reason, error) = match reason {
                InstantSkipReason::Overlap => ("overlap", None),
                InstantSkipReason::Missed => ("missed", None),
                InstantSkipReason::Unstartable { error } => ("unstartable", Some(error)),
            };
            json!({ "until": until.to_string(), "reason": reason, "error": error })
        }
        ScheduleEvent::Backfilled { from, until, started } => {
            json!({ "from": from.to_string(), "until": until.to_string(), "started": started })
        }
        ScheduleEvent::Broken { reason } => json!({ "reason": reason }),
    }
}
