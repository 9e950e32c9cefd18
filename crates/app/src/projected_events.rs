//! Events of other programs, stored beside the log; saved states of executions; deletion of old
//! data on request.
//!
//! Invariant: a batch is stored as a whole or not at all.

use std::collections::BTreeSet;
use std::time::Duration;

use noetl_control::{Advanced, LoadError};
use noetl_model::{Envelope, ExecutionId, Timestamp};
use noetl_store::{Horizon, PAGE_MAX, PROJECT_MAX, StoreError};

use crate::app::App;

/// Maximum number of executions per request.
const ADVANCE_MAX: usize = 1000;
/// Default number of events per page.
const PAGE_SIZE: usize = 100;
/// Maximum number of delete batches per request.
const PURGES_MAX: usize = 1000;

/// The reason why events or executions of a request are refused.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("a batch has at most {PROJECT_MAX} events, not {0}")]
    TooManyEvents(usize),
    #[error("a request names at most {ADVANCE_MAX} executions, not {0}")]
    TooManyExecutions(usize),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The numbers of events of a batch that were stored now and before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredEnvelopes {
    pub stored: u64,
    pub duplicates: u64,
}

/// A page of stored events of other programs, ordered by id.
#[derive(Debug, Clone)]
pub struct EnvelopePage {
    pub events: Vec<Envelope>,
    /// The id after which the next page starts; `None` on the last page.
    pub next_after: Option<i64>,
}

/// The age from which data of each kind is deleted; `None` keeps all data of that kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct PurgeAges {
    /// Time since the last heartbeat of a registered worker or runtime.
    pub runtimes: Option<Duration>,
    /// Age of events of other programs, and time since the end of executions.
    pub events: Option<Duration>,
}

/// The data that a purge has deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgedData {
    pub runtimes: u64,
    /// Number of deleted events of other programs.
    pub events: u64,
    /// Dropped months of the event log, such as `2026_01`; `None` if no age of events was given.
    pub months: Option<Vec<String>>,
}

impl App {
    /// Stores events of other programs, each once; executions that are known only from them are
    /// imported.
    pub async fn store_envelopes(
        &self,
        events: Vec<Envelope>,
    ) -> Result<StoredEnvelopes, ProjectError> {
        if events.len() > PROJECT_MAX {
            return Err(ProjectError::TooManyEvents(events.len()));
        }
        let count = events.len() as u64;
        let stored = self.import_events(events).await?;
        Ok(StoredEnvelopes { stored, duplicates: count.saturating_sub(stored) })
    }

    /// Lists the stored events of other programs about an execution after an event id.
    pub async fn stored_envelopes(
        &self,
        execution: i64,
        after: i64,
        limit: Option<usize>,
    ) -> Result<EnvelopePage, StoreError> {
        let limit = limit.unwrap_or(PAGE_SIZE).clamp(1, PROJECT_MAX);
        let events = self.records().projected(execution, after, limit).await?;
        let last = events.last().map(|event| event.event_id);
        let next_after = last.filter(|_| events.len() == limit);
        Ok(EnvelopePage { events, next_after })
    }

    /// Saves the current states of executions, independently of one another.
    pub async fn save_states(
        &self,
        executions: BTreeSet<ExecutionId>,
    ) -> Result<Vec<(ExecutionId, Result<Advanced, LoadError>)>, ProjectError> {
        if executions.len() > ADVANCE_MAX {
            return Err(ProjectError::TooManyExecutions(executions.len()));
        }
        let mut saved = Vec::with_capacity(executions.len());
        for execution in executions {
            saved.push((execution, self.control().advance_projection(execution).await));
        }
        Ok(saved)
    }

    /// Deletes data that is older than the given ages.
    pub async fn purge(&self, ages: PurgeAges) -> Result<PurgedData, StoreError> {
        let mut purged = PurgedData::default();
        if let Some(before) = ages.runtimes.map(|age| self.time_ago(age)) {
            purged.runtimes = self.purge_runtimes(before).await?;
        }
        if let Some(before) = ages.events.map(|age| self.time_ago(age)) {
            purged.events = self.purge_envelopes(before).await?;
            purged.months = Some(self.delete_before(before).await?);
        }
        Ok(purged)
    }

    fn time_ago(&self, age: Duration) -> Timestamp {
        let epoch = Timestamp::from_micros(0);
        epoch.after(self.now().since(epoch).saturating_sub(age))
    }

    async fn purge_envelopes(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut purged = 0;
        for _ in 0..PURGES_MAX {
            let deleted = self.records().forget_projected(before, PROJECT_MAX).await?;
            purged += deleted;
            if deleted == 0 {
                break;
            }
        }
        Ok(purged)
    }

    async fn purge_runtimes(&self, before: Timestamp) -> Result<u64, StoreError> {
        let horizon = Horizon { runtimes: before, ..Horizon::nothing() };
        let mut purged = 0;
        for _ in 0..PURGES_MAX {
            let collected = self.records().collect(&horizon, PAGE_MAX).await?;
            purged += collected.runtimes;
            if collected.runtimes == 0 {
                break;
            }
        }
        Ok(purged)
    }
}
