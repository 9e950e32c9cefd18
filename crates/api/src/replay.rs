//! A replay of one execution's log into the public projections.

mod saved;

use noetl_model::{Cutoff, Digest, EventId, ExecutionId, Recorded, Seq, Timestamp};
use noetl_replay::{Fold, Projection, Reference, ReplayState};

pub use saved::{SavedFold, UnusableFold};

use crate::wording::Wording;

/// The tenant and the organization that every execution belongs to.
pub const DEFAULT_TENANT: &str = "default";

/// How many events a server folds for one answer.
pub const REPLAY_EVENTS_MAX: u64 = 2_000_000;

/// What somebody wants to know about the past of an execution.
#[derive(Debug, Clone)]
pub struct ReplayQuestion {
    pub execution: ExecutionId,
    pub tenant: String,
    pub organization: String,
    pub cutoff: Cutoff,
    pub projection: Projection,
    /// How many events may be folded.
    pub limit: u64,
}

impl ReplayQuestion {
    /// Whether it is about a tenant that has executions.
    pub fn is_ours(&self) -> bool {
        self.tenant == DEFAULT_TENANT && self.organization == DEFAULT_TENANT
    }
}

/// Whether a reader of a log should go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    More,
    Enough,
}

/// Takes the events of an execution in order, and keeps what they show.
#[derive(Debug, Clone)]
pub struct Replayer {
    wording: Wording,
    fold: Fold,
    cutoff: Cutoff,
    left: u64,
    is_ours: bool,
    /// The last event it has taken.
    seq: Seq,
    /// The largest id and the latest time of those it has taken.
    furthest: Option<(EventId, Timestamp)>,
}

impl Replayer {
    pub fn new(question: &ReplayQuestion) -> Self {
        let ReplayQuestion { execution, tenant, organization, cutoff, projection, limit } =
            question;
        Self {
            wording: Wording::new(*execution),
            fold: Fold::new(tenant, organization, execution.0, *projection),
            cutoff: *cutoff,
            left: *limit,
            is_ours: question.is_ours(),
            seq: Seq::ZERO,
            furthest: None,
        }
    }

    /// The last event it has taken.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// How many entries it shows, of all kinds.
    pub fn len(&self) -> usize {
        self.fold.len()
    }

    pub fn is_empty(&self) -> bool {
        self.fold.is_empty()
    }

    /// Takes the next event, unless it lies behind the cutoff or is one too many.
    pub fn see(&mut self, recorded: &Recorded) -> Wanted {
        if !self.is_ours || !self.cutoff.admits(recorded) {
            return Wanted::Enough;
        }
        if self.left == 0 {
            self.fold.cut_short();
            return Wanted::Enough;
        }
        self.left -= 1;
        self.seq = recorded.seq;
        let (id, at) = self.furthest.unwrap_or((recorded.event_id, recorded.at));
        self.furthest = Some((id.max(recorded.event_id), at.max(recorded.at)));
        self.fold.see(&self.wording.word(recorded));
        Wanted::More
    }

    /// What the events show, with digests.
    pub fn finish(self) -> ReplayState {
        self.fold.finish()
    }
}

/// The digest that a reference of ours names; none for references to other stores.
pub fn digest_named(reference: &Reference) -> Option<Digest> {
    match reference {
        Reference::Kept(kept) => Some(kept.digest),
        Reference::Told(told) => {
            let named = told.get("ref")?.as_str()?.strip_prefix("/api/payloads/")?;
            named.parse().ok()
        }
    }
}

#[cfg(test)]
mod tests;
