//! Storage of schedules: their events, and the row that results from each event.

use noetl_model::{ScheduleEvent, ScheduleStatus, Seq, Timestamp};

/// The current state of one schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRow {
    pub path: String,
    /// The number of events of the schedule.
    pub seq: Seq,
    pub standing: ScheduleStatus,
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
