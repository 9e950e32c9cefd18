//! Tells documents of this program from any other YAML that is open in the same editor.

use super::outline::outline;
use crate::words::ROOT;

/// The kinds of documents of this program, in lower case.
const KINDS: [&str; 4] = ["playbook", "schedule", "subscription", "notification"];
/// The keys that documents of other programs have too.
const COMMON_KEYS: [&str; 6] = ["apiVersion", "kind", "metadata", "name", "on", "version"];

/// True if a text is certainly no document of this program. An empty text may become one.
pub fn is_foreign(text: &str) -> bool {
    let (outline, _) = outline(text, 0);
    let Some(root) = outline.containers.first() else { return false };
    if root.is_list {
        return true;
    }
    if root.value("apiVersion").is_some_and(|version| version.starts_with("noetl")) {
        return false;
    }
    if let Some(kind) = root.value("kind").filter(|kind| !kind.is_empty()) {
        let kind = kind.to_lowercase();
        // A kind that is being written is the beginning of one.
        return !KINDS
            .iter()
            .any(|it| it.starts_with(&kind) || crate::nearest(&kind, KINDS).is_some());
    }
    let keys = || root.entries.iter().filter_map(|entry| entry.key.as_deref());
    let is_common = |key: &str| COMMON_KEYS.contains(&key);
    // A template of another language, such as that of a Helm chart.
    if text.contains("{{ .") {
        return true;
    }
    if keys().all(is_common) {
        // The beginning of a document; one of Kubernetes has another `apiVersion`.
        return root.value("apiVersion").is_some_and(|version| !version.is_empty());
    }
    !keys().any(|key| !is_common(key) && ROOT.word(key).is_some())
}
