//! Replays of an execution: its published projections at a cutoff, the differences between two
//! states, and its timeline.

mod payloads;
mod saved;

use std::sync::Arc;
use std::time::Duration;

use noetl_compat::{ReplayRequest, ReplayState, Replayer};
use noetl_control::LoadError;
use noetl_engine::Illegal;
use noetl_model::{Cutoff, ExecutionId, Recorded, Seq};
use noetl_replay::{ComparableState, Difference, ReadOn, Timeline, TimelineFold, difference};
use noetl_store::{EventPlace, READ_EVENTS_MAX};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;
use tokio::time::timeout;

use crate::app::App;
use crate::executions::place_of;

/// Maximum number of large replays at once, until they are sent.
const LARGE_REPLAYS_MAX: usize = 1;
/// Maximum time a large replay waits for other large ones.
const LARGE_REPLAY_WAIT: Duration = Duration::from_secs(60);

/// The reason why an execution is not replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(
        "other replays of this size are being sent; try again later, or choose a projection with \
         fewer entries, such as `execution`"
    )]
    Busy { retry_after: Duration },
    #[error("the checksums of a replay were not computed")]
    Checksums(#[source] JoinError),
}

/// The reason why two states are not compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("an event of the log is not legal")]
    Illegal(#[from] Illegal),
}

/// The published projections of an execution at a cutoff.
pub struct ReplayedProjections {
    pub state: ReplayState,
    /// The right to hold a large replay in memory; to be dropped once the replay is sent.
    pub permit: Option<LargeReplayPermit>,
}

/// The right to hold a large replay in memory.
pub struct LargeReplayPermit {
    _permit: OwnedSemaphorePermit,
}

/// A state of an execution: the state after the last event that the cutoff admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutionMoment {
    pub execution: ExecutionId,
    pub cutoff: Cutoff,
}

/// The differences between two states, and the number of events of each.
#[derive(Debug)]
pub struct ComparedMoments {
    pub from_events: u64,
    pub to_events: u64,
    pub difference: Difference,
}

/// The permits for large replays.
pub(crate) struct LargeReplays {
    permits: Arc<Semaphore>,
}

impl Default for LargeReplays {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(LARGE_REPLAYS_MAX)) }
    }
}

impl LargeReplays {
    async fn permit(&self) -> Result<LargeReplayPermit, ReplayError> {
        let permit = timeout(LARGE_REPLAY_WAIT, self.permits.clone().acquire_owned()).await;
        let permit = permit.map_err(|_elapsed| {
            // A few attempts fit into the time that the longest wait takes.
            ReplayError::Busy { retry_after: LARGE_REPLAY_WAIT / 6 }
        })?;
        Ok(LargeReplayPermit { _permit: permit.expect("the semaphore is never closed") })
    }
}

impl App {
    /// Replays an execution into its published projections, from the last usable saved replay on.
    /// A replay with more than `AppSettings::replay_alone_from` entries waits until it is the only
    /// one of that size.
    pub async fn replay(
        &self,
        question: &ReplayRequest,
    ) -> Result<ReplayedProjections, ReplayError> {
        let (replayer, permit) = self.fold_replay(question).await?;
        // Checksums of a large replay take long enough to block other requests.
        let finished = tokio::task::spawn_blocking(move || replayer.finish()).await;
        let state = finished.map_err(ReplayError::Checksums)?;
        Ok(ReplayedProjections { state, permit })
    }

    async fn fold_replay(
        &self,
        question: &ReplayRequest,
    ) -> Result<(Replayer, Option<LargeReplayPermit>), ReplayError> {
        let mut permit = None;
        let is_large = |replayer: &Replayer| replayer.len() > self.settings().replay_alone_from;
        if let Some(replayer) = self.logs().replay_foreign(question).await? {
            if is_large(&replayer) {
                permit = Some(self.large_replays().permit().await?);
            }
            return Ok((replayer, permit));
        }
        let mut facts = self.reported_facts(question.execution).await?;
        let saved = match facts {
            // A fact may be reported later than the events after it, so saved replays may lack it.
            Some(_) => None,
            None => self.saved_replay(question).await?,
        };
        let mut replayer = saved.unwrap_or_else(|| Replayer::new(question));
        loop {
            let page = self.events(question.execution, replayer.seq(), READ_EVENTS_MAX).await?;
            if page.is_empty() {
                if let Some(facts) = &mut facts {
                    self.note_facts(facts, &mut replayer, EventPlace::LAST).await?;
                }
                return Ok((replayer, permit));
            }
            for recorded in &page {
                if let Some(facts) = &mut facts {
                    self.note_facts(facts, &mut replayer, place_of(recorded)).await?;
                }
                if replayer.see(recorded) == ReadOn::No {
                    return Ok((replayer, permit));
                }
                let interval = self.settings().replay_saved_every.get();
                if facts.is_none() && recorded.seq.0.is_multiple_of(interval) {
                    self.save_replay(question, &replayer, recorded).await;
                }
            }
            if permit.is_none() && is_large(&replayer) {
                permit = Some(self.large_replays().permit().await?);
            }
        }
    }

    /// Compares two states, of one execution or of two.
    pub async fn compare(
        &self,
        from: ExecutionMoment,
        to: ExecutionMoment,
    ) -> Result<ComparedMoments, CompareError> {
        let (from_events, before) = self.document(from).await?;
        let (to_events, after) = self.document(to).await?;
        Ok(ComparedMoments { from_events, to_events, difference: difference(&before, &after) })
    }

    /// Returns the number of events up to a moment, and the state there as a document.
    async fn document(&self, moment: ExecutionMoment) -> Result<(u64, Value), CompareError> {
        let question = ReplayRequest::of(moment.execution, moment.cutoff);
        if let Some(replayer) = self.logs().replay_foreign(&question).await? {
            let state = replayer.finish();
            return Ok((state.event_count, state.document()));
        }
        let picture = self.picture(moment).await?;
        Ok((picture.event_count(), picture.document()))
    }

    async fn picture(&self, moment: ExecutionMoment) -> Result<ComparableState, CompareError> {
        let ExecutionMoment { execution, cutoff } = moment;
        self.execution(execution).await?;
        let mut picture = ComparableState::new(execution);
        self.read_log(execution, |recorded| {
            if !cutoff.admits(recorded) {
                return Ok(ReadOn::No);
            }
            picture.see(recorded)?;
            Ok::<_, CompareError>(ReadOn::Yes)
        })
        .await?;
        Ok(picture)
    }

    /// Shows when each step and command of an execution waited and ran.
    pub async fn timeline(&self, execution: ExecutionId) -> Result<Timeline, LoadError> {
        self.execution(execution).await?;
        let mut fold = TimelineFold::new(execution);
        self.read_log(execution, |recorded| {
            fold.see(recorded);
            Ok::<_, LoadError>(ReadOn::Yes)
        })
        .await?;
        Ok(fold.finish(Some(self.now())))
    }

    /// Reads a log in order, in pages, until it ends or `see` has enough.
    async fn read_log<E: From<LoadError>>(
        &self,
        execution: ExecutionId,
        mut see: impl FnMut(&Recorded) -> Result<ReadOn, E>,
    ) -> Result<(), E> {
        let mut after = Seq::ZERO;
        loop {
            let page = self.log(execution, after).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            for recorded in &page {
                if see(recorded)? == ReadOn::No {
                    return Ok(());
                }
            }
        }
    }
}
