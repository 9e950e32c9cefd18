//! Limits that executions share, their slots and the requests for them.

use std::collections::BTreeMap;

use noetl_model::{
    CatalogId, CommandId, ExecutionId, LimitAmount, LimitDefinition, LimitName, OnConflict,
    Priority, Timestamp,
};

/// The maximum number of requests of one limit that are decided at once.
pub const LIMIT_QUEUE_MAX: usize = 100;

/// The identity of a slot or of a request for one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotKey {
    pub limit: LimitName,
    pub execution: ExecutionId,
    /// The command that holds the slot; `None` for the execution itself.
    pub command: Option<CommandId>,
}

/// A request for a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotRequest {
    pub limit: LimitDefinition,
    /// The playbook version that defines the limit: the newest one counts.
    pub defined_by: CatalogId,
    pub execution: ExecutionId,
    pub command: Option<CommandId>,
    pub priority: Priority,
    pub on_conflict: OnConflict,
    pub asked_at: Timestamp,
}

impl SlotRequest {
    pub fn key(&self) -> SlotKey {
        let (limit, execution, command) = (self.limit.name.clone(), self.execution, self.command);
        SlotKey { limit, execution, command }
    }
}

/// A change to a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitChange {
    /// Adds a request; a known one stays as it is.
    Request(SlotRequest),
    /// Releases a slot or withdraws a request. Releasing a missing one is allowed.
    Release(SlotKey),
}

/// Changes to one limit. Without any, what can be granted is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitChanges {
    limit: LimitName,
    requests: Vec<SlotRequest>,
    releases: Vec<SlotKey>,
}

impl LimitChanges {
    /// Returns no changes: the limit is only looked at.
    pub fn none(limit: LimitName) -> Self {
        Self { limit, requests: Vec::new(), releases: Vec::new() }
    }

    /// Returns the releases of slots of a limit.
    pub fn released(limit: LimitName, slots: Vec<SlotKey>) -> Self {
        Self { releases: slots, ..Self::none(limit) }
    }

    /// Groups changes by their limits.
    pub fn grouped(changes: impl IntoIterator<Item = LimitChange>) -> Vec<Self> {
        let mut groups: BTreeMap<LimitName, Self> = BTreeMap::new();
        for change in changes {
            let Self { limit, requests, releases } = Self::from(change);
            let group = groups.entry(limit).or_insert_with_key(|limit| Self::none(limit.clone()));
            group.requests.extend(requests);
            group.releases.extend(releases);
        }
        groups.into_values().collect()
    }

    pub fn limit(&self) -> &LimitName {
        &self.limit
    }

    /// Returns the requests; they are added before slots are released.
    pub fn requests(&self) -> &[SlotRequest] {
        &self.requests
    }

    pub fn releases(&self) -> &[SlotKey] {
        &self.releases
    }
}

impl From<LimitChange> for LimitChanges {
    fn from(change: LimitChange) -> Self {
        match change {
            LimitChange::Request(request) => {
                let limit = request.limit.name.clone();
                Self { requests: vec![request], ..Self::none(limit) }
            }
            LimitChange::Release(key) => {
                let limit = key.limit.clone();
                Self { releases: vec![key], ..Self::none(limit) }
            }
        }
    }
}

/// A slot that is held, or a request that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotRow {
    pub key: SlotKey,
    pub priority: Priority,
    pub on_conflict: OnConflict,
    pub asked_at: Timestamp,
    /// The time of the grant; `None` for a request that waits.
    pub granted_at: Option<Timestamp>,
    /// True if the holder was told to end.
    pub is_ending: bool,
}

/// The consequences of a change to a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitOutcome {
    pub granted: Vec<SlotKey>,
    /// Requests that were dropped because all slots are held.
    pub denied: Vec<SlotKey>,
    /// Holders that have to end.
    pub ending: Vec<SlotKey>,
    /// The number of holders, with those that were granted.
    pub holders: u64,
    /// True if the queue may hold requests that were not decided.
    pub is_cut: bool,
    /// The time at which further requests can be granted.
    pub next_at: Option<Timestamp>,
}

/// A limit with its figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitFigures {
    pub name: LimitName,
    pub amount: LimitAmount,
    pub holders: u64,
    pub queued: u64,
    /// The time of the oldest request that waits.
    pub oldest_at: Option<Timestamp>,
}
