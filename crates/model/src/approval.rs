//! Approvals: decisions of people that a step waits for.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;

/// The largest number of characters in the title of an approval.
pub const APPROVAL_TITLE_MAX: usize = 200;
/// The largest number of characters in the description of an approval.
pub const APPROVAL_DESCRIPTION_MAX: usize = 10_000;
/// The largest number of approvers that an approval names.
pub const APPROVERS_MAX: usize = 100;
/// The largest number of characters in the comment of a decision.
pub const DECISION_COMMENT_MAX: usize = 4000;

/// A request for a decision, as its step describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the values that a decision gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
    /// The actors who may decide; empty if everyone with access may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// The time at which `on_timeout` takes effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "ApprovalTimeout::is_default")]
    pub on_timeout: ApprovalTimeout,
    #[serde(default, skip_serializing_if = "RejectionEffect::is_default")]
    pub on_reject: RejectionEffect,
}

/// The result of an approval whose deadline has passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalTimeout {
    /// The step fails with an error of kind `timeout`.
    #[default]
    Fail,
    /// The approval counts as approved, with the defaults of its form.
    Approve,
    /// The approval counts as rejected.
    Reject,
}

impl ApprovalTimeout {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The effect of a rejection on its step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectionEffect {
    /// The step fails with an error of kind `rejected`, so that nothing behind it runs by accident.
    #[default]
    Fail,
    /// The step completes; `approved` in its output is false, and arcs decide.
    Continue,
}

impl RejectionEffect {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The decision about an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Approved,
    Rejected,
}

impl Verdict {
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Approved => "approved",
            Verdict::Rejected => "rejected",
        }
    }

    pub fn is_approved(self) -> bool {
        self == Verdict::Approved
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
