//! Notifications about an execution: why one is sent, and the rendered message with its target.
//!
//! Secrets are never part of them: a target names a credential, which is resolved when it is sent.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ExecutionId, Seq};

/// The largest size of one rendered notification, in bytes of JSON.
pub const NOTICE_BYTES_MAX: usize = 64 * 1024;
/// The largest number of notifications that one decision requests.
pub const NOTICES_MAX: usize = 32;
/// The number of notifications in a chain of executions that notifications started, after which no
/// further ones are requested.
pub const NOTICE_DEPTH_MAX: u32 = 3;

/// The change of an execution that a notification reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeReason {
    Failed,
    Completed,
    Cancelled,
    /// The execution has not ended by the time that its playbook expects.
    Late,
    /// The execution has begun to wait for a signal.
    Waiting,
}

impl NoticeReason {
    pub const ALL: &'static [NoticeReason] = &[
        NoticeReason::Failed,
        NoticeReason::Completed,
        NoticeReason::Cancelled,
        NoticeReason::Late,
        NoticeReason::Waiting,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            NoticeReason::Failed => "failed",
            NoticeReason::Completed => "completed",
            NoticeReason::Cancelled => "cancelled",
            NoticeReason::Late => "late",
            NoticeReason::Waiting => "waiting",
        }
    }
}

impl fmt::Display for NoticeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A rendered notification: where it is sent, and its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoticeTarget {
    /// Starts an execution of a playbook.
    Playbook { path: String, workload: Map<String, Value> },
    /// Calls a URL.
    Http {
        url: String,
        method: String,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        body: Value,
        /// The credential that authenticates the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        credential: Option<String>,
    },
    /// Sends a mail.
    Mail {
        to: Vec<String>,
        subject: String,
        body: String,
        /// The credential with the server, the user and the sender.
        credential: String,
    },
    /// Posts a text to a webhook that understands the messages of Slack.
    Slack { webhook: Webhook, text: String },
}

/// The address of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Webhook {
    Url(String),
    /// The credential that has the address, which is a secret.
    Credential(String),
}

/// The kind of a target, for metrics and lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoticeKind {
    Playbook,
    Http,
    Mail,
    Slack,
}

impl NoticeKind {
    pub const ALL: &'static [NoticeKind] =
        &[NoticeKind::Playbook, NoticeKind::Http, NoticeKind::Mail, NoticeKind::Slack];

    pub const fn as_str(self) -> &'static str {
        match self {
            NoticeKind::Playbook => "playbook",
            NoticeKind::Http => "http",
            NoticeKind::Mail => "mail",
            NoticeKind::Slack => "slack",
        }
    }
}

impl NoticeTarget {
    pub const fn kind(&self) -> NoticeKind {
        match self {
            NoticeTarget::Playbook { .. } => NoticeKind::Playbook,
            NoticeTarget::Http { .. } => NoticeKind::Http,
            NoticeTarget::Mail { .. } => NoticeKind::Mail,
            NoticeTarget::Slack { .. } => NoticeKind::Slack,
        }
    }

    /// Returns the receiver in words, without anything that may be a secret: of a URL only the
    /// scheme and the host.
    pub fn receiver(&self) -> String {
        match self {
            NoticeTarget::Playbook { path, .. } => format!("playbook {path}"),
            NoticeTarget::Http { url, method, .. } => format!("{method} {}", origin_of(url)),
            NoticeTarget::Mail { to, .. } => format!("mail to {}", to.join(", ")),
            NoticeTarget::Slack { webhook: Webhook::Url(url), .. } => {
                format!("slack webhook {}", origin_of(url))
            }
            NoticeTarget::Slack { webhook: Webhook::Credential(name), .. } => {
                format!("slack webhook of credential {name}")
            }
        }
    }
}

/// Returns the scheme and the host of a URL: paths and queries of webhooks hold secrets.
fn origin_of(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + "://".len());
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    // A user and a password before the host are left out with the scheme.
    match url[start..end].rfind('@') {
        Some(at) => &url[start + at + 1..end],
        None => &url[..end],
    }
}

/// The notification that started an execution, or one of its ancestors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticeOrigin {
    /// The execution that the notification is about.
    pub execution: ExecutionId,
    /// The event that requested the notification.
    pub event: Seq,
    /// The path of the notification's document; `None` if the playbook itself has the notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// The number of notifications in the chain of executions, from 1.
    pub depth: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receiver_of_a_url_is_its_host_without_secrets() {
        for (url, shown) in [
            ("https://hooks.example.com/services/T0/B0/secret", "https://hooks.example.com"),
            ("https://example.com?token=secret", "https://example.com"),
            ("https://user:secret@example.com:8443/x", "example.com:8443"),
            ("not a url", "not a url"),
        ] {
            assert_eq!(origin_of(url), shown, "{url}");
        }
    }

    #[test]
    fn reasons_read_as_they_are_written() {
        for reason in NoticeReason::ALL {
            let json = serde_json::to_value(reason).unwrap();
            assert_eq!(json, reason.as_str());
        }
    }
}
