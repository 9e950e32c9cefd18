//! Counts of the executions that this process has started and ended, by status.

use std::sync::atomic::{AtomicU64, Ordering};

use noetl_model::{Event, ExecutionStatus, Recorded, Seq};
use noetl_store::Append;

/// The number of executions that this process has started and ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    pub started: u64,
    pub completed: u64,
    pub failed: u64,
    pub cancelled: u64,
    /// Executions that did not end by the time their playbook expects.
    pub late: u64,
}

/// The counters behind [`OutcomeCounts`].
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    started: AtomicU64,
    completed: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
    late: AtomicU64,
}

impl Outcomes {
    /// Counts the start, the lateness and the end in a committed append.
    pub(crate) fn written(&self, append: &Append) {
        let starts_fork = append.summary.fork.is_some_and(|fork| fork.seq == append.expected);
        if append.expected == Seq::ZERO || starts_fork {
            self.started.fetch_add(1, Ordering::Relaxed);
        }
        let is_late = |recorded: &Recorded| matches!(recorded.event, Event::ExecutionLate { .. });
        if append.events.iter().any(is_late) {
            self.late.fetch_add(1, Ordering::Relaxed);
        }
        let is_end = |event: &Event| {
            matches!(
                event,
                Event::ExecutionCompleted { .. }
                    | Event::ExecutionFailed { .. }
                    | Event::ExecutionCancelled { .. }
            )
        };
        if !append.events.iter().any(|recorded| is_end(&recorded.event)) {
            return;
        }
        let counter = match append.summary.status {
            ExecutionStatus::Completed => &self.completed,
            ExecutionStatus::Failed => &self.failed,
            ExecutionStatus::Cancelled => &self.cancelled,
            ExecutionStatus::Running => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> OutcomeCounts {
        OutcomeCounts {
            started: self.started.load(Ordering::Relaxed),
            completed: self.completed.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            cancelled: self.cancelled.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
        }
    }
}
