//! A replay of one execution's log into the public projections.

mod saved;

use noetl_model::{Cutoff, Digest, EventId, ExecutionId, Recorded, Seq, Timestamp};
use noetl_replay::Wanted;

pub use saved::{SavedFold, UnusableFold};

use super::convert::ReplayEvents;
use super::{Fold, Projection, Reference, ReplayState};

/// The tenant and organization that every execution belongs to.
pub const DEFAULT_TENANT: &str = "default";

/// Maximum number of events that a server folds for one answer.
pub const REPLAY_EVENTS_MAX: u64 = 2_000_000;

/// A request for a replay: the execution, the projection and where to stop.
#[derive(Debug, Clone)]
pub struct ReplayQuestion {
    pub execution: ExecutionId,
    pub tenant: String,
    pub organization: String,
    pub cutoff: Cutoff,
    pub projection: Projection,
    /// Maximum number of events to fold.
    pub limit: u64,
}

impl ReplayQuestion {
    /// True if the tenant and the organization are the default ones; others have no executions.
    pub fn is_ours(&self) -> bool {
        self.tenant == DEFAULT_TENANT && self.organization == DEFAULT_TENANT
    }
}

/// Folds the events of an execution, in order, into a projection.
#[derive(Debug, Clone)]
pub struct Replayer {
    events: ReplayEvents,
    fold: Fold,
    cutoff: Cutoff,
    left: u64,
    is_ours: bool,
    /// The last folded event.
    seq: Seq,
    /// The largest event id and the latest time among the folded events.
    furthest: Option<(EventId, Timestamp)>,
}

impl Replayer {
    pub fn new(question: &ReplayQuestion) -> Self {
        let ReplayQuestion { execution, tenant, organization, cutoff, projection, limit } =
            question;
        Self {
            events: ReplayEvents::new(*execution),
            fold: Fold::new(tenant, organization, execution.0, *projection),
            cutoff: *cutoff,
            left: *limit,
            is_ours: question.is_ours(),
            seq: Seq::ZERO,
            furthest: None,
        }
    }

    /// Returns the seq of the last folded event.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Returns the number of entries in the projection, of all kinds.
    pub fn len(&self) -> usize {
        self.fold.len()
    }

    pub fn is_empty(&self) -> bool {
        self.fold.is_empty()
    }

    /// Folds the next event, unless it lies behind the cutoff or exceeds the limit.
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
        self.fold.see(&self.events.convert(recorded));
        Wanted::More
    }

    /// Returns the projection with its digests.
    pub fn finish(self) -> ReplayState {
        self.fold.finish()
    }
}

/// Returns the digest in a reference to this server's payload store; `None` for other stores.
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
