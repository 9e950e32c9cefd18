//! The places of a document that name a step: its definition, arcs, and templates that read its output.
//!
//! Definitions and arcs are found in any text; templates only in a valid playbook, because only there
//! is it known that a name in a template means a step.

use std::ops::Range;

use super::outline::{Outline, outline};
use super::shape::{EditedForm, Shape, shape_at};
use crate::analysis::{KnownNames, RenderPlace};
use crate::parse::{PlaybookTemplates, playbook_templates};

/// A place that names a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepMention {
    pub name: String,
    /// The place of the name, without quotes.
    pub span: Range<usize>,
    pub role: StepRole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepRole {
    Definition,
    /// An arc, or a setting that names a step.
    Arc,
    Template,
}

/// Returns all places of a document that name a step, in the order of the text.
pub fn step_mentions(text: &str) -> Vec<StepMention> {
    let (outline, _) = outline(text, 0);
    let mut found = Vec::new();
    if !outline.containers.is_empty() {
        walk(&outline, 0, shape_at(EditedForm::Document, &outline, &[]), &mut found);
    }
    definitions(&outline, &mut found);
    if let Some(playbook) = playbook_templates(text) {
        of_templates(&playbook, &mut found);
    }
    found.sort_by_key(|mention| mention.span.start);
    found.dedup_by_key(|mention| mention.span.clone());
    found
}

/// Adds the arcs below a map or list of a shape.
pub(super) fn walk(outline: &Outline, id: usize, shape: Shape, found: &mut Vec<StepMention>) {
    let container = &outline.containers[id];
    for entry in &container.entries {
        let below = shape.below(entry.key.as_deref(), container);
        match (entry.child, &entry.value, &entry.value_span) {
            (Some(child), _, _) => walk(outline, child, below, found),
            (None, Some(name), Some(span)) if below.is_step_name() && !name.is_empty() => {
                let (name, span) = (name.clone(), span.clone());
                found.push(StepMention { name, span, role: StepRole::Arc });
            }
            (None, _, _) => {}
        }
    }
}

/// Adds the names of the steps of a workflow.
fn definitions(outline: &Outline, found: &mut Vec<StepMention>) {
    let list = outline.containers.first().and_then(|root| root.child("workflow"));
    let items = list.map(|id| outline.containers[id].entries.as_slice()).unwrap_or_default();
    let steps = items.iter().filter_map(|item| {
        let step = &outline.containers[item.child?];
        let entry = step.entries.iter().find(|entry| entry.key.as_deref() == Some("step"))?;
        Some((entry.value.clone()?, entry.value_span.clone()?))
    });
    found.extend(steps.map(|(name, span)| StepMention { name, span, role: StepRole::Definition }));
}

fn of_templates(document: &PlaybookTemplates, found: &mut Vec<StepMention>) {
    let PlaybookTemplates { playbook, uses, source } = document;
    let known = KnownNames::of(playbook);
    let is_step = |name: &str, place: RenderPlace| {
        playbook.index_of(name).is_some() && !is_variable(&known, name, place)
    };
    for used in &uses.list {
        for read in &used.facts.names {
            let segment = match read.path.as_slice() {
                [root, step, ..] if root == "steps" && playbook.index_of(step).is_some() => 1,
                [root, ..] if is_step(root, used.place) => 0,
                [..] => continue,
            };
            let name = &read.path[segment];
            let Some(end) = read.ends.get(segment).copied() else { continue };
            let span = used.span(end.saturating_sub(name.len())..end, source);
            // A part of folded text has no place of its own.
            if source.text.get(span.clone()) == Some(name) {
                let name = name.clone();
                found.push(StepMention { name, span, role: StepRole::Template });
            }
        }
    }
}

/// True if a variable of the same name hides the output of a step.
fn is_variable(known: &KnownNames<'_>, name: &str, place: RenderPlace) -> bool {
    known.in_context(name) || place.step.is_some_and(|step| known.in_item(step, name))
}
