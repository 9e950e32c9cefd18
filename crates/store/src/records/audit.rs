//! Who asked for which secret.

use async_trait::async_trait;
use noetl_model::{ExecutionId, Timestamp};

use crate::StoreError;

/// How many entries one listing returns at most.
pub const AUDIT_PAGE_MAX: usize = 10_000;

/// One look at a secret, or one change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Grows with time.
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

/// Which entries a listing shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub credential: Option<String>,
    pub execution: Option<ExecutionId>,
    pub from: Option<Timestamp>,
    /// Until just before.
    pub to: Option<Timestamp>,
}

#[async_trait]
pub trait SecretAudit: Send + Sync {
    async fn note_access(&self, entry: &AuditEntry) -> Result<(), StoreError>;

    /// The newest first, at most `limit` (and at most [`AUDIT_PAGE_MAX`]).
    async fn accesses(
        &self,
        filter: &AuditFilter,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError>;
}
