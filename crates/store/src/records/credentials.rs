//! Credentials: secrets with a name.

use async_trait::async_trait;
use noetl_model::Timestamp;
use serde_json::Value;

use super::{Rewrap, Sealed, SealedRow, SealedTable};
use crate::StoreError;

/// A credential; what is secret about it is sealed.
#[derive(Debug, Clone, PartialEq)]
pub struct Credential {
    pub id: i64,
    pub name: String,
    /// What it is for, such as `postgres` or `bearer`.
    pub kind: String,
    pub meta: Option<Value>,
    pub tags: Vec<String>,
    pub description: Option<String>,
    pub sealed: Sealed,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// How a credential is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialKey {
    Id(i64),
    Name(String),
}

/// Which credentials a listing shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialFilter {
    pub kind: Option<String>,
    /// A part of the name or of the description, whatever its case.
    pub text: Option<String>,
}

#[async_trait]
pub trait Credentials: Send + Sync {
    /// Keeps a credential, over the one of its name and id if there is one; its beginning stays.
    /// Nothing if the name is another id's: the secret is sealed for its id, so the caller looks
    /// again.
    async fn put_credential(
        &self,
        credential: &Credential,
    ) -> Result<Option<Credential>, StoreError>;

    async fn credential(&self, key: &CredentialKey) -> Result<Option<Credential>, StoreError>;

    /// The newest first, at most `limit` (and at most `PAGE_MAX`).
    async fn credentials(
        &self,
        filter: &CredentialFilter,
        limit: usize,
    ) -> Result<Vec<Credential>, StoreError>;

    /// Says whether there was one.
    async fn remove_credential(&self, id: i64) -> Result<bool, StoreError>;

    /// How many sealed rows are under each version of the key, by version.
    async fn key_versions(&self, table: SealedTable) -> Result<Vec<(String, u64)>, StoreError>;

    /// Rows after a key, in the order of their keys, that are not under `version`.
    async fn sealed_otherwise(
        &self,
        table: SealedTable,
        version: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<SealedRow>, StoreError>;

    /// Wraps a record's own key anew; says whether it was still as expected.
    async fn rewrap(&self, table: SealedTable, change: &Rewrap) -> Result<bool, StoreError>;
}
