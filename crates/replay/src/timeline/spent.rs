//! Time per activity. Of overlapping ones, the first of running, child, worker, slot, signal,
//! approval, timer counts.

use noetl_model::{Timestamp, WaitCondition, WorkHolder};
use serde::{Serialize, Serializer};

/// The microseconds spent on each activity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// A worker ran a tool.
    #[serde(rename = "running_seconds", serialize_with = "seconds")]
    pub running: u64,
    /// A child execution ran.
    #[serde(rename = "child_seconds", serialize_with = "seconds")]
    pub child: u64,
    /// A command waited for a worker.
    #[serde(rename = "waiting_for_worker_seconds", serialize_with = "seconds")]
    pub worker: u64,
    /// A command waited for a slot of a limit.
    #[serde(rename = "waiting_for_slot_seconds", serialize_with = "seconds")]
    pub slot: u64,
    /// A step waited for a signal.
    #[serde(rename = "waiting_for_signal_seconds", serialize_with = "seconds")]
    pub signal: u64,
    /// A step waited for a decision.
    #[serde(rename = "waiting_for_approval_seconds", serialize_with = "seconds")]
    pub approval: u64,
    /// A retry or a step waited for a time.
    #[serde(rename = "waiting_for_timer_seconds", serialize_with = "seconds")]
    pub timer: u64,
    /// Everything else: decisions of the control plane, or waiting for other steps.
    #[serde(rename = "other_seconds", serialize_with = "seconds")]
    pub other: u64,
}

impl Spent {
    pub fn total(&self) -> u64 {
        let waiting = self.worker + self.slot + self.signal + self.approval + self.timer;
        self.running + self.child + waiting + self.other
    }
}

/// Serializes microseconds as seconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "a time span of years is far below 2^52 microseconds"
)]
fn seconds<S: Serializer>(micros: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*micros as f64 / 1e6)
}

/// An activity of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Running,
    Child,
    Worker,
    Slot,
    Signal,
    Approval,
    Timer,
}

impl Activity {
    pub(super) fn of(holder: WorkHolder<'_>) -> Self {
        match holder {
            WorkHolder::Worker { .. } => Self::Running,
            WorkHolder::Child => Self::Child,
            WorkHolder::Condition(WaitCondition::Signal { .. }) => Self::Signal,
            WorkHolder::Condition(WaitCondition::Time { .. }) => Self::Timer,
            WorkHolder::Approval => Self::Approval,
        }
    }
}

/// Sums the time per activity; open activities are counted.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    since: Timestamp,
    running: u32,
    child: u32,
    worker: u32,
    slot: u32,
    signal: u32,
    approval: u32,
    timer: u32,
    pub(super) spent: Spent,
}

impl Meter {
    pub(super) fn from(at: Timestamp) -> Self {
        Self {
            since: at,
            running: 0,
            child: 0,
            worker: 0,
            slot: 0,
            signal: 0,
            approval: 0,
            timer: 0,
            spent: Spent::default(),
        }
    }

    /// Adds the time up to `at` to the current activity. An earlier `at` adds nothing.
    pub(super) fn advance(&mut self, at: Timestamp) {
        let micros = u64::try_from(at.since(self.since).as_micros()).unwrap_or(u64::MAX);
        let spent = &mut self.spent;
        let counter = if self.running > 0 {
            &mut spent.running
        } else if self.child > 0 {
            &mut spent.child
        } else if self.worker > 0 {
            &mut spent.worker
        } else if self.slot > 0 {
            &mut spent.slot
        } else if self.signal > 0 {
            &mut spent.signal
        } else if self.approval > 0 {
            &mut spent.approval
        } else if self.timer > 0 {
            &mut spent.timer
        } else {
            &mut spent.other
        };
        *counter += micros;
        self.since = self.since.max(at);
    }

    /// Excludes the time up to `at`.
    pub(super) fn skip(&mut self, at: Timestamp) {
        self.since = self.since.max(at);
    }

    pub(super) fn begin(&mut self, activity: Activity) {
        *self.count(activity) += 1;
    }

    pub(super) fn end(&mut self, activity: Activity) {
        let count = self.count(activity);
        *count = count.saturating_sub(1);
    }

    fn count(&mut self, activity: Activity) -> &mut u32 {
        match activity {
            Activity::Running => &mut self.running,
            Activity::Child => &mut self.child,
            Activity::Worker => &mut self.worker,
            Activity::Slot => &mut self.slot,
            Activity::Signal => &mut self.signal,
            Activity::Approval => &mut self.approval,
            Activity::Timer => &mut self.timer,
        }
    }
}
