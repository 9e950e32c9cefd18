//! Detection of logs that have lost events this process had seen committed: the database was
//! restored, or failed over to a standby that lagged behind.
//!
//! The cached state is then ahead of the log. It is compared with the log whenever the store
//! refuses an append, and before an input is answered without a write. Once one execution is found
//! ahead, all cached states are compared and the other caches are cleared.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures::{StreamExt as _, stream};
use noetl_engine::{Execution, Input};
use noetl_model::{Digest, ExecutionId, Recorded, Seq};

use crate::Control;
use crate::error::LoadError;

/// The largest number of executions compared concurrently.
const COMPARED_AT_ONCE_MAX: usize = 16;

/// The last event of a folded log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoldEnd {
    pub(crate) execution: ExecutionId,
    pub(crate) seq: Seq,
    pub(crate) head: Digest,
}

impl FoldEnd {
    pub(crate) fn of(state: &Execution) -> Self {
        Self { execution: state.id(), seq: state.seq(), head: state.head() }
    }

    /// True if `last` is the last event of the fold, compared by digest if there is one.
    fn is_at(&self, last: &Recorded) -> bool {
        let digest = last.prev.map(|prev| last.digest_after(&prev));
        last.seq == self.seq && digest.is_none_or(|digest| digest == self.head)
    }
}

/// The position of a fold relative to its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogComparison {
    Current,
    /// The log has further events.
    Behind,
    /// The log does not have the fold's last event; the log's last one is `found`.
    Ahead {
        found: Seq,
    },
}

/// The number of logs found to have lost events.
#[derive(Debug, Default)]
pub(crate) struct Rewinds {
    count: AtomicU64,
    /// `true` while all cached states are being compared.
    comparing: AtomicBool,
}

impl Control {
    /// Returns how often a log was found to have lost events this process had seen committed.
    pub fn rewinds(&self) -> u64 {
        self.parts.rewinds.count.load(Ordering::Relaxed)
    }

    /// Compares a fold with the log.
    pub(crate) async fn standing(&self, end: FoldEnd) -> Result<LogComparison, LoadError> {
        let failed = |error| LoadError::of_store(end.execution, error);
        let page = self.read_from(end.execution, end.seq, 2).await?;
        match page.as_slice() {
            [last] if end.is_at(last) => Ok(LogComparison::Current),
            [last, ..] if end.is_at(last) => Ok(LogComparison::Behind),
            [..] => {
                let summary = self.parts.store.summary(end.execution).await.map_err(failed)?;
                Ok(LogComparison::Ahead { found: summary.map_or(Seq::ZERO, |summary| summary.seq) })
            }
        }
    }

    /// Compares the cached state of an execution with its log after the store refused an append.
    pub(crate) async fn note_if_ahead(&self, end: FoldEnd) -> Result<(), LoadError> {
        match self.standing(end).await? {
            LogComparison::Ahead { found } => self.note_rewound(end, found),
            LogComparison::Current | LogComparison::Behind => {}
        }
        Ok(())
    }

    /// Drops a state that is ahead of its log, logs the loss and records it.
    pub(crate) fn note_rewound(&self, end: FoldEnd, found: Seq) {
        let FoldEnd { execution, seq: seen, .. } = end;
        tracing::error!(
            %execution,
            %seen,
            %found,
            "the log of execution {execution} has lost events: this server has seen {seen}, the \
             database has {found}. It was restored, or failed over to a standby that lagged behind. \
             The execution continues from the events in the database; lost work is repeated"
        );
        self.parts.rewinds.count.fetch_add(1, Ordering::Relaxed);
        self.parts.states.forget(execution);
        self.parts.positions.clear();
        self.parts.playbooks.clear();
        self.parts.schedules.clear();
        self.parts.claims.clear_aside();
        self.parts.timers_aside.clear_aside();
        self.parts.ready_polls.clear();
        let control = self.clone();
        self.parts.tasks.spawn(async move {
            control.record_rewound(execution, seen, found).await;
            if !control.parts.rewinds.comparing.swap(true, Ordering::Relaxed) {
                control.compare_all().await;
                control.parts.rewinds.comparing.store(false, Ordering::Relaxed);
            }
        });
    }

    async fn record_rewound(&self, execution: ExecutionId, seen: Seq, found: Seq) {
        if found == Seq::ZERO {
            // No log is left to record it in.
            return;
        }
        if let Err(error) = self.submit(execution, Input::Rewound { seen, found }).await {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, %execution, "cannot record the loss of events");
        }
    }

    /// Compares every cached state with its log.
    async fn compare_all(&self) {
        let ends = stream::iter(self.parts.states.ends());
        ends.for_each_concurrent(COMPARED_AT_ONCE_MAX, |end| async move {
            match self.standing(end).await {
                Ok(LogComparison::Ahead { found }) => self.note_rewound(end, found),
                Ok(LogComparison::Current | LogComparison::Behind) => {}
                Err(_) => self.parts.states.forget(end.execution),
            }
        })
        .await;
    }
}
