//! Replays that are saved at intervals of events; a later replay continues from the last saved one
//! before its cutoff. A large replay waits until it is the only large one.

use std::time::Duration;

use axum::http::StatusCode;
use noetl_compat::{ReplayQuestion, Replayer, SavedFold};
use noetl_model::{Cutoff, Recorded, Seq};
use noetl_replay::Wanted;
use noetl_store::{READ_EVENTS_MAX, ReplayBound, SavedReplay};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum time a large replay waits for other large ones.
const ALONE_WAIT: Duration = Duration::from_secs(60);

/// A replay and, if it is large, its permit.
pub(super) struct Replayed {
    pub(super) replayer: Replayer,
    pub(super) alone: Option<OwnedSemaphorePermit>,
}

/// Replays an execution, from the last usable saved replay on.
pub(super) async fn replayed(
    state: &AppState,
    question: &ReplayQuestion,
) -> Result<Replayed, ApiError> {
    let execution = question.execution;
    let mut alone = None;
    let mut replayer = match seed(state, question).await? {
        Some(replayer) => replayer,
        None => Replayer::new(question),
    };
    loop {
        let page = state.control().events(execution, replayer.seq(), READ_EVENTS_MAX).await?;
        if page.is_empty() {
            return Ok(Replayed { replayer, alone });
        }
        for recorded in &page {
            if replayer.see(recorded) == Wanted::Enough {
                return Ok(Replayed { replayer, alone });
            }
            if recorded.seq.0.is_multiple_of(state.replay_saved_every()) {
                save(state, question, &replayer, recorded).await;
            }
        }
        if alone.is_none() && replayer.len() > state.settings().replay_alone_from {
            let turn = timeout(ALONE_WAIT, state.large_replay()).await;
            alone = Some(turn.map_err(|_elapsed| busy())?);
        }
    }
}

fn busy() -> ApiError {
    let detail = "other replays as large as this one are being sent; ask again in a while, or for a \
                  projection with fewer entries, such as `execution`";
    let status = StatusCode::SERVICE_UNAVAILABLE;
    ApiError::later(status, "replays-busy", detail, ALONE_WAIT / 6)
}

/// Loads the last saved replay that the question allows.
async fn seed(state: &AppState, question: &ReplayQuestion) -> Result<Option<Replayer>, ApiError> {
    let bound = bound_of(question);
    if !question.is_ours() || bound.seq.0 < state.replay_saved_every() {
        return Ok(None);
    }
    let (execution, projection) = (question.execution, question.projection.as_str());
    let found = state.store().furthest_replay(execution, projection, bound).await?;
    let Some(SavedReplay { seq, last_id, last_at, shape: _, body }) = found else {
        return Ok(None);
    };
    let saved = SavedFold { seq, last_id, last_at, body };
    let before = Seq(seq.0.saturating_sub(1));
    let last = state.control().events(execution, before, 1).await?;
    match Replayer::resumed(question, &saved, last.first()) {
        Ok(replayer) => Ok(Some(replayer)),
        Err(error) => {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, %execution, %seq, "saved replay ignored");
            Ok(None)
        }
    }
}

/// Returns the bound of saved replays that contain no event the question excludes.
fn bound_of(question: &ReplayQuestion) -> ReplayBound {
    let bound = ReplayBound {
        shape: Replayer::SHAPE,
        seq: Seq(question.limit),
        last_id: None,
        last_at: None,
    };
    match question.cutoff {
        Cutoff::Latest => bound,
        Cutoff::Seq(seq) => ReplayBound { seq: seq.min(bound.seq), ..bound },
        Cutoff::Event(id) => ReplayBound { last_id: Some(id), ..bound },
        Cutoff::Time(instant) => ReplayBound { last_at: Some(instant), ..bound },
    }
}

/// Saves a replay. A failure is logged and only costs time later.
async fn save(state: &AppState, question: &ReplayQuestion, replayer: &Replayer, last: &Recorded) {
    let Some(SavedFold { seq, last_id, last_at, body }) = replayer.saved(last) else { return };
    let (execution, projection) = (question.execution, question.projection.as_str());
    let replay = SavedReplay { seq, last_id, last_at, shape: Replayer::SHAPE, body };
    if let Err(error) = state.store().save_replay(execution, projection, &replay).await {
        let error: &dyn std::error::Error = &error;
        tracing::warn!(error, %execution, %seq, "replay not saved");
    }
}
