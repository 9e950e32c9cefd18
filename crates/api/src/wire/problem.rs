//! What went wrong, as RFC 9457 has it.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A problem document.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// Names the kind of problem: `urn:noetl:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    pub detail: String,
    /// Stable, for programs to branch on.
    pub code: String,
    /// The same as `detail`, where existing clients look for it.
    pub error: String,
    /// What belongs to this kind of problem, such as `diagnostics`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub more: Map<String, Value>,
}
