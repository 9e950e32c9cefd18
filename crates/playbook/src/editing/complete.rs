//! Completions at a place of a document: keys and words of the language, and names of steps.

use std::ops::Range;

use serde::Serialize;

use super::outline::{Container, CursorPlace, Outline, Wanted, outline};
use super::shape::{EditedForm, OfferedKey, OutsideName, Shape, shape_at};
use crate::suggest::nearest;

/// Maximum number of completions.
const COMPLETIONS_MAX: usize = 100;

/// The completions at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completions {
    /// The part of the text that a completion replaces.
    pub replaced: Range<usize>,
    /// The completions that fit the text before the cursor, best first.
    pub items: Vec<SyntaxCompletion>,
    /// The kind of thing outside of the document that fits here too.
    pub outside: Option<OutsideName>,
}

impl Completions {
    /// Adds the names of things outside of the document that fit the text before the cursor.
    pub fn add_names(&mut self, typed: &str, names: impl IntoIterator<Item = String>) {
        let items = names.into_iter().map(|name| SyntaxCompletion {
            label: name.clone(),
            insert: name,
            kind: CompletionKind::Outside,
            about: None,
        });
        self.items.extend(items);
        fit(&mut self.items, typed);
        self.items.truncate(COMPLETIONS_MAX);
    }
}

/// A text that fits at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxCompletion {
    pub label: String,
    /// The text to insert.
    pub insert: String,
    pub kind: CompletionKind,
    pub about: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CompletionKind {
    Key,
    /// One of the words that a value may be.
    Value,
    /// The name of a step.
    Step,
    /// A name that a template can read.
    Variable,
    Filter,
    /// The name of something outside of the document: a credential, a playbook.
    Outside,
}

/// Returns the completions at a byte offset of a document; also of one with mistakes.
pub fn completions(text: &str, offset: usize) -> Completions {
    completions_in(EditedForm::Document, text, offset, text)
}

/// Returns the completions in a document of a form; the steps are those of the text of a playbook.
pub(super) fn completions_in(
    form: EditedForm,
    text: &str,
    offset: usize,
    playbook: &str,
) -> Completions {
    let offset = text.floor_char_boundary(offset);
    let (outline, place) = outline(text, offset);
    let shape = shape_at(form, &outline, &place.path);
    let mut items = match place.wanted {
        Wanted::Key => keys(&outline, &place, shape, playbook),
        Wanted::Value => values(shape, playbook),
        Wanted::Either => {
            let mut items = values(shape, playbook);
            items.extend(keys(&outline, &place, shape, playbook));
            items
        }
        Wanted::Nothing => Vec::new(),
    };
    let typed = &text[place.word.start..offset.max(place.word.start)];
    fit(&mut items, typed);
    items.truncate(COMPLETIONS_MAX);
    let outside = match place.wanted {
        Wanted::Value | Wanted::Either => shape.outside_name(),
        Wanted::Key | Wanted::Nothing => None,
    };
    Completions { replaced: place.word, items, outside }
}

fn keys(
    outline: &Outline,
    place: &CursorPlace,
    shape: Shape,
    playbook: &str,
) -> Vec<SyntaxCompletion> {
    let map = place.siblings.map(|id| &outline.containers[id]);
    if shape.has_steps_as_keys() {
        let mut names = step_names(playbook);
        names.retain(|name| !map.is_some_and(|map| has_other(map, name, place)));
        let completion = |name: String| SyntaxCompletion {
            insert: if place.is_key { name.clone() } else { format!("{name}: ") },
            label: name,
            kind: CompletionKind::Step,
            about: None,
        };
        return names.into_iter().map(completion).collect();
    }
    let is_taken = |key: &OfferedKey| map.is_some_and(|map| has_other(map, key.name, place));
    let mut offered = shape.keys(map);
    offered.retain(|key| !is_taken(key));
    // A stable sort: required keys first, each group in the order of its table.
    offered.sort_by_key(|key| !key.is_required);
    let completion = |key: OfferedKey| SyntaxCompletion {
        label: key.name.to_owned(),
        insert: match (place.is_key, key.opens) {
            (true, _) => key.name.to_owned(),
            (false, true) => format!("{}:", key.name),
            (false, false) => format!("{}: ", key.name),
        },
        kind: CompletionKind::Key,
        about: key.about,
    };
    offered.into_iter().map(completion).collect()
}

/// True if a map has a key elsewhere than under the cursor.
fn has_other(map: &Container, key: &str, place: &CursorPlace) -> bool {
    let others = map.entries.iter().filter(|entry| entry.span.start != place.word.start);
    others.into_iter().any(|entry| entry.key.as_deref() == Some(key))
}

fn values(shape: Shape, playbook: &str) -> Vec<SyntaxCompletion> {
    let of = |kind: CompletionKind| {
        move |word: String| SyntaxCompletion {
            label: word.clone(),
            insert: word,
            kind,
            about: None,
        }
    };
    if shape.is_step_name() {
        return step_names(playbook).into_iter().map(of(CompletionKind::Step)).collect();
    }
    let words = shape.words().into_iter().map(str::to_owned);
    words.map(of(CompletionKind::Value)).collect()
}

/// Returns the names of the steps of a playbook, in the order of its text.
fn step_names(playbook: &str) -> Vec<String> {
    let (outline, _) = outline(playbook, 0);
    let list = outline.containers.first().and_then(|root| root.child("workflow"));
    let items = list.map(|id| outline.containers[id].entries.as_slice()).unwrap_or_default();
    let steps = items.iter().filter_map(|item| outline.containers[item.child?].value("step"));
    steps.map(str::to_owned).collect()
}

/// Keeps the completions that begin with or contain the text, else the one that was probably meant.
pub(super) fn fit(items: &mut Vec<SyntaxCompletion>, typed: &str) {
    let typed = typed.trim().to_lowercase();
    if typed.is_empty() {
        return;
    }
    let meant = nearest(&typed, items.iter().map(|it| it.label.as_str())).map(str::to_owned);
    let rank = |item: &SyntaxCompletion| match item.label.to_lowercase() {
        label if label.starts_with(&typed) => 0,
        label if label.contains(&typed) => 1,
        _ if meant.as_deref() == Some(item.label.as_str()) => 2,
        _ => 3,
    };
    items.retain(|item| rank(item) < 3);
    items.sort_by_key(rank);
}
