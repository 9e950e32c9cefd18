//! Bodies of the routes about schedules.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A schedule at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleView {
    pub path: String,
    /// `ACTIVE` or `PAUSED`.
    pub state: String,
    /// What an execution is started of.
    pub playbook: String,
    /// When, as the document says: `cron 30 2 * * * Europe/Berlin`.
    pub timing: String,
    /// When the next execution starts; nothing if none comes, or it is paused.
    pub next_at: Option<String>,
    /// The latest instant that has an execution, and that execution.
    pub last_instant: Option<String>,
    pub last_execution_id: Option<String>,
    /// Up to which instant others wait for the execution before them.
    pub queued_until: Option<String>,
    /// What keeps it from starting anything.
    pub trouble: Option<String>,
    pub updated_at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleList {
    pub schedules: Vec<ScheduleView>,
}

/// Something that happened to a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleEventView {
    pub seq: u64,
    pub event_type: String,
    pub created_at: String,
    /// The instants, executions and reasons that belong to it.
    pub context: Value,
}

/// What has happened to a schedule, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleEvents {
    pub events: Vec<ScheduleEventView>,
}

/// The instants that come next, jitter left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleInstants {
    pub instants: Vec<String>,
}

/// Which schedule is meant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleChoice {
    pub path: String,
}

/// Which instants are to have their executions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Backfill {
    pub path: String,
    /// The first instant that is meant.
    pub from: String,
    /// The last instant that is meant; now, if left out.
    #[serde(default)]
    pub until: Option<String>,
    /// Whether the instants are only listed.
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
    /// Its execution; nothing where it is only listed.
    pub execution_id: Option<String>,
    /// Whether it was started just now.
    pub started: bool,
}
