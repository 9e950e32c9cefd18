//! Loading the state of an execution: from memory, else from its last snapshot and the events after
//! it.
//!
//! Cached states are committed ones. A stale state does no harm: the store refuses its appends, and
//! the next load reads the log.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use lru::LruCache;
use noetl_engine::{Execution, begin, evolve_all};
use noetl_model::{Cutoff, ExecutionId, Recorded, Seq, Timestamp};
use noetl_store::{READ_BYTES_MAX, READ_EVENTS_MAX, json_len};

use crate::Control;
use crate::error::{Damage, LoadError};
use crate::state::rewind::{FoldEnd, LogComparison};
use crate::state::snapshot;

/// The length from which an event may fill a page by itself; its stored form may be longer.
const FILLING_LEN: usize = READ_BYTES_MAX / 2;

/// The cache of execution states.
#[derive(Debug)]
pub(crate) struct StateCache {
    states: Mutex<LruCache<ExecutionId, CachedState>>,
}

#[derive(Debug)]
struct CachedState {
    state: Execution,
    /// The time of the last snapshot, or of the insertion into the cache.
    saved_at: Timestamp,
}

impl StateCache {
    pub(crate) fn new(states_max: NonZeroUsize) -> Self {
        Self { states: Mutex::new(LruCache::sparse(states_max)) }
    }

    pub(crate) fn get(&self, execution: ExecutionId) -> Option<Execution> {
        self.states().get(&execution).map(|kept| kept.state.clone())
    }

    /// Caches a committed state unless a later one is cached. Returns the age of its last snapshot.
    pub(crate) fn put(&self, state: Execution, now: Timestamp) -> Duration {
        let mut states = self.states();
        let kept = states.peek(&state.id());
        let saved_at = kept.map_or(now, |kept| kept.saved_at);
        if kept.is_none_or(|kept| kept.state.seq() <= state.seq()) {
            states.put(state.id(), CachedState { state, saved_at });
        }
        now.since(saved_at)
    }

    fn saved(&self, execution: ExecutionId, now: Timestamp) {
        if let Some(kept) = self.states().peek_mut(&execution) {
            kept.saved_at = now;
        }
    }

    pub(crate) fn forget(&self, execution: ExecutionId) {
        self.states().pop(&execution);
    }

    /// Returns the last known event of every cached execution.
    pub(crate) fn ends(&self) -> Vec<FoldEnd> {
        self.states().iter().map(|(_, kept)| FoldEnd::of(&kept.state)).collect()
    }

    fn states(&self) -> MutexGuard<'_, LruCache<ExecutionId, CachedState>> {
        self.states.lock().expect("nothing panics while it holds the states")
    }
}

impl Control {
    /// Drops the cached state of an execution that was deleted.
    pub fn forget(&self, execution: ExecutionId) {
        self.parts.states.forget(execution);
    }

    /// Returns the state of an execution at a cutoff.
    pub async fn state(
        &self,
        execution: ExecutionId,
        cutoff: Cutoff,
    ) -> Result<Execution, LoadError> {
        match cutoff {
            Cutoff::Latest => {
                let saved = self.saved_state(execution).await?;
                self.fold_from(execution, saved, cutoff).await
            }
            Cutoff::Seq(seq) => {
                let saved = self.saved_state(execution).await?;
                let saved = saved.filter(|saved| saved.seq() <= seq);
                self.fold_from(execution, saved, cutoff).await
            }
            Cutoff::Event(_) | Cutoff::Time(_) => self.fold_from(execution, None, cutoff).await,
        }
    }

    /// Returns the state of an execution after `seq`, its last event. Reads nothing if that state
    /// is cached.
    pub async fn state_after(
        &self,
        execution: ExecutionId,
        seq: Seq,
    ) -> Result<Execution, LoadError> {
        match self.parts.states.get(execution) {
            Some(state) if state.seq() == seq => Ok(state),
            Some(_) | None => self.state(execution, Cutoff::Seq(seq)).await,
        }
    }

    /// Returns the cached state of an execution; loads it if there is none. Another server may have
    /// changed the execution since.
    pub async fn known_state(&self, execution: ExecutionId) -> Result<Execution, LoadError> {
        if let Some(state) = self.parts.states.get(execution) {
            return Ok(state);
        }
        let state = self.state(execution, Cutoff::Latest).await?;
        self.parts.states.put(state.clone(), self.parts.stamps.now());
        Ok(state)
    }

    /// Saves a snapshot in a background task. A failure only costs time at the next load.
    pub(crate) fn save_snapshot(&self, state: Execution) {
        let control = self.clone();
        self.parts.states.saved(state.id(), self.parts.stamps.now());
        self.parts.tasks.spawn(async move {
            let execution = state.id();
            let snapshot = match snapshot::encode(&state) {
                Ok(snapshot) => snapshot,
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::error!(error, %execution, "state has no stored form");
                    return;
                }
            };
            if let Err(error) = control.parts.store.save(execution, &snapshot).await {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, "cannot save a snapshot");
            }
        });
    }

    pub(crate) async fn saved_state(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<Execution>, LoadError> {
        let latest = self.parts.store.latest(execution).await;
        let saved = latest.map_err(|error| LoadError::of_store(execution, error))?;
        let Some(saved) = saved else { return Ok(None) };
        let state = match snapshot::decode(execution, &saved) {
            Ok(state) => state,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, seq = %saved.seq, "snapshot ignored");
                return Ok(None);
            }
        };
        Ok(match self.standing(FoldEnd::of(&state)).await? {
            LogComparison::Current | LogComparison::Behind => Some(state),
            LogComparison::Ahead { found } => {
                tracing::warn!(
                    %execution,
                    seq = %saved.seq,
                    %found,
                    "snapshot ignored: the log does not have its last event"
                );
                None
            }
        })
    }

    /// Folds the stored events after `state`, a page at a time, up to the cutoff.
    pub(crate) async fn fold_from(
        &self,
        execution: ExecutionId,
        mut state: Option<Execution>,
        cutoff: Cutoff,
    ) -> Result<Execution, LoadError> {
        loop {
            let after = state.as_ref().map_or(Seq::ZERO, Execution::seq);
            let page = self.read_page(execution, after).await?;
            let admitted = page.iter().take_while(|recorded| cutoff.admits(recorded)).count();
            let (events, rest) = page.split_at(admitted);
            let illegal = |error| LoadError::damaged(execution, Damage::Illegal(error));
            let events = match (&state, events) {
                (None, [first, events @ ..]) => {
                    state = Some(begin(execution, first).map_err(illegal)?);
                    events
                }
                (Some(_), events) | (None, events @ []) => events,
            };
            if let Some(state) = &mut state {
                let before = state.seq();
                evolve_all(state, events, rest.first()).map_err(illegal)?;
                // Only full pages: a cutoff would save a state for each position that is read.
                if rest.is_empty() && self.passes_saved(before, state.seq()) {
                    self.save_position(state.clone());
                }
            }
            if page.is_empty() || !rest.is_empty() {
                return state.ok_or(LoadError::NotFound(execution));
            }
        }
    }

    pub(crate) async fn read_page(
        &self,
        execution: ExecutionId,
        after: Seq,
    ) -> Result<Vec<Recorded>, LoadError> {
        self.read_some(execution, after, READ_EVENTS_MAX).await
    }

    /// Returns the event at `seq` and those after it, at most `limit` per read. If there are later
    /// events, at least one is included, however large the event at `seq` is.
    pub(crate) async fn read_from(
        &self,
        execution: ExecutionId,
        seq: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, LoadError> {
        let before = Seq(seq.0.saturating_sub(1));
        let mut page = self.read_some(execution, before, limit).await?;
        let filled_by = match page.as_slice() {
            [only] => (json_len(&only.event) >= FILLING_LEN).then_some(only.seq),
            [] | [_, _, ..] => None,
        };
        if let Some(after) = filled_by {
            page.extend(self.read_some(execution, after, limit).await?);
        }
        Ok(page)
    }

    pub(crate) async fn read_some(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, LoadError> {
        let page = self.parts.store.read(execution, after, limit).await;
        page.map_err(|error| LoadError::of_store(execution, error))
    }
}
