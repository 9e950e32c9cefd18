//! API tokens: names, roles and digests of secrets. The secrets themselves are not stored.

use noetl_model::{Actor, Digest, RoleGrant, Timestamp};

/// A token with the digest of its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredToken {
    pub id: i64,
    /// The name that events and the audit log record as actor; unique.
    pub name: Actor,
    /// The person or team that answers for the token.
    pub owner: Option<String>,
    pub digest: Digest,
    pub grants: Vec<RoleGrant>,
    /// The actor that created the token.
    pub created_by: Option<Actor>,
    pub created_at: Timestamp,
    /// The time from which the token is not accepted.
    pub expires_at: Option<Timestamp>,
    /// The time of the last use, to the minute.
    pub used_at: Option<Timestamp>,
}
