//! Errors of the API in the form of RFC 9457.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A problem document.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// Kind of the problem: `urn:noetl:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    pub detail: String,
    /// Stable code for programs to branch on.
    pub code: String,
    /// A copy of `detail`, where existing clients look for it.
    pub error: String,
    /// Further fields of this kind of problem, such as `diagnostics`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub more: Map<String, Value>,
}
