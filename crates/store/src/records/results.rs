//! Named results: values that workers store before they say that they have.

use async_trait::async_trait;
use noetl_model::{Digest, ExecutionId, Timestamp};

use crate::StoreError;

/// What tells a result from others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResultRef {
    pub execution: ExecutionId,
    pub name: String,
    pub id: i64,
}

/// A value's name; the value itself is a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedResult {
    pub reference: ResultRef,
    pub digest: Digest,
    pub scope: String,
    pub source_step: Option<String>,
    pub created_at: Timestamp,
    /// `None` lives as long as its execution.
    pub expires_at: Option<Timestamp>,
}

#[async_trait]
pub trait Results: Send + Sync {
    /// Keeps a value, its JSON bytes, once for each execution, and gives it a name. The same value
    /// under the same name keeps the reference it has, until the later of both ends; the answer is
    /// what is kept.
    async fn put_result(
        &self,
        result: &NamedResult,
        body: &[u8],
    ) -> Result<NamedResult, StoreError>;

    /// A result that has not expired at `now`.
    async fn result(
        &self,
        reference: &ResultRef,
        now: Timestamp,
    ) -> Result<Option<NamedResult>, StoreError>;
}
