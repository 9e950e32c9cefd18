//! Finds steps that are never entered.

use std::ops::Range;
use std::sync::Arc;

use noetl_expr::{Condition, VariableSource};
use serde_json::Value;

use super::TemplateUses;
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::playbook::{Playbook, RouterMode, Step, StepIndex};

/// Adds the findings about steps.
pub(super) fn check(playbook: &Playbook, uses: &TemplateUses, findings: &mut Findings) {
    never_entered(playbook, &uses.step_names, findings);
}

/// A scope without variables.
struct NoVariables;

impl VariableSource for NoVariables {
    fn get(&self, _name: &str) -> Option<Arc<Value>> {
        None
    }
}

/// True if a guard is false whatever the values of variables are.
fn is_never(guard: &Condition) -> bool {
    guard.variables().is_empty() && matches!(guard.holds(&NoVariables), Ok(false))
}

/// Returns the steps that the arcs of a step can lead to.
fn possible_targets(step: &Step) -> Vec<StepIndex> {
    let mut targets = Vec::new();
    for arc in &step.next.arcs {
        match &arc.when {
            Some(guard) if is_never(guard) => {}
            Some(_) => targets.push(arc.to),
            None => {
                targets.push(arc.to);
                if step.next.mode == RouterMode::Exclusive {
                    // An arc after this one is taken only if the step has failed.
                    let handlers = step.next.arcs.iter().filter(|arc| arc.tests_failure);
                    targets.extend(handlers.map(|arc| arc.to));
                    break;
                }
            }
        }
    }
    targets
}

fn reached(playbook: &Playbook, next: impl Fn(&Step) -> Vec<StepIndex>) -> Vec<bool> {
    let mut reached = vec![false; playbook.steps.len()];
    let mut waiting = vec![playbook.entry];
    waiting.extend(playbook.final_step);
    while let Some(StepIndex(index)) = waiting.pop() {
        if !std::mem::replace(&mut reached[index], true) {
            waiting.extend(next(&playbook.steps[index]));
        }
    }
    reached
}

/// Warns about steps to which arcs lead of which none can be taken.
fn never_entered(playbook: &Playbook, names: &[Range<usize>], findings: &mut Findings) {
    let by_arcs = reached(playbook, |step| step.next.arcs.iter().map(|arc| arc.to).collect());
    let possible = reached(playbook, possible_targets);
    for (index, step) in playbook.steps.iter().enumerate() {
        if !by_arcs[index] || possible[index] {
            continue;
        }
        let what = if playbook.graph.is_join(StepIndex(index)) { "join" } else { "step" };
        let message = format!("{what} `{}` is never entered: no arc to it can be taken", step.name);
        if let Some(span) = names.get(index) {
            findings.add(Finding::warning(DiagnosticCode::NeverEntered, span, message));
        }
    }
}
