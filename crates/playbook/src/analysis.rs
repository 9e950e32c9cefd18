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

use crate::diagnostic::{DiagnosticCode, Finding, Findings};
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

/// Adds the findings about the templates of a valid notification.
pub(crate) fn analyse_notices(uses: &TemplateUses, findings: &mut Findings) {
    let was_mild = findings.is_mild;
    findings.is_mild = was_mild || uses.level == AnalysisLevel::Warn;
    notices::check(uses, findings);
    findings.is_mild = was_mild;
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
}
