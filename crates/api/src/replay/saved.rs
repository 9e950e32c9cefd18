//! A replay that is saved on its way, so that later ones go on from there.
//!
//! Invariant: whoever goes on from a saved replay ends where one from the first event ends. So what is
//! saved is whole, is known by its checksum, and holds the digest of its last event: of a log that has
//! become another one, it is of no use.

use noetl_model::{Digest, EventId, Recorded, Seq, Timestamp};
use noetl_replay::{Fold, ReplayState};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{ReplayQuestion, Replayer};
use crate::wording::Wording;

/// One that has more entries takes longer to load than its events to fold.
const ENTRIES_MAX: usize = 2000;
/// How long one may be.
const BYTES_MAX: usize = 1024 * 1024;
const CHECKSUM_LEN: usize = 32;

/// A replay as far as an event: the SHA-256 of the rest, then the rest as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedFold {
    pub seq: Seq,
    /// The largest id and the latest time among the events up to there.
    pub last_id: EventId,
    pub last_at: Timestamp,
    pub body: Vec<u8>,
}

/// Why a saved replay is of no use.
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
struct Body {
    wording: Wording,
    state: ReplayState,
    /// The digest of its last event, if that has one.
    head: Option<Digest>,
}

impl Replayer {
    /// The form in which replays are saved.
    pub const SHAPE: u32 = 1;

    /// The replay up to its last event, which is given; none if it is too large to be worth it.
    pub fn saved(&self, last: &Recorded) -> Option<SavedFold> {
        let (last_id, last_at) = self.furthest.filter(|_| last.seq == self.seq)?;
        if self.fold.len() + self.wording.len() > ENTRIES_MAX {
            return None;
        }
        let body = Body {
            wording: self.wording.clone(),
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

    /// Goes on from a saved replay; `last` is the event in the log at which it was saved.
    pub fn resumed(
        question: &ReplayQuestion,
        saved: &SavedFold,
        last: Option<&Recorded>,
    ) -> Result<Self, UnusableFold> {
        let (checksum, json) =
            saved.body.split_first_chunk::<CHECKSUM_LEN>().ok_or(UnusableFold::Checksum)?;
        if Digest::of(json).as_bytes() != checksum {
            return Err(UnusableFold::Checksum);
        }
        let Body { wording, state, head } =
            serde_json::from_slice(json).map_err(UnusableFold::Body)?;
        let is_its = wording.execution() == question.execution
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
            wording,
            fold: Fold::resume(state, question.projection),
            left: question.limit.saturating_sub(saved.seq.0),
            seq: saved.seq,
            furthest: Some((saved.last_id, saved.last_at)),
            ..fresh
        })
    }
}

/// The digest of an event, by the one it holds of the event before it.
fn digest_of(recorded: &Recorded) -> Option<Digest> {
    recorded.prev.map(|before| recorded.digest_after(&before))
}
