//! Storage of schedules: their events, and the row that results from each event.

use async_trait::async_trait;
use noetl_model::{ScheduleEvent, ScheduleStanding, Seq, Timestamp};

use crate::StoreError;

/// The current state of one schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRow {
    pub path: String,
    /// The number of events of the schedule.
    pub seq: Seq,
    pub standing: ScheduleStanding,
    /// The path of the playbook to start; with `timing`, copied from the document.
    pub playbook: String,
    pub timing: String,
    /// The time of the next check; `None` if nothing is scheduled.
    pub next_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

/// An event of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRecord {
    pub seq: Seq,
    pub event: ScheduleEvent,
    pub at: Timestamp,
}

/// Storage of schedules and their events.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// Appends an event to a schedule and stores its row. Returns false and writes nothing unless
    /// the schedule is at `row.seq - 1`.
    async fn record_schedule(
        &self,
        row: &ScheduleRow,
        event: &ScheduleEvent,
    ) -> Result<bool, StoreError>;

    async fn schedule(&self, path: &str) -> Result<Option<ScheduleRow>, StoreError>;

    /// Lists the schedules after a path, ordered by path, at most `PAGE_MAX`.
    async fn list_schedules(&self, after: Option<&str>) -> Result<Vec<ScheduleRow>, StoreError>;

    /// Returns the schedules that are due at `now`, longest due first, at most `limit` (and
    /// `PAGE_MAX`).
    async fn due_schedules(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRow>, StoreError>;

    /// Returns the earliest due time of all schedules.
    async fn next_schedule(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Lists the schedules with instants that wait for an execution to end, after a path and
    /// ordered by path, at most `PAGE_MAX`.
    async fn waiting_schedules(&self, after: Option<&str>) -> Result<Vec<ScheduleRow>, StoreError>;

    /// Returns the events of a schedule before `before`, newest first, at most `limit` (and
    /// `READ_EVENTS_MAX`).
    async fn schedule_events(
        &self,
        path: &str,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, StoreError>;
}
