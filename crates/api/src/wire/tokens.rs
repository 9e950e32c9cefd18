//! Bodies about stored tokens.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request to create a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreateToken {
    /// The name that events and the audit log record as actor.
    #[schema(example = "ci")]
    pub name: String,
    /// The person or team that answers for the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Roles: `viewer`, `operator`, `author`, `worker`, `internal` or `admin`. The first three may be
    /// restricted to paths of playbooks: `operator:team-a/*`.
    #[schema(example = json!(["operator:team-a/*"]))]
    pub roles: Vec<String>,
    /// The time from which the token is not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// A stored token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub roles: Vec<String>,
    /// The actor that created the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    pub created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// True if the token has expired.
    pub is_expired: bool,
    /// The last use, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<String>,
}

/// A created token. The secret is shown here only; the server does not keep it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedToken {
    #[serde(flatten)]
    pub token: TokenView,
    pub secret: String,
}

/// A page of tokens, ordered by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoredTokenList {
    pub tokens: Vec<TokenView>,
    /// The name after which the next page begins; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
