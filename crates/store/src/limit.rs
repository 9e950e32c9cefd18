//! Limits that executions share, their slots and the requests for them.

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

/// A change to a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LimitChange {
    /// Adds a request; a known one stays as it is.
    Request(SlotRequest),
    /// Releases a slot or withdraws a request. Releasing a missing one is allowed.
    Release(SlotKey),
    /// Only grants what can be granted.
    Look(LimitName),
}

impl LimitChange {
    pub fn limit(&self) -> &LimitName {
        match self {
            LimitChange::Request(request) => &request.limit.name,
            LimitChange::Release(key) => &key.limit,
            LimitChange::Look(limit) => limit,
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
