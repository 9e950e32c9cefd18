//! Bodies about notifications: the documents that ask for them, and tests of their targets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The notification documents of the catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotificationList {
    pub notifications: Vec<NotificationItem>,
}

/// A notification document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotificationItem {
    pub path: String,
    pub version: u32,
    /// True if the document is paused: it requests nothing.
    pub paused: bool,
    /// The paths of playbooks that it is about, with `*` for any characters; all if empty.
    pub paths: Vec<String>,
    /// The labels that an execution must have, as `key:value` with `*` for any characters in a value.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The receivers of each reason, in words.
    pub on: BTreeMap<String, Vec<String>>,
    /// The reason why the document cannot be read by this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Names a notification document by its path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NotificationChoice {
    pub path: String,
}

/// The results of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotificationTest {
    pub results: Vec<NotificationTestResult>,
}

/// The result of a sample that was sent to one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotificationTestResult {
    #[schema(example = "failed")]
    pub reason: String,
    /// The receiver in words.
    pub receiver: String,
    pub sent: bool,
    /// The reason why the sample was not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
