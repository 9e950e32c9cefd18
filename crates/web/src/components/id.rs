//! Ids and paths as links, shortened where they are long.

use maud::{Markup, html};
use noetl_model::ExecutionId;

use crate::address::encoded;

/// Number of digits of an id that a list shows; they differ for executions of one day.
const DIGITS: usize = 8;

/// Returns the address of an execution.
pub(crate) fn execution_address(execution: ExecutionId) -> String {
    format!("/ui/executions/{execution}")
}

/// Returns the address of a playbook.
pub(crate) fn playbook_address(path: &str) -> String {
    format!("/ui/playbooks/{}", encoded(path))
}

/// Returns the address of a limit.
pub(crate) fn limit_address(name: &str) -> String {
    format!("/ui/limits/{}", encoded(name))
}

/// Draws a link to an execution, with the last digits of its id.
pub(crate) fn execution_link(execution: ExecutionId) -> Markup {
    let text = execution.to_string();
    let short = text.get(text.len().saturating_sub(DIGITS)..).unwrap_or(&text);
    html! {
        a.id href=(execution_address(execution)) title=(text) { "…" (short) }
    }
}

/// Draws a link to a playbook; the folders of the path are less prominent than its name.
pub(crate) fn playbook_link(path: &str) -> Markup {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    html! {
        a.path href=(playbook_address(path)) title=(path) {
            @if !folder.is_empty() { span.folder { (folder) "/" } }
            span.name { (name) }
        }
    }
}
