//! Checks the templates of notifications, which read the facts of one execution.

use std::collections::BTreeSet;

use noetl_expr::{NameUse, Operand};
use noetl_model::{ErrorKind, NoticeReason};

use super::comparisons;
use super::known_names::METHODS;
use super::names::filter_faults;
use super::possible_values::PossibleValues;
use super::uses::{RenderMoment, TemplateUses};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::suggest::nearest;

/// The only variable.
const EXECUTION: &str = "execution";
/// The fields of the variable, as the engine gives them.
const FIELDS: &[&str] = &[
    "path",
    "reason",
    "status",
    "error",
    "step",
    "url",
    "id",
    "version",
    "cancelled_because",
    "started_at",
    "ended_at",
    "duration_seconds",
    "is_late",
    "waits_for",
];
/// The values of `execution.status`.
const STATUSES: &[&str] = &["RUNNING", "COMPLETED", "FAILED", "CANCELLED"];

/// Adds the findings about the templates of notifications.
pub(crate) fn check(uses: &TemplateUses, findings: &mut Findings) {
    let mut told = BTreeSet::new();
    for used in uses.list.iter().filter(|used| used.place.moment == RenderMoment::Notice) {
        filter_faults(used, &mut told, findings);
        for name in used.facts.names.iter().filter(|name| is_required(name)) {
            let Some((message, help, depth)) = missing(&name.path) else { continue };
            let end = name.ends.get(depth).copied().unwrap_or(name.range.end);
            let span = used.span(name.range.start..end, &findings.source);
            if told.insert((span.start, span.end)) {
                findings
                    .add(Finding::error(DiagnosticCode::UnknownName, &span, message).help_if(help));
            }
        }
        comparisons::check_use(used, &possible, findings);
    }
}

fn is_required(name: &NameUse) -> bool {
    !name.absence.is_handled(noetl_expr::MissingValues::Empty)
}

/// Returns the message about a name that no execution has, with the index of the missing segment.
fn missing(path: &[String]) -> Option<(String, Option<String>, usize)> {
    let segments: Vec<&str> = path.iter().map(String::as_str).collect();
    let (root, rest) = segments.split_first()?;
    if *root != EXECUTION {
        let help = match nearest(root, [EXECUTION]) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write `{EXECUTION}.{}`", fact_named(root).unwrap_or("path")),
        };
        let message = format!("a notification cannot read `{root}`, only `{EXECUTION}`");
        return Some((message, Some(help), 0));
    }
    let (parent, fields, depth): (&str, &[&str], usize) = match rest {
        ["error", _, ..] => ("execution.error", &["kind", "message"], 2),
        ["waits_for", _, ..] => ("execution.waits_for", &["signal", "approval"], 2),
        [_, ..] => (EXECUTION, FIELDS, 1),
        [] => return None,
    };
    let field = segments.get(depth).filter(|field| !METHODS.contains(field))?;
    if fields.contains(field) {
        return None;
    }
    let help = match nearest(field, fields.iter().copied()) {
        Some(near) => format!("did you mean `{parent}.{near}`?"),
        None => format!("it has {}", fields.join(", ")),
    };
    Some((format!("`{parent}` has no `{field}`"), Some(help), depth))
}

/// Returns the fact that a name without `execution` stands for.
fn fact_named(name: &str) -> Option<&'static str> {
    FIELDS.iter().copied().find(|field| *field == name)
}

/// Returns the values that a side of a comparison can have.
fn possible(side: &Operand) -> Option<PossibleValues> {
    let path = match side {
        Operand::Path(path) => path,
        Operand::Length(_) | Operand::Literal(_) | Operand::Other => return None,
    };
    let shown = path.join(".");
    match shown.as_str() {
        "execution.status" => Some(PossibleValues::of_words(&shown, STATUSES)),
        "execution.reason" => {
            let reasons: Vec<&str> = NoticeReason::ALL.iter().map(|it| it.as_str()).collect();
            Some(PossibleValues::of_words(&shown, &reasons))
        }
        "execution.error.kind" => {
            let kinds: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
            Some(PossibleValues::of_words(&shown, &kinds))
        }
        _ => None,
    }
}
