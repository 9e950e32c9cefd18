//! Saved replays, so that a later replay can continue from an event instead of the first one.
//!
//! Invariant: a replay that continues from a saved one gives the same result as one from the first
//! event. A saved replay is therefore complete, protected by a checksum, and carries the digest of
//! its last event, so that it is rejected if the log differs.

use noetl_model::{Digest, EventId, Recorded, Seq, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{ReplayRequest, Replayer};
use crate::projection::convert::ReplayEvents;
use crate::projection::{Fold, ReplayState};

/// Maximum number of entries in a saved replay; loading a larger one takes longer than folding its
/// events.
const ENTRIES_MAX: usize = 2000;
/// Maximum size of a saved replay, in bytes.
const BYTES_MAX: usize = 1024 * 1024;
const CHECKSUM_LEN: usize = 32;

/// A replay up to the event `seq`; its body is the SHA-256 of the JSON, followed by the JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedFold {
    pub seq: Seq,
    /// The largest id and the latest time among the events up to `seq`.
    pub last_id: EventId,
    pub last_at: Timestamp,
    pub body: Vec<u8>,
}

/// The reason why a saved replay cannot be used.
#[derive(Debug, Error)]
pub enum UnusableFold {
    #[error("its checksum does not match")]
    Checksum,
    #[error("it is not a replay")]
    Body(#[source] serde_json::Error),
    #[error("it is of another execution or moment")]
    Mismatch,
    #[error("its last event is not the one in the log")]
    OtherLog,
}

#[derive(Serialize, Deserialize)]
struct SavedBody {
    #[serde(rename = "wording")]
    events: ReplayEvents,
    state: ReplayState,
    /// The digest of the last folded event, if known.
    head: Option<Digest>,
}

impl Replayer {
    /// Version of the format in which replays are saved.
    pub const SHAPE: u32 = 1;

    /// Returns the replay in its saved form; `last` is its last event. `None` if it is too large.
    pub fn saved(&self, last: &Recorded) -> Option<SavedFold> {
        let (last_id, last_at) = self.furthest.filter(|_| last.seq == self.seq)?;
        if self.fold.len() + self.events.len() > ENTRIES_MAX {
            return None;
        }
        let body = SavedBody {
            events: self.events.clone(),
            state: self.fold.state().clone(),
            head: digest_of(last),
        };
        let json = serde_json::to_vec(&body).ok()?;
        if json.len() > BYTES_MAX {
            return None;
        }
        let body = [&Digest::of(&json).as_bytes()[..], &json].concat();
        Some(SavedFold { seq: self.seq, last_id, last_at, body })
    }

    /// Continues from a saved replay; `last` is the event in the log at which it was saved.
    pub fn resumed(
        question: &ReplayRequest,
        saved: &SavedFold,
        last: Option<&Recorded>,
    ) -> Result<Self, UnusableFold> {
        let (checksum, json) =
            saved.body.split_first_chunk::<CHECKSUM_LEN>().ok_or(UnusableFold::Checksum)?;
        if Digest::of(json).as_bytes() != checksum {
            return Err(UnusableFold::Checksum);
        }
        let SavedBody { events, state, head } =
            serde_json::from_slice(json).map_err(UnusableFold::Body)?;
        let is_its = events.execution() == question.execution
            && state.execution_id == question.execution.0
            && state.projection == question.projection.as_str()
            && Seq(state.event_count) == saved.seq;
        if !is_its {
            return Err(UnusableFold::Mismatch);
        }
        if last.is_none_or(|last| last.seq != saved.seq || digest_of(last) != head) {
            return Err(UnusableFold::OtherLog);
        }
        let fresh = Self::new(question);
        Ok(Self {
            events,
            fold: Fold::resume(state, question.projection),
            left: question.limit.saturating_sub(saved.seq.0),
            seq: saved.seq,
            furthest: Some((saved.last_id, saved.last_at)),
            ..fresh
        })
    }
}

/// Computes the digest of an event from the digest of its predecessor; `None` if it holds none.
fn digest_of(recorded: &Recorded) -> Option<Digest> {
    recorded.prev.map(|before| recorded.digest_after(&before))
}
