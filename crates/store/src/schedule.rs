//! Schedules as they are kept: their events, and with each the row that follows from it.

use async_trait::async_trait;
use noetl_model::{ScheduleEvent, ScheduleStanding, Seq, Timestamp};

use crate::StoreError;

/// One schedule at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRow {
    pub path: String,
    /// How many events it has.
    pub seq: Seq,
    pub standing: ScheduleStanding,
    /// What it starts, and when, as its document says.
    pub playbook: String,
    pub timing: String,
    /// When it is to be looked at; never, if nothing comes.
    pub next_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

/// Something that happened to a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRecord {
    pub seq: Seq,
    pub event: ScheduleEvent,
    pub at: Timestamp,
}

/// What has happened to schedules, and how they stand.
#[async_trait]
pub trait Schedules: Send + Sync {
    /// Writes down the first event of a schedule, or the next of one that stands at `row.seq - 1`;
    /// `false`, and nothing is written, if it does not.
    async fn record_schedule(
        &self,
        row: &ScheduleRow,
        event: &ScheduleEvent,
    ) -> Result<bool, StoreError>;

    async fn schedule(&self, path: &str) -> Result<Option<ScheduleRow>, StoreError>;

    /// Those after a path, in the order of paths, at most `PAGE_MAX`.
    async fn list_schedules(&self, after: Option<&str>) -> Result<Vec<ScheduleRow>, StoreError>;

    /// Those to be looked at by now, the longest due first, at most `limit` (and `PAGE_MAX`).
    async fn due_schedules(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRow>, StoreError>;

    /// When the first of all is to be looked at.
    async fn next_schedule(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Those with instants that wait for an execution to end, after a path, in the order of paths, at
    /// most `PAGE_MAX`.
    async fn waiting_schedules(&self, after: Option<&str>) -> Result<Vec<ScheduleRow>, StoreError>;

    /// What has happened to one before an event, newest first, at most `limit` (and
    /// `READ_EVENTS_MAX`).
    async fn schedule_events(
        &self,
        path: &str,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, StoreError>;
}
