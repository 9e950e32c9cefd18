//! Notifications about executions: on which reasons they are sent, and to which targets.
//!
//! A playbook has notifications of its own (`on`); a document of `kind: Notification` has them for
//! all executions that it matches.

use std::collections::BTreeMap;

use noetl_expr::Template;
use noetl_model::{Label, Labels, NoticeReason, NoticeTarget, Webhook};
use serde_json::{Map, Value};

use crate::playbook::Metadata;

/// The most targets of one reason.
pub const NOTICE_TARGETS_MAX: usize = 16;

/// The targets of each reason.
pub type NoticeRules = BTreeMap<NoticeReason, Vec<NoticeTemplate>>;

/// A validated document of `kind: Notification`.
#[derive(Debug, Clone)]
pub struct NotificationDocument {
    pub metadata: Metadata,
    pub matches: NoticeMatch,
    pub on: NoticeRules,
}

/// The executions that a document is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoticeMatch {
    /// The paths of playbooks, of which one has to match; any path if empty. `*` stands for any
    /// number of characters.
    pub paths: Vec<String>,
    /// The labels that an execution must have, all of them. `*` in a value stands for any number of
    /// characters.
    pub labels: Vec<Label>,
}

/// A target with its templates.
#[derive(Debug, Clone)]
pub enum NoticeTemplate {
    Playbook {
        path: String,
        workload: Option<Template>,
    },
    Http {
        url: Template,
        method: HttpVerb,
        headers: Option<Template>,
        /// The body; the facts about the execution if left out.
        body: Option<Template>,
        credential: Option<String>,
    },
    Mail {
        /// One address, or a list of them.
        to: Template,
        subject: Option<Template>,
        body: Option<Template>,
        credential: String,
    },
    Slack {
        webhook: Webhook,
        text: Option<Template>,
    },
}

/// The methods of calls that notify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVerb {
    Get,
    Post,
    Put,
    Patch,
}

impl HttpVerb {
    pub const fn as_str(self) -> &'static str {
        match self {
            HttpVerb::Get => "GET",
            HttpVerb::Post => "POST",
            HttpVerb::Put => "PUT",
            HttpVerb::Patch => "PATCH",
        }
    }
}

impl NoticeTemplate {
    /// Returns the receiver in words, with templates as they are written; of a URL only the scheme
    /// and the host, because the rest may be a secret.
    pub fn receiver(&self) -> String {
        let source = |template: &Template| match template.source() {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let target = match self {
            NoticeTemplate::Playbook { path, .. } => {
                NoticeTarget::Playbook { path: path.clone(), workload: Map::new() }
            }
            NoticeTemplate::Http { url, method, .. } => NoticeTarget::Http {
                url: source(url),
                method: method.as_str().to_owned(),
                headers: BTreeMap::new(),
                body: Value::Null,
                credential: None,
            },
            NoticeTemplate::Mail { to, credential, .. } => NoticeTarget::Mail {
                to: vec![source(to)],
                subject: String::new(),
                body: String::new(),
                credential: credential.clone(),
            },
            NoticeTemplate::Slack { webhook, .. } => {
                NoticeTarget::Slack { webhook: webhook.clone(), text: String::new() }
            }
        };
        target.receiver()
    }
}

impl NoticeMatch {
    /// True if an execution of a playbook, with some labels, is matched.
    pub fn includes(&self, path: &str, labels: &Labels) -> bool {
        let has_path =
            self.paths.is_empty() || self.paths.iter().any(|pattern| is_match(pattern, path));
        has_path
            && self.labels.iter().all(|wanted| {
                let mut same_key = labels.iter().filter(|label| label.key() == wanted.key());
                same_key.any(|label| is_match(wanted.value(), label.value()))
            })
    }
}

/// True if a text matches a pattern in which `*` stands for any number of characters. The time is
/// bounded by the product of both lengths.
fn is_match(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut read) = (0, 0);
    // The last `*`, and the part of the text that it stands for so far.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match (pattern.get(at), star) {
            (Some(b'*'), _) => {
                star = Some((at, read));
                at += 1;
            }
            (Some(byte), _) if *byte == text[read] => {
                at += 1;
                read += 1;
            }
            (_, Some((place, end))) => {
                star = Some((place, end + 1));
                (at, read) = (place + 1, end + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_characters() {
        for (pattern, text, expected) in [
            ("sales/*", "sales/report", true),
            ("sales/*", "sales/eu/report", true),
            ("sales/*", "sales", false),
            ("*", "anything", true),
            ("*", "", true),
            ("*/report", "sales/eu/report", true),
            ("*/report", "sales/reports", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("größe/*", "größe/ä", true),
            ("report", "report", true),
            ("report", "reports", false),
            ("", "x", false),
        ] {
            assert_eq!(is_match(pattern, text), expected, "{pattern} {text}");
        }
        let hostile = "*a".repeat(100);
        assert!(!is_match(&hostile, &"a".repeat(99)));
    }
}
