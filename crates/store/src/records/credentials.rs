//! Credentials: named secrets.

use noetl_model::{CredentialPolicy, Timestamp};
use serde_json::Value;

use super::Sealed;

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
    /// The restrictions of the credential; the default of the server applies if `None`.
    pub policy: Option<CredentialPolicy>,
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
