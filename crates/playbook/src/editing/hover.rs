//! The explanation of the word at a place of a document: a key, a tool or a step.

use std::ops::Range;

use noetl_model::ToolKind;

use super::outline::{CursorPlace, Outline, Wanted, outline};
use super::shape::shape_at;
use super::step_mentions::step_mentions;
use crate::parse::parse;
use crate::words::tools::settings_of;

/// An explanation, as Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoverText {
    /// The word that is explained.
    pub span: Range<usize>,
    pub text: String,
}

/// Returns the explanation of the word at a byte offset of a document; also of one with mistakes.
pub fn hover(text: &str, offset: usize) -> Option<HoverText> {
    let offset = text.floor_char_boundary(offset);
    if let Some(step) = of_step(text, offset) {
        return Some(step);
    }
    let (outline, place) = outline(text, offset);
    let explained = match place.wanted {
        Wanted::Key => of_key(text, &outline, &place),
        Wanted::Value => of_value(text, &outline, &place),
        Wanted::Either => {
            of_key(text, &outline, &place).or_else(|| of_value(text, &outline, &place))
        }
        Wanted::Nothing => None,
    };
    Some(HoverText { span: place.word, text: explained? })
}

fn of_step(text: &str, offset: usize) -> Option<HoverText> {
    let mentions = step_mentions(text);
    let here = mentions.iter().find(|it| it.span.start <= offset && offset <= it.span.end)?;
    let parsed = parse("document", text.as_bytes()).ok()?;
    let playbook = &parsed.playbook;
    let step = playbook.step(playbook.index_of(&here.name)?);
    let mut tools: Vec<&str> = step.tasks.iter().map(|task| task.tool.as_str()).collect();
    tools.dedup();
    let mut lines = vec![format!("**step `{}`**", here.name)];
    if let Some(about) = &step.description {
        lines.push(about.clone());
    }
    if !tools.is_empty() {
        lines.push(format!("runs {}", tools.join(", ")));
    }
    let next: Vec<String> = step
        .next
        .arcs
        .iter()
        .map(|arc| format!("`{}`", playbook.step(arc.to).name.as_str()))
        .collect();
    if !next.is_empty() {
        lines.push(format!("leads to {}", next.join(", ")));
    }
    Some(HoverText { span: here.span.clone(), text: lines.join("\n\n") })
}

fn of_key(text: &str, outline: &Outline, place: &CursorPlace) -> Option<String> {
    let word = &text[place.word.clone()];
    let map = place.siblings.map(|id| &outline.containers[id]);
    let keys = shape_at(outline, &place.path).keys(map);
    let key = keys.into_iter().find(|key| key.name == word)?;
    let needed = if key.is_required { " (required)" } else { "" };
    let about = key.about.map(|about| format!("\n\n{about}")).unwrap_or_default();
    Some(format!("**`{word}`**{needed}{about}"))
}

/// Explains the kind of a tool by its settings.
fn of_value(text: &str, outline: &Outline, place: &CursorPlace) -> Option<String> {
    let word = &text[place.word.clone()];
    if !shape_at(outline, &place.path).words().contains(&word) {
        return None;
    }
    let kind: ToolKind = word.parse().ok()?;
    let settings = settings_of(kind)?;
    let names: Vec<String> = settings.all().map(|key| format!("`{}`", key.name)).collect();
    Some(format!("**tool `{word}`**\n\nkeys: {}", names.join(", ")))
}
