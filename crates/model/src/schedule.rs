//! Schedules: what can happen to one, and how it then stands.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{CatalogId, ExecutionId, Timestamp};

/// Something that happened to a schedule. The tags are stored and never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum ScheduleEvent {
    /// A version of its document is the one that counts.
    #[serde(rename = "schedule.registered")]
    Registered { catalog_id: CatalogId },
    #[serde(rename = "schedule.paused")]
    Paused,
    #[serde(rename = "schedule.resumed")]
    Resumed,
    /// An instant has its execution.
    #[serde(rename = "schedule.fired")]
    Fired { instant: Timestamp, execution: ExecutionId },
    /// An instant waits until the execution before it has ended.
    #[serde(rename = "schedule.queued")]
    Queued { instant: Timestamp },
    /// No instant up to this one starts anything any more.
    #[serde(rename = "schedule.passed")]
    Passed { until: Timestamp, reason: PassReason },
    /// Instants of the past were given the executions they lacked.
    #[serde(rename = "schedule.backfilled")]
    Backfilled { from: Timestamp, until: Timestamp, started: u64 },
    /// Its document cannot be read any more; it rests until there is another.
    #[serde(rename = "schedule.broken")]
    Broken { reason: String },
}

/// Why instants started nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PassReason {
    /// The execution before was under way.
    Overlap,
    /// No server ran in time.
    Missed,
    /// An execution could not be started, and trying again would not help.
    Unstartable { error: String },
}

impl ScheduleEvent {
    /// The tag under which it is stored and shown.
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

/// Whether instants count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ScheduleState {
    Active,
    /// Instants pass until it is resumed.
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

/// An instant and its execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firing {
    pub instant: Timestamp,
    pub execution: ExecutionId,
}

/// How a schedule stands: the fold of what has happened to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleStanding {
    /// The version of its document that counts.
    pub catalog_id: CatalogId,
    pub state: ScheduleState,
    /// Every instant up to here is dealt with.
    pub reached: Timestamp,
    /// Instants after `reached` and up to here wait for the execution before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued: Option<Timestamp>,
    /// The latest instant that has an execution, but for backfilled ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Firing>,
    /// What keeps it from starting anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_stored_under_their_tags_and_read_again() {
        let at = Timestamp::from_millis(1_800_000_000_000);
        let unstartable = PassReason::Unstartable { error: "no playbook p".to_owned() };
        let events = [
            ScheduleEvent::Registered { catalog_id: CatalogId(7) },
            ScheduleEvent::Paused,
            ScheduleEvent::Resumed,
            ScheduleEvent::Fired { instant: at, execution: ExecutionId(9) },
            ScheduleEvent::Queued { instant: at },
            ScheduleEvent::Passed { until: at, reason: PassReason::Overlap },
            ScheduleEvent::Passed { until: at, reason: PassReason::Missed },
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
