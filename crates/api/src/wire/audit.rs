//! Bodies about the audit log.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of the audit log, oldest entry first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditLogPage {
    pub entries: Vec<AuditEntryView>,
    /// The number after which the next page begins; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntryView {
    /// 1, 2, 3, … without gaps.
    pub number: u64,
    pub at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Method and route, or the operation on a secret.
    #[schema(example = "POST /api/executions/{execution_id}/cancel")]
    pub action: String,
    /// The path of the request, or the name of the secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The address of the sender, or the worker and execution that read a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// `done`, `refused` or `failed`.
    pub outcome: String,
    /// The status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Covers the entry and the digest of the entry before it.
    pub digest: String,
}

/// The result of verifying the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditVerification {
    pub valid: bool,
    /// The number of entries that are kept.
    pub entries: u64,
    /// The number of the last entry.
    pub last: u64,
    /// The digest of the last entry. A copy that is kept elsewhere detects a log that was rewritten
    /// as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The first fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}
