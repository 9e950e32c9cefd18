//! The explanation of the word at a place of a document: a key, a tool or a step.

use std::ops::Range;

use noetl_model::ToolKind;

use super::outline::{CursorPlace, Outline, Wanted, outline};
use super::shape::{EditedForm, Shape, shape_at};
use super::step_mentions::step_mentions;
use super::template::template_word;
use crate::parse::parse;
use crate::words::filters::{FILTERS, VARIABLES, about};
use crate::words::tool_pages::about_setting;
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
    of_template(text, offset).or_else(|| hover_in(EditedForm::Document, text, offset))
}

/// Explains the filter or the built-in variable at a place in a template.
fn of_template(text: &str, offset: usize) -> Option<HoverText> {
    let (span, is_filter) = template_word(text, offset)?;
    let word = &text[span.clone()];
    let (what, list) = if is_filter { ("filter ", FILTERS) } else { ("", VARIABLES) };
    let about = about(list, word)?;
    Some(HoverText { text: format!("**{what}`{word}`**\n\n{about}"), span })
}

/// Explains the key or the tool at a place in a document of a form.
pub(super) fn hover_in(form: EditedForm, text: &str, offset: usize) -> Option<HoverText> {
    let offset = text.floor_char_boundary(offset);
    let (outline, place) = outline(text, offset);
    let shape = shape_at(form, &outline, &place.path);
    let explained = match place.wanted {
        Wanted::Key => of_key(text, &outline, &place, shape),
        Wanted::Value => of_value(text, &place, shape),
        Wanted::Either => {
            of_key(text, &outline, &place, shape).or_else(|| of_value(text, &place, shape))
        }
        Wanted::Nothing => None,
    };
    Some(HoverText { span: place.word, text: explained? })
}

fn of_step(text: &str, offset: usize) -> Option<HoverText> {
    let mentions = step_mentions(text);
    let here = mentions.iter().find(|it| it.span.start <= offset && offset <= it.span.end)?;
    Some(HoverText { span: here.span.clone(), text: step_text(text, &here.name)? })
}

/// Explains a step of a playbook; `None` if the playbook is not valid.
pub(super) fn step_text(playbook: &str, name: &str) -> Option<String> {
    let parsed = parse("document", playbook.as_bytes()).ok()?;
    let playbook = &parsed.playbook;
    let step = playbook.step(playbook.index_of(name)?);
    let mut tools: Vec<&str> = step.tasks.iter().map(|task| task.tool.as_str()).collect();
    tools.dedup();
    let mut lines = vec![format!("**step `{name}`**")];
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
    Some(lines.join("\n\n"))
}

fn of_key(text: &str, outline: &Outline, place: &CursorPlace, shape: Shape) -> Option<String> {
    let word = &text[place.word.clone()];
    let map = place.siblings.map(|id| &outline.containers[id]);
    let key = shape.keys(map).into_iter().find(|key| key.name == word)?;
    let needed = if key.is_required { " (required)" } else { "" };
    let kind = map.and_then(|map| map.value("kind")).and_then(|kind| kind.parse().ok());
    let of_tool = || about_setting(kind.filter(|_| shape.is_tool())?, word);
    let about = of_tool().or(key.about);
    let about = about.map(|about| format!("\n\n{about}")).unwrap_or_default();
    Some(format!("**`{word}`**{needed}{about}"))
}

/// Explains the kind of a tool by its settings.
fn of_value(text: &str, place: &CursorPlace, shape: Shape) -> Option<String> {
    let word = &text[place.word.clone()];
    if !shape.words().contains(&word) {
        return None;
    }
    let kind: ToolKind = word.parse().ok()?;
    let settings = settings_of(kind)?;
    let names: Vec<String> = settings.all().map(|key| format!("`{}`", key.name)).collect();
    Some(format!("**tool `{word}`**\n\nkeys: {}", names.join(", ")))
}
