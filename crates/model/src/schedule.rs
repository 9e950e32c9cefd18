//! The events of a schedule and the state that results from them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{CatalogId, ExecutionId, Timestamp};

/// An event of a schedule. The tags are stored and never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum ScheduleEvent {
    /// A version of the schedule's document was activated.
    #[serde(rename = "schedule.registered")]
    Registered { catalog_id: CatalogId },
    #[serde(rename = "schedule.paused")]
    Paused,
    #[serde(rename = "schedule.resumed")]
    Resumed,
    /// An execution was started for an instant.
    #[serde(rename = "schedule.fired")]
    Fired { instant: Timestamp, execution: ExecutionId },
    /// An instant waits until the previous execution has ended.
    #[serde(rename = "schedule.queued")]
    Queued { instant: Timestamp },
    /// All instants up to `until` that have no execution were skipped.
    #[serde(rename = "schedule.passed")]
    Passed { until: Timestamp, reason: InstantSkipReason },
    /// Executions were started for missed instants of the past.
    #[serde(rename = "schedule.backfilled")]
    Backfilled { from: Timestamp, until: Timestamp, started: u64 },
    /// The active document cannot be read; the schedule stops until another version is registered.
    #[serde(rename = "schedule.broken")]
    Broken { reason: String },
}

/// The reason why instants were skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum InstantSkipReason {
    /// The previous execution was still running.
    Overlap,
    /// No server was running in time.
    Missed,
    /// The start failed with an error that a retry would not fix.
    Unstartable { error: String },
}

impl ScheduleEvent {
    /// Returns the tag under which the event is stored and shown.
    pub fn tag(&self) -> &'static str {
        match self {
            ScheduleEvent::Registered { .. } => "schedule.registered",
            ScheduleEvent::Paused => "schedule.paused",
            ScheduleEvent::Resumed => "schedule.resumed",
            ScheduleEvent::Fired { .. } => "schedule.fired",
            ScheduleEvent::Queued { .. } => "schedule.queued",
            ScheduleEvent::Passed { .. } => "schedule.passed",
            ScheduleEvent::Backfilled { .. } => "schedule.backfilled",
            ScheduleEvent::Broken { .. } => "schedule.broken",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ScheduleState {
    Active,
    /// Instants are skipped until the schedule is resumed.
    Paused,
}

impl ScheduleState {
    pub fn as_str(self) -> &'static str {
        match self {
            ScheduleState::Active => "ACTIVE",
            ScheduleState::Paused => "PAUSED",
        }
    }
}

impl fmt::Display for ScheduleState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An instant and the execution started for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firing {
    pub instant: Timestamp,
    pub execution: ExecutionId,
}

/// The state of a schedule, folded from its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleStatus {
    /// The active version of the document.
    pub catalog_id: CatalogId,
    pub state: ScheduleState,
    /// The last instant that is settled: all instants up to it were fired or skipped.
    pub reached: Timestamp,
    /// The last queued instant: those after `reached` up to it wait for the previous execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<Timestamp>,
    /// The latest instant that was fired, not counting backfills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Firing>,
    /// The error that keeps the schedule from starting executions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_stored_under_their_tags_and_read_again() {
        let at = Timestamp::from_millis(1_800_000_000_000);
        let unstartable = InstantSkipReason::Unstartable { error: "no playbook p".to_owned() };
        let events = [
            ScheduleEvent::Registered { catalog_id: CatalogId(7) },
            ScheduleEvent::Paused,
            ScheduleEvent::Resumed,
            ScheduleEvent::Fired { instant: at, execution: ExecutionId(9) },
            ScheduleEvent::Queued { instant: at },
            ScheduleEvent::Passed { until: at, reason: InstantSkipReason::Overlap },
            ScheduleEvent::Passed { until: at, reason: InstantSkipReason::Missed },
            ScheduleEvent::Passed { until: at, reason: unstartable },
            ScheduleEvent::Backfilled { from: at, until: at, started: 1 },
            ScheduleEvent::Broken { reason: "no".to_owned() },
        ];
        for event in events {
            let stored = serde_json::to_value(&event).expect("JSON");
            assert_eq!(stored["type"], event.tag());
            assert_eq!(serde_json::from_value::<ScheduleEvent>(stored).expect("an event"), event);
        }
    }
}
