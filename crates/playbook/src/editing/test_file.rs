//! Help for test files: their keys, the names of the tested steps, and the places that name a step.

use super::complete::{Completions, completions_in};
use super::hover::{HoverText, hover_in, step_text};
use super::outline::outline;
use super::shape::{EditedForm, Shape, shape_at};
use super::step_mentions::{StepMention, StepRole, walk};

/// Returns the completions at a byte offset of a test file; `playbook` is the text of the playbook that
/// it tests.
pub fn test_completions(text: &str, offset: usize, playbook: Option<&str>) -> Completions {
    completions_in(EditedForm::Test, text, offset, playbook.unwrap_or_default())
}

/// Returns the explanation of the word at a byte offset of a test file: a key, or a step of the
/// playbook.
pub fn test_hover(text: &str, offset: usize, playbook: Option<&str>) -> Option<HoverText> {
    let mentions = test_step_mentions(text);
    let here = mentions.iter().find(|it| it.span.start <= offset && offset <= it.span.end);
    if let Some(StepMention { name, span, .. }) = here {
        let text = step_text(playbook?, name)?;
        return Some(HoverText { span: span.clone(), text });
    }
    hover_in(EditedForm::Test, text, offset)
}

/// Returns all places of a test file that name a step of the playbook, in the order of the text.
pub fn test_step_mentions(text: &str) -> Vec<StepMention> {
    let (outline, _) = outline(text, 0);
    let mut found = Vec::new();
    if outline.containers.is_empty() {
        return found;
    }
    let root = shape_at(EditedForm::Test, &outline, &[]);
    walk(&outline, 0, root, &mut found);
    steps_as_keys(&outline, 0, root, &mut found);
    found.sort_by_key(|mention| mention.span.start);
    found
}

/// Adds the steps that are keys: those of mocks and of expected outputs.
fn steps_as_keys(
    outline: &super::outline::Outline,
    id: usize,
    shape: Shape,
    found: &mut Vec<StepMention>,
) {
    let container = &outline.containers[id];
    for entry in &container.entries {
        if let (Some(name), true) = (&entry.key, shape.has_steps_as_keys()) {
            let (name, span) = (name.clone(), entry.span.clone());
            found.push(StepMention { name, span, role: StepRole::Arc });
        }
        // Mocks of children name the steps of other playbooks.
        let is_of_child = matches!(shape, Shape::MocksByPath);
        if let Some(child) = entry.child.filter(|_| !is_of_child) {
            steps_as_keys(outline, child, shape.below(entry.key.as_deref(), container), found);
        }
    }
}
