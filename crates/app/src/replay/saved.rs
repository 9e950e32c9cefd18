//! Replays that are saved at intervals of events; a later replay continues from the last saved one
//! before its cutoff.

use noetl_compat::{ReplayRequest, Replayer, SavedFold};
use noetl_control::LoadError;
use noetl_model::{Cutoff, Recorded, Seq};
use noetl_store::{ReplayBound, SavedReplay};

use crate::app::App;

impl App {
    /// Loads the last saved replay that the question allows; `None` if there is no usable one.
    pub(super) async fn saved_replay(
        &self,
        question: &ReplayRequest,
    ) -> Result<Option<Replayer>, LoadError> {
        let bound = bound_of(question);
        if !question.is_ours() || bound.seq.0 < self.settings().replay_saved_every.get() {
            return Ok(None);
        }
        let (execution, projection) = (question.execution, question.projection.as_str());
        let found = self.store().furthest_replay(execution, projection, bound).await;
        let found = found.map_err(|error| LoadError::of_store(execution, error))?;
        let Some(SavedReplay { seq, last_id, last_at, shape: _, body }) = found else {
            return Ok(None);
        };
        let saved = SavedFold { seq, last_id, last_at, body };
        let before = Seq(seq.0.saturating_sub(1));
        let last = self.events(execution, before, 1).await?;
        match Replayer::resumed(question, &saved, last.first()) {
            Ok(replayer) => Ok(Some(replayer)),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, %seq, "saved replay ignored");
                Ok(None)
            }
        }
    }

    /// Saves a replay. A failure is logged and only costs time later.
    pub(super) async fn save_replay(
        &self,
        question: &ReplayRequest,
        replayer: &Replayer,
        last: &Recorded,
    ) {
        let Some(SavedFold { seq, last_id, last_at, body }) = replayer.saved(last) else { return };
        let (execution, projection) = (question.execution, question.projection.as_str());
        let replay = SavedReplay { seq, last_id, last_at, shape: Replayer::SHAPE, body };
        if let Err(error) = self.store().save_replay(execution, projection, &replay).await {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, %execution, %seq, "cannot save a replay");
        }
    }
}

/// Returns the bound of saved replays that contain no event the question excludes.
fn bound_of(question: &ReplayRequest) -> ReplayBound {
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
