//! The audit log of accesses to secrets.

use noetl_model::{ExecutionId, Timestamp};

/// The maximum number of entries that one listing returns.
pub const AUDIT_PAGE_MAX: usize = 10_000;

/// One access to a secret, or one change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The id of the entry, increasing with time.
    pub id: i64,
    pub at: Timestamp,
    pub credential: String,
    pub operation: String,
    pub outcome: String,
    pub worker: Option<String>,
    pub execution: Option<ExecutionId>,
    pub parent_execution: Option<ExecutionId>,
    pub key_version: Option<String>,
    pub notes: Option<String>,
}

/// The filter of an audit listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub credential: Option<String>,
    pub execution: Option<ExecutionId>,
    pub from: Option<Timestamp>,
    /// The end of the time range, exclusive.
    pub to: Option<Timestamp>,
}
