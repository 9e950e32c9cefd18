//! Credentials: named secrets.

use async_trait::async_trait;
use noetl_model::Timestamp;
use serde_json::Value;

use super::{Rewrap, Sealed, SealedRow, SealedTable};
use crate::StoreError;

/// A credential with its secret part sealed.
#[derive(Debug, Clone, PartialEq)]
pub struct Credential {
    pub id: i64,
    pub name: String,
    /// The type of the credential, such as `postgres` or `bearer`.
    pub kind: String,
    pub meta: Option<Value>,
    pub tags: Vec<String>,
    pub description: Option<String>,
    pub sealed: Sealed,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The lookup key of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialKey {
    Id(i64),
    Name(String),
}

/// The filter of a credential listing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialFilter {
    pub kind: Option<String>,
    /// A part of the name or of the description, ignoring case.
    pub text: Option<String>,
}

#[async_trait]
pub trait Credentials: Send + Sync {
    /// Stores a credential, replacing one with the same name and id except for its creation time.
    /// Returns `None` if the name belongs to another id: the secret is sealed for its id, so the
    /// caller has to look up the credential again.
    async fn put_credential(
        &self,
        credential: &Credential,
    ) -> Result<Option<Credential>, StoreError>;

    async fn credential(&self, key: &CredentialKey) -> Result<Option<Credential>, StoreError>;

    /// Lists credentials, newest first, at most `limit` (and at most `PAGE_MAX`).
    async fn credentials(
        &self,
        filter: &CredentialFilter,
        limit: usize,
    ) -> Result<Vec<Credential>, StoreError>;

    /// Returns false if there was no such credential.
    async fn remove_credential(&self, id: i64) -> Result<bool, StoreError>;

    /// Returns the number of sealed rows under each key version, ordered by version.
    async fn key_versions(&self, table: SealedTable) -> Result<Vec<(String, u64)>, StoreError>;

    /// Returns rows after a key, ordered by key, that are not sealed under `version`.
    async fn sealed_otherwise(
        &self,
        table: SealedTable,
        version: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<SealedRow>, StoreError>;

    /// Stores the rewrapped data key of a row. Returns false if the row has changed in the
    /// meantime.
    async fn rewrap(&self, table: SealedTable, change: &Rewrap) -> Result<bool, StoreError>;
}
