//! Bodies of the routes about schedules.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A schedule's state and next and last execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleView {
    pub path: String,
    /// `ACTIVE` or `PAUSED`.
    pub state: String,
    /// Path of the playbook to start.
    pub playbook: String,
    /// Timing from the document, such as `cron 30 2 * * * Europe/Berlin`.
    pub timing: String,
    /// Time of the next execution; null if there is none or the schedule is paused.
    pub next_at: Option<String>,
    /// The latest instant that has an execution, and that execution.
    pub last_instant: Option<String>,
    pub last_execution_id: Option<String>,
    /// The last instant of the queue: instants up to this one wait for the execution before them.
    pub queued_until: Option<String>,
    /// The reason why the schedule cannot start executions.
    pub trouble: Option<String>,
    pub updated_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleList {
    pub schedules: Vec<ScheduleView>,
}

/// An event of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleEventView {
    pub seq: u64,
    pub event_type: String,
    pub created_at: String,
    /// Instants, executions and reasons of the event.
    pub context: Value,
}

/// The events of a schedule, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleEvents {
    pub events: Vec<ScheduleEventView>,
}

/// The next instants, without jitter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleInstants {
    pub instants: Vec<String>,
}

/// Selects a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleChoice {
    pub path: String,
}

/// A request to start executions for past instants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Backfill {
    pub path: String,
    /// The first instant.
    pub from: String,
    /// The last instant; the current time if left out.
    #[serde(default)]
    pub until: Option<String>,
    /// True to only list the instants.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Backfilled {
    pub instants: Vec<BackfilledInstant>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BackfilledInstant {
    pub instant: String,
    /// The instant's execution; null for a dry run.
    pub execution_id: Option<String>,
    /// True if the execution was started by this request.
    pub started: bool,
}
