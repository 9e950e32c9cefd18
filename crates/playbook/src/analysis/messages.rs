//! Checks the templates of subscriptions, which read a message and the fields of its data.

use std::collections::BTreeSet;

use noetl_expr::MissingValues;
use noetl_model::MESSAGE_KEYS;

use super::known_names::METHODS;
use super::names::{filter_faults, method_faults};
use super::uses::TemplateUses;
use crate::diagnostic::{DiagnosticCode, Finding, Findings, Severity};
use crate::suggest::nearest;

/// The variable that describes the message.
const MESSAGE: &str = "message";
/// The fields of the message, as the engine gives them.
const FIELDS: &[&str] = &["id", "data", "headers", "attributes", "metadata"];

/// Adds the findings about the templates of a subscription.
pub(super) fn check(uses: &TemplateUses, findings: &mut Findings) {
    let mut told = BTreeSet::new();
    for used in &uses.list {
        filter_faults(used, &mut told, findings);
        method_faults(used, findings);
        for name in &used.facts.names {
            let path: Vec<&str> = name.path.iter().map(String::as_str).collect();
            let Some((severity, message, help)) = missing(&path) else { continue };
            if name.absence.is_handled(MissingValues::Empty) {
                continue;
            }
            let span = used.span(name.range.clone(), &findings.source);
            if told.insert((span.start, span.end)) {
                let finding = match severity {
                    Severity::Error => Finding::error,
                    Severity::Warning => Finding::warning,
                };
                findings.add(finding(DiagnosticCode::UnknownName, &span, message).help(help));
            }
        }
    }
}

/// Returns the message about a name that no message has, or that is nearly the name of one of its parts.
fn missing(path: &[&str]) -> Option<(Severity, String, String)> {
    match path {
        [MESSAGE, field, ..] if !FIELDS.contains(field) && !METHODS.contains(field) => {
            let help = match nearest(field, FIELDS.iter().copied()) {
                Some(near) => format!("did you mean `{MESSAGE}.{near}`?"),
                None => format!("it has {}", FIELDS.join(", ")),
            };
            Some((Severity::Error, format!("`{MESSAGE}` never has `{field}`"), help))
        }
        // Every other name may be that of a field of the data.
        [root, ..] if !MESSAGE_KEYS.contains(root) => {
            let near = nearest(root, MESSAGE_KEYS.iter().copied())?;
            let message = format!("only the data of a message could have `{root}`");
            Some((Severity::Warning, message, format!("did you mean `{near}`?")))
        }
        [..] => None,
    }
}
