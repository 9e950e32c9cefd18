//! Static analysis of a playbook: names that cannot exist, calls that cannot work, steps that cannot
//! run.
//!
//! The reader collects every template with its place ([`TemplateUses`]); the checks here run once the
//! whole playbook is known. An error is certain whatever values a start gives; a finding that a value
//! from outside could disprove is a warning.

mod comparisons;
mod flow;
mod known_names;
mod loops;
mod messages;
mod names;
mod notices;
mod outputs;
mod possible_values;
mod shapes;
mod uses;

pub(crate) use known_names::{ERROR_FIELDS, EVERYWHERE, KnownNames};
pub(crate) use outputs::tool_fields;
pub(crate) use shapes::fields_of;
pub(crate) use uses::{RenderMoment, RenderPlace, TemplateUses};

use std::collections::BTreeSet;

use serde_json::Value;

use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::inputs::{DeclaredInput, InputType};
use crate::playbook::Playbook;
use known_names::ORDERED_STEPS_MAX;

/// The part of the static analysis that a parser reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnalysisLevel {
    /// No analysis: for playbooks that were checked before.
    #[default]
    Off,
    /// All findings as warnings: the playbook is accepted.
    Warn,
    /// Findings that are certain are errors.
    Full,
}

/// Returns the paths to inputs whose values contain nothing but letters, digits and a few signs: numbers,
/// booleans, and texts of which the document lists all.
pub(crate) fn plain_inputs(playbook: &Playbook) -> BTreeSet<String> {
    let is_plain = |input: &DeclaredInput| match input.rule.kind {
        InputType::Integer | InputType::Number | InputType::Boolean => true,
        InputType::Text | InputType::Any => {
            !input.rule.choices.is_empty() && input.rule.choices.iter().all(is_plain_word)
        }
        InputType::List | InputType::Object => false,
    };
    let paths = KnownNames::of(playbook).input_paths();
    paths.into_iter().filter(|(_, input)| is_plain(input)).map(|(path, _)| path).collect()
}

fn is_plain_word(value: &Value) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-./:@%+=,".contains(it);
    match value {
        Value::Number(_) | Value::Bool(_) => true,
        Value::String(text) => text.chars().all(is_plain),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Adds the findings about the templates of a valid notification.
pub(crate) fn analyse_notices(uses: &TemplateUses, findings: &mut Findings) {
    let was_mild = findings.is_mild;
    findings.is_mild = was_mild || uses.level == AnalysisLevel::Warn;
    notices::check(uses, findings);
    findings.is_mild = was_mild;
    findings.suppress();
}

/// Adds the findings about the templates of a valid subscription.
pub(crate) fn analyse_messages(uses: &TemplateUses, findings: &mut Findings) {
    let was_mild = findings.is_mild;
    findings.is_mild = was_mild || uses.level == AnalysisLevel::Warn;
    messages::check(uses, findings);
    findings.is_mild = was_mild;
    findings.suppress();
}

/// Adds the findings about a valid playbook.
pub(crate) fn analyse(playbook: &Playbook, uses: &TemplateUses, findings: &mut Findings) {
    let was_mild = findings.is_mild;
    findings.is_mild = was_mild || uses.level == AnalysisLevel::Warn;
    uses.omission().into_iter().for_each(|finding| findings.add(finding));
    if playbook.steps.len() > ORDERED_STEPS_MAX {
        let span = uses.step_names.get(ORDERED_STEPS_MAX).cloned().unwrap_or_default();
        let message = format!(
            "the order of steps is not checked: a playbook is checked up to {ORDERED_STEPS_MAX} steps"
        );
        findings.add(Finding::warning(DiagnosticCode::Unchecked, &span, message));
    }
    names::check(playbook, uses, findings);
    notices::check(uses, findings);
    comparisons::check(playbook, uses, findings);
    flow::check(playbook, uses, findings);
    loops::check(playbook, uses, findings);
    findings.is_mild = was_mild;
    findings.suppress();
}
