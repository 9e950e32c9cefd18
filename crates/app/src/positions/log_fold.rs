//! Folds of whole logs that are read again as they grow: the times of events, marks, and rows of the
//! timeline.
//!
//! Invariant: a kept fold is continued only if the log still has its last event.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use noetl_api::wire::LogMark;
use noetl_control::LoadError;
use noetl_model::{EventId, ExecutionId, Recorded, Seq};
use noetl_replay::{TimedSeq, WindowFold};

use super::density::marks_of;
use crate::app::App;

/// Maximum number of executions whose folds are kept; the newest ones.
const KEPT_MAX: usize = 16;

/// The fold of a log from its first event on.
#[derive(Debug, Clone)]
pub(super) struct LogFold {
    last: Option<(Seq, EventId)>,
    pub(super) samples: Vec<TimedSeq>,
    pub(super) marks: Vec<LogMark>,
    pub(super) rows: WindowFold,
}

impl LogFold {
    fn new() -> Self {
        let rows = WindowFold::new(None, BTreeSet::new());
        Self { last: None, samples: Vec::new(), marks: Vec::new(), rows }
    }

    fn seq(&self) -> u64 {
        self.last.map_or(0, |(seq, _)| seq.0)
    }

    /// Folds the events after the last one.
    fn extend(&mut self, events: &[Recorded]) {
        let new = &events[events.partition_point(|recorded| recorded.seq.0 <= self.seq())..];
        self.samples.extend(new.iter().map(TimedSeq::from));
        self.marks.extend(marks_of(new));
        new.iter().for_each(|recorded| self.rows.see(recorded));
        if let Some(last) = new.last() {
            self.last = Some((last.seq, last.event_id));
        }
    }
}

/// The folds of the logs that were shown last.
#[derive(Debug, Default)]
pub(crate) struct LogFolds {
    kept: Mutex<BTreeMap<ExecutionId, LogFold>>,
}

impl LogFolds {
    fn take(&self, execution: ExecutionId, until: u64) -> Option<LogFold> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&execution).filter(|fold| fold.seq() <= until).cloned()
    }

    fn keep(&self, execution: ExecutionId, fold: LogFold) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(execution, fold);
        if kept.len() > KEPT_MAX {
            kept.pop_first();
        }
    }
}

impl App {
    /// Folds a log up to an event, from the kept fold on.
    pub(super) async fn folded_log(
        &self,
        execution: ExecutionId,
        until: u64,
    ) -> Result<LogFold, LoadError> {
        let kept = self.log_folds().take(execution, until).filter(|fold| fold.last.is_some());
        let mut fold = kept.unwrap_or_else(LogFold::new);
        let mut events = self.events_between(execution, fold.seq().max(1), until).await?;
        let first = events.first().map(|recorded| (recorded.seq, recorded.event_id));
        if fold.last.is_some() && fold.last != first {
            fold = LogFold::new();
            events = self.events_between(execution, 1, until).await?;
        }
        fold.extend(&events);
        self.log_folds().keep(execution, fold.clone());
        Ok(fold)
    }
}
