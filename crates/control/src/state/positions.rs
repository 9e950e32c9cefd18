//! States at positions of a log: the state after any event, folded from the nearest saved state
//! before it.
//!
//! States are saved at intervals of events, under [`STATE_PROJECTION`] among the saved replays of
//! an execution. They are a cache like snapshots: a state is used only if the log still has its
//! last event.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard};

use lru::LruCache;
use noetl_engine::Execution;
use noetl_model::{EventId, ExecutionId, Seq};
use noetl_store::{ReplayBound, SavedReplay, Snapshot};

use crate::Control;
use crate::error::LoadError;
use crate::state::rewind::{FoldEnd, LogComparison};
use crate::state::snapshot;

/// The name under which states are saved among the replays of an execution.
pub const STATE_PROJECTION: &str = "state";

/// The largest number of states at positions in memory.
const POSITIONS_MAX: NonZeroUsize = NonZeroUsize::new(32).expect("not zero");

/// The largest number of events between a state in memory and the position, beyond which a saved
/// state is looked for.
const NEAR_MAX: u64 = 1000;

/// The states at positions that were asked for last.
#[derive(Debug)]
pub(crate) struct PositionCache {
    states: Mutex<LruCache<(ExecutionId, Seq), Execution>>,
}

impl Default for PositionCache {
    fn default() -> Self {
        Self { states: Mutex::new(LruCache::new(POSITIONS_MAX)) }
    }
}

impl PositionCache {
    /// Returns the state of an execution with the highest seq up to `seq`.
    fn nearest(&self, execution: ExecutionId, seq: Seq) -> Option<Execution> {
        let mut states = self.states();
        let keys = states.iter().map(|(key, _)| *key);
        let nearest = keys.filter(|(of, at)| *of == execution && *at <= seq).max()?;
        states.get(&nearest).cloned()
    }

    fn put(&self, state: Execution) {
        self.states().put((state.id(), state.seq()), state);
    }

    pub(crate) fn clear(&self) {
        self.states().clear();
    }

    fn states(&self) -> MutexGuard<'_, LruCache<(ExecutionId, Seq), Execution>> {
        self.states.lock().expect("nothing panics while it holds the states")
    }
}

impl Control {
    /// Returns the state of an execution after the event `seq`, or after its last event if it has
    /// fewer.
    pub async fn state_at(&self, execution: ExecutionId, seq: Seq) -> Result<Execution, LoadError> {
        let newest = self.parts.states.get(execution).filter(|state| state.seq() <= seq);
        let known = self.parts.positions.nearest(execution, seq).into_iter().chain(newest);
        let known = match known.max_by_key(Execution::seq) {
            Some(known) => self.as_written(known).await?,
            None => None,
        };
        let is_near = known.as_ref().is_some_and(|known| seq.0 - known.seq().0 <= NEAR_MAX);
        let base = if is_near {
            known
        } else {
            let saved = self.saved_at(execution, seq).await?;
            let latest = self.saved_state(execution).await?;
            let latest = latest.filter(|latest| latest.seq() <= seq);
            [known, saved, latest].into_iter().flatten().max_by_key(Execution::seq)
        };
        let state = match base {
            Some(base) if base.seq() == seq => base,
            base => {
                let from = base.as_ref().map_or(Seq::ZERO, Execution::seq);
                let state = self.fold_from(execution, base, noetl_model::Cutoff::Seq(seq)).await?;
                // A later read of this part of the log begins here.
                if state.seq().0 - from.0 >= self.parts.settings.state_saved_every.get() {
                    self.save_position(state.clone());
                }
                state
            }
        };
        self.parts.positions.put(state.clone());
        Ok(state)
    }

    /// Returns the state if the log still has its last event.
    async fn as_written(&self, state: Execution) -> Result<Option<Execution>, LoadError> {
        Ok(match self.standing(FoldEnd::of(&state)).await? {
            LogComparison::Current | LogComparison::Behind => Some(state),
            LogComparison::Ahead { .. } => None,
        })
    }

    /// Loads the saved state with the highest seq up to `seq`.
    async fn saved_at(
        &self,
        execution: ExecutionId,
        seq: Seq,
    ) -> Result<Option<Execution>, LoadError> {
        let bound = ReplayBound { shape: Execution::SHAPE, seq, last_id: None, last_at: None };
        let found = self.parts.store.furthest_replay(execution, STATE_PROJECTION, bound).await;
        let found = found.map_err(|error| LoadError::of_store(execution, error))?;
        let Some(SavedReplay { seq, shape, body, .. }) = found else { return Ok(None) };
        match snapshot::decode(execution, &Snapshot { seq, shape, body }) {
            Ok(state) => self.as_written(state).await,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, %seq, "saved state ignored");
                Ok(None)
            }
        }
    }

    /// True if a state is saved between two events of a log.
    pub(crate) fn passes_saved(&self, before: Seq, after: Seq) -> bool {
        let every = self.parts.settings.state_saved_every;
        before.0 / every != after.0 / every
    }

    /// Saves a state for later reads, in a background task. A failure only costs time later.
    pub(crate) fn save_position(&self, state: Execution) {
        let control = self.clone();
        self.parts.tasks.spawn(async move {
            let (execution, seq) = (state.id(), state.seq());
            if let Err(error) = control.write_position(&state).await {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, %seq, "cannot save a state");
            }
        });
    }

    async fn write_position(&self, state: &Execution) -> Result<(), LoadError> {
        let (execution, seq) = (state.id(), state.seq());
        let last = self.read_from(execution, seq, 1).await?;
        let last = last.first().filter(|last| last.seq == seq);
        let last_id: Option<EventId> = last.map(|last| last.event_id);
        let Some(last_id) = last_id else { return Ok(()) };
        let Snapshot { seq, shape, body } = match snapshot::encode(state) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::error!(error, %execution, "state has no stored form");
                return Ok(());
            }
        };
        let replay = SavedReplay { seq, last_id, last_at: state.last_at(), shape, body };
        let saved = self.parts.store.save_replay(execution, STATE_PROJECTION, &replay).await;
        saved.map_err(|error| LoadError::of_store(execution, error))
    }
}
