//! A replay of one execution's log into the public projections.

mod saved;

use noetl_model::{Cutoff, Digest, Envelope, EventId, ExecutionId, Recorded, Seq, Timestamp};
use noetl_replay::ReadOn;

pub use saved::{SavedFold, UnusableFold};

use super::convert::ReplayEvents;
use super::{Fold, Projection, Reference, ReplayState};
use crate::imported::replay_event;

/// The tenant and organization that every execution belongs to.
pub const DEFAULT_TENANT: &str = "default";

/// Maximum number of events that a server folds for one answer.
pub const REPLAY_EVENTS_MAX: u64 = 2_000_000;

/// A request for a replay: the execution, the projection and where to stop.
#[derive(Debug, Clone)]
pub struct ReplayRequest {
    pub execution: ExecutionId,
    pub tenant: String,
    pub organization: String,
    pub cutoff: Cutoff,
    pub projection: Projection,
    /// Maximum number of events to fold.
    pub limit: u64,
}

impl ReplayRequest {
    /// Returns the question for all projections of an execution at a cutoff.
    pub fn of(execution: ExecutionId, cutoff: Cutoff) -> Self {
        Self {
            execution,
            tenant: DEFAULT_TENANT.to_owned(),
            organization: DEFAULT_TENANT.to_owned(),
            cutoff,
            projection: Projection::All,
            limit: REPLAY_EVENTS_MAX,
        }
    }

    /// True if the question is about an event's tenant and organization; the default ones stand for
    /// all.
    pub fn admits_owner(&self, event: &Envelope) -> bool {
        self.is_ours()
            || (event.tenant_id == self.tenant && event.organization_id == self.organization)
    }

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
    pub fn new(question: &ReplayRequest) -> Self {
        let ReplayRequest { execution, tenant, organization, cutoff, projection, limit } = question;
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
    pub fn see(&mut self, recorded: &Recorded) -> ReadOn {
        if !self.is_ours || !self.cutoff.admits(recorded) {
            return ReadOn::No;
        }
        if self.left == 0 {
            self.fold.cut_short();
            return ReadOn::No;
        }
        self.left -= 1;
        self.seq = recorded.seq;
        let (id, at) = self.furthest.unwrap_or((recorded.event_id, recorded.at));
        self.furthest = Some((id.max(recorded.event_id), at.max(recorded.at)));
        self.fold.see(&self.events.convert(recorded));
        ReadOn::Yes
    }

    /// Folds the next event of a log that the engine does not write, unless it lies behind the cutoff
    /// or exceeds the limit.
    pub fn see_envelope(&mut self, seq: Seq, event: &Envelope) -> ReadOn {
        let is_wanted = match self.cutoff {
            Cutoff::Latest => true,
            Cutoff::Seq(last) => seq <= last,
            Cutoff::Event(last) => event.event_id <= last.0,
            // Events are in the order of their ids, so a later one may have an earlier time.
            Cutoff::Time(last) if event.created_at > last => return ReadOn::Yes,
            Cutoff::Time(_) => true,
        };
        if !is_wanted {
            return ReadOn::No;
        }
        if self.left == 0 {
            self.fold.cut_short();
            return ReadOn::No;
        }
        self.left -= 1;
        self.seq = seq;
        self.fold.see(&replay_event(event));
        ReadOn::Yes
    }

    /// Counts an event that another program reported about an execution of the engine; the status,
    /// steps and commands of the execution do not depend on it.
    pub fn note(&mut self, event: &Envelope) {
        let is_wanted = match self.cutoff {
            Cutoff::Latest | Cutoff::Seq(_) => true,
            Cutoff::Event(last) => event.event_id <= last.0,
            Cutoff::Time(last) => event.created_at <= last,
        };
        if !self.is_ours || !is_wanted {
            return;
        }
        if self.left == 0 {
            self.fold.cut_short();
            return;
        }
        self.left -= 1;
        self.fold.note(&replay_event(event));
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
