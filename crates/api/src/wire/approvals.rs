//! Bodies about approvals: steps that wait for the decision of a person.

use noetl_model::{ApprovalTimeout, RejectionEffect, Timestamp, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use crate::AnyId;

/// An approval: the question, and the answer once there is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalView {
    pub execution_id: AnyId,
    /// The number of the command within its execution.
    pub command: u64,
    /// The path of the playbook.
    pub path: String,
    pub step: String,
    /// The index of the loop item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the values that a decision gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
    /// The actors who may decide; empty if everyone with access may.
    pub approvers: Vec<String>,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub requested_at: Timestamp,
    /// The time at which `on_timeout` takes effect.
    #[serde(default, with = "crate::text::maybe_time", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub deadline: Option<Timestamp>,
    /// `approve`, `reject` or `fail`.
    #[schema(value_type = String)]
    pub on_timeout: ApprovalTimeout,
    /// `fail` or `continue`.
    #[schema(value_type = String)]
    pub on_reject: RejectionEffect,
    /// The decision; `None` while the approval waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecisionView>,
}

/// The decision about an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalDecisionView {
    /// `approved` or `rejected`.
    #[schema(value_type = String)]
    pub decision: Verdict,
    pub actor: Option<String>,
    /// True if nobody has checked the name: its caller has stated it, or used a link.
    #[serde(default)]
    pub actor_stated: bool,
    /// The caller who made the link with which it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_by: Option<String>,
    pub comment: Option<String>,
    /// The values of the form.
    pub values: Value,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub decided_at: Timestamp,
    /// True if the deadline has decided.
    pub timed_out: bool,
}

/// A page of the approvals that wait for a decision, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalList {
    pub approvals: Vec<ApprovalView>,
    /// The value of `after` for the next page; `None` on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The page of a list of approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ApprovalsQuery {
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// At most 100; 50 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only approvals that this actor may decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    /// Only approvals of this execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<AnyId>,
}

/// The decision of a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DecisionBody {
    /// `approve` or `reject`.
    #[schema(value_type = String)]
    pub decision: VerdictWord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The name of the person, for clients that cannot send the header `X-Noetl-Actor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The values of the form.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Value>,
}

/// The word of a decision in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictWord {
    #[serde(alias = "approved")]
    Approve,
    #[serde(alias = "rejected")]
    Reject,
}

impl From<VerdictWord> for Verdict {
    fn from(word: VerdictWord) -> Self {
        match word {
            VerdictWord::Approve => Verdict::Approved,
            VerdictWord::Reject => Verdict::Rejected,
        }
    }
}

impl From<Verdict> for VerdictWord {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Approved => VerdictWord::Approve,
            Verdict::Rejected => VerdictWord::Reject,
        }
    }
}

/// A request for a link with which a person without access to the server decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ApprovalLinkBody {
    /// The person who gets the link; recorded as the actor of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The time for which the link is valid: seconds, or text such as `2d`. 7 days by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_for: Option<Value>,
}

/// A link with which a person decides about one approval, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalLink {
    /// The path of the page at the server. Whoever knows it can decide: treat it like a password.
    pub path: String,
    #[serde(with = "crate::text::time")]
    #[schema(value_type = String)]
    pub expires_at: Timestamp,
}
