//! Finds steps that are never entered, and loops that have nothing to loop over.

use std::ops::Range;
use std::sync::Arc;

use noetl_expr::{Condition, VariableSource};
use serde_json::Value;

use super::TemplateUses;
use super::known_names::KnownNames;
use super::shapes::{PathEnd, ShapeOrigin, end_of, path_in};
use super::uses::{RenderMoment, RenderPlace};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::inputs::InputType;
use crate::playbook::{Playbook, RouterMode, Step, StepIndex};
use crate::yaml::{Yaml, YamlNode};

/// Adds the findings about steps and loops.
pub(super) fn check(playbook: &Playbook, uses: &TemplateUses, findings: &mut Findings) {
    never_entered(playbook, &uses.step_names, findings);
    let known = KnownNames::of(playbook);
    for (step, items) in &uses.loops {
        let place = RenderPlace { step: Some(*step), task: None, moment: RenderMoment::StepEntry };
        if let Some(finding) = loop_fault(items, &known, place) {
            findings.add(finding);
        }
    }
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

/// Returns the finding about items that a loop cannot use.
fn loop_fault(items: &YamlNode, known: &KnownNames<'_>, place: RenderPlace) -> Option<Finding> {
    let code = DiagnosticCode::BadLoop;
    let step = known.step_at(place)?.name.as_str();
    match &items.yaml {
        Yaml::Number(number) => {
            let is_count = number.as_u64().is_some()
                || number.as_f64().is_some_and(|it| it >= 0.0 && it.fract() == 0.0);
            let message = format!("a loop cannot count to {number}");
            let finding = Finding::error(code, &items.span, message);
            (!is_count).then(|| finding.help("write a whole number of at least 0, or a list"))
        }
        Yaml::List(list) if list.is_empty() => {
            let message = format!("the loop of step `{step}` has no items");
            Some(Finding::warning(code, &items.span, message))
        }
        Yaml::Text { text, .. } => {
            let path = path_in(text)?;
            let segments: Vec<&str> = path.split('.').collect();
            if let Some(PathEnd::Rule(rule, origin)) = end_of(known, &segments, place) {
                let message = format!("`{path}` is declared as boolean, which a loop cannot use");
                let finding = match origin {
                    ShapeOrigin::Input => Finding::error,
                    ShapeOrigin::Output => Finding::warning,
                };
                let is_truth = rule.kind == InputType::Boolean;
                return is_truth.then(|| finding(code, &items.span, message));
            }
            let name = path.strip_prefix("workload.")?;
            let is_truth = known.playbook.workload.get(name).is_some_and(Value::is_boolean);
            let message = format!("`workload.{name}` is a boolean, which a loop cannot use");
            is_truth.then(|| Finding::warning(code, &items.span, message))
        }
        Yaml::Null | Yaml::Bool(_) | Yaml::List(_) | Yaml::Map(_) => None,
    }
}
