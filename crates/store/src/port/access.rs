//! The storage ports of tokens and of the audit trail.

use async_trait::async_trait;

use crate::signature::*;

/// API tokens.
#[async_trait]
pub trait Tokens: Send + Sync {
    /// Stores a token. Returns false if its name or its digest is taken.
    async fn add_token(&self, token: &StoredToken) -> Result<bool, StoreError>;

    /// Lists the tokens whose name follows `after`, ordered by name, at most `limit` (and at most
    /// `PAGE_MAX`).
    async fn tokens(&self, after: &str, limit: usize) -> Result<Vec<StoredToken>, StoreError>;

    /// Records the last use of a token; an earlier time changes nothing.
    async fn touch_token(&self, id: i64, at: Timestamp) -> Result<(), StoreError>;

    /// Returns false if there was no such token.
    async fn remove_token(&self, name: &str) -> Result<bool, StoreError>;
}

/// The audit trail.
#[async_trait]
pub trait AuditTrail: Send + Sync {
    /// Appends facts in order, all or none of them. Appends of several processes follow each
    /// other.
    async fn append_trail(&self, facts: &[TrailFact]) -> Result<(), StoreError>;

    /// Returns the entries after a number, in order, at most `limit` (and at most `PAGE_MAX`).
    async fn trail(&self, after: u64, limit: usize) -> Result<Vec<TrailEntry>, StoreError>;

    /// Returns the ends of the trail.
    async fn trail_span(&self) -> Result<TrailSpan, StoreError>;

    /// Deletes entries older than `before` from the beginning of the trail, at most `limit` (and at
    /// most `PAGE_MAX`). Returns their number.
    async fn forget_trail(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError>;
}
