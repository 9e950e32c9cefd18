//! Finds secrets that are written in a document.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::diagnostic::{DiagnosticCode, Finding};
use crate::source::SourceText;
use crate::yaml::{Yaml, YamlEntry, YamlNode};

/// The shortest text that is taken for a secret because of its key.
const SECRET_CHARS_MIN: usize = 6;

/// The ends of keys whose values are secrets.
static SECRET_KEY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(^|[_\-.])(password|passwd|passphrase|secret|token|api[_\-]?key|access[_\-]?key|private[_\-]?key|client[_\-]?secret)$")
        .expect("the pattern is valid")
});

/// Texts that are secrets wherever they stand, with what they are.
static SECRET_TEXTS: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    [
        ("an access key of AWS", r"\b(AKIA|ASIA)[0-9A-Z]{16}\b"),
        ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
        (
            "a token of GitHub",
            r"\b((ghp|gho|ghs|ghu|ghr)_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22,})\b",
        ),
        ("a token of GitLab", r"\bgl(pat|dt|ft|rt|cbt|ptt|soat)-[A-Za-z0-9_\-]{20,}"),
        ("a token of Slack", r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
        ("a key of Google", r"\bAIza[0-9A-Za-z_\-]{35}\b"),
        (
            "a JSON web token",
            r"\beyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}",
        ),
        (
            "a webhook of Slack",
            r"hooks\.slack\.com/services/T[A-Za-z0-9]+/B[A-Za-z0-9]+/[A-Za-z0-9]{16,}",
        ),
        ("a secret key of Stripe", r"\b[rs]k_live_[A-Za-z0-9]{16,}\b"),
        ("a bearer token", r"(?i)\bbearer +[A-Za-z0-9._~+/\-]{20,}=*"),
        ("a password of basic authentication", r"\bBasic +[A-Za-z0-9+/]{16,}={0,2}(\s|$)"),
        ("a password in a URL", r"[a-z][a-z0-9+]*://[^/\s:@{]+:[^/\s@{]+@"),
    ]
    .into_iter()
    .map(|(what, pattern)| (what, Regex::new(pattern).expect("the pattern is valid")))
    .collect()
});

/// Returns the places of secrets that are recognised by their form, in order. They may overlap.
pub fn secret_spans(text: &str) -> Vec<Range<usize>> {
    let found = SECRET_TEXTS.iter().flat_map(|(_, pattern)| pattern.find_iter(text));
    let mut spans: Vec<Range<usize>> = found.map(|found| found.range()).collect();
    spans.sort_by_key(|span| (span.start, span.end));
    spans
}

/// The meaning of the texts below a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Texts {
    /// The texts of the document itself.
    Document,
    Values,
    /// Names of types, as in `api_key: string`.
    Types,
}

/// Adds a warning for each secret of a document. Messages never quote the secret.
pub(super) fn check(root: &YamlNode, source: &SourceText, faults: &mut Vec<Finding>) {
    check_below(root, Texts::Document, source, faults);
}

/// Returns the meaning of the texts below a key.
fn texts_below(key: &str, around: Texts) -> Texts {
    match (around, key) {
        (Texts::Document, "inputs" | "workload_schema") | (_, "output_schema") => Texts::Types,
        (Texts::Types, "default" | "example" | "examples" | "enum" | "const") => Texts::Values,
        (Texts::Document | Texts::Values, _) => Texts::Values,
        (Texts::Types, _) => Texts::Types,
    }
}

fn check_below(node: &YamlNode, texts: Texts, source: &SourceText, faults: &mut Vec<Finding>) {
    match &node.yaml {
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => {}
        Yaml::Text { text, .. } => {
            let mut told: Vec<Range<usize>> = Vec::new();
            for (what, pattern) in SECRET_TEXTS.iter() {
                for found in pattern.find_iter(text).map(|found| found.range()) {
                    if told.iter().any(|it| it.start < found.end && found.start < it.end) {
                        continue;
                    }
                    told.push(found.clone());
                    let span = node.locate(found, source);
                    faults.push(finding(&span, &format!("the document contains {what}")));
                }
            }
        }
        Yaml::List(items) => {
            items.iter().for_each(|item| check_below(item, texts, source, faults));
        }
        Yaml::Map(entries) => {
            for entry in entries {
                // Texts below `map` of a keychain entry name fields of other secrets, those below
                // `verify` of a subscription name a credential.
                let is_reference = matches!(entry.key.text.as_str(), "map" | "verify");
                if texts != Texts::Types && is_secret(entry) {
                    let message = format!("`{}` holds a secret in plain text", entry.key.text);
                    faults.push(finding(&entry.value.span, &message));
                } else if !is_reference {
                    let texts = texts_below(&entry.key.text, texts);
                    check_below(&entry.value, texts, source, faults);
                }
            }
        }
    }
}

fn finding(span: &Range<usize>, message: &str) -> Finding {
    let finding = Finding::warning(DiagnosticCode::PlainSecret, span, message);
    finding.help("store it with `noetl credential set`, and read it as `keychain.NAME.FIELD`")
}

fn is_secret(entry: &YamlEntry) -> bool {
    let Some(text) = entry.value.text() else { return false };
    let is_named = SECRET_KEY.is_match(&entry.key.text);
    let is_placeholder = text.contains("{{")
        || text.starts_with(['$', '<', '*'])
        || text.contains(char::is_whitespace)
        || ["example", "changeme", "redacted", "xxx"]
            .iter()
            .any(|it| text.to_lowercase().contains(it));
    is_named && text.chars().count() >= SECRET_CHARS_MIN && !is_placeholder
}
