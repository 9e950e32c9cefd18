//! Completions inside of a template: variables that exist at its place, their fields, and filters.

use std::ops::Range;

use serde_json::Value;

use super::complete::{CompletionKind, Completions, SyntaxCompletion, fit};
use super::outline::outline;
use super::written_names::WrittenNames;
use crate::analysis::{ERROR_FIELDS, KnownNames, RenderPlace, fields_of};
use crate::parse::{PlaybookTemplates, document_value, unfinished_templates};
use crate::read::SecretFields;
use crate::words::filters::FILTERS;

/// A name that no playbook has. It stands for the template that is being written, which rarely parses.
const PLACEHOLDER: &str = "__noetl_cursor";
/// The longest template that is completed, in bytes.
const TEMPLATE_BYTES_MAX: usize = 4096;

/// The part of a template before the cursor.
#[derive(Debug, PartialEq, Eq)]
enum Typed<'a> {
    /// The beginning of a filter's name.
    Filter(&'a str),
    /// A name with its attributes, of which the last one is being written.
    Path(Vec<&'a str>),
}

/// Returns the completions at a byte offset inside of a template; `None` outside of templates.
pub fn template_completions(text: &str, offset: usize) -> Option<Completions> {
    let offset = text.floor_char_boundary(offset);
    let template = template_at(text, offset)?;
    let (typed, word) = match typed(&text[template.start..offset]) {
        Typed::Filter(word) => (Typed::Filter(word), word),
        Typed::Path(path) => {
            let word = path.last().copied().unwrap_or_default();
            (Typed::Path(path), word)
        }
    };
    let mut names: Vec<SyntaxCompletion> = match &typed {
        Typed::Filter(_) => FILTERS
            .iter()
            .map(|(name, about)| SyntaxCompletion {
                about: Some(*about),
                ..completion(name, CompletionKind::Filter)
            })
            .collect(),
        Typed::Path(path) => variables(text, &template, path)
            .iter()
            .map(|name| completion(name, CompletionKind::Variable))
            .collect(),
    };
    names.sort_by(|one, other| one.label.cmp(&other.label));
    names.dedup();
    fit(&mut names, word);
    Some(Completions { replaced: offset - word.len()..offset, items: names, outside: None })
}

fn completion(name: &str, kind: CompletionKind) -> SyntaxCompletion {
    SyntaxCompletion { label: name.to_owned(), insert: name.to_owned(), kind, about: None }
}

/// Returns the range between the marks of the template around an offset, up to the end of its line if
/// it is not closed.
fn template_at(text: &str, offset: usize) -> Option<Range<usize>> {
    let first = text.floor_char_boundary(offset.saturating_sub(TEMPLATE_BYTES_MAX));
    let before = &text[first..offset];
    let open = before.rfind("{{").max(before.rfind("{%"))?;
    let inside = &before[open + 2..];
    if inside.contains("}}") || inside.contains("%}") {
        return None;
    }
    let rest = &text[offset..];
    let line = rest.find('\n').unwrap_or(rest.len());
    let close = rest[..line].find("}}").or(rest[..line].find("%}")).unwrap_or(line);
    // Another template may begin before the closing mark of this one.
    let close = rest[..close].find("{{").unwrap_or(close);
    Some(first + open + 2..offset + close)
}

fn typed(before: &str) -> Typed<'_> {
    let is_name = |it: char| it.is_alphanumeric() || it == '_';
    let start = before.rfind(|it: char| !is_name(it) && it != '.');
    let start = start.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let word = &before[start..];
    if before[..start].trim_end().ends_with('|') {
        return Typed::Filter(word);
    }
    Typed::Path(word.split('.').collect())
}

/// A path that a template reads, up to the segment at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplatePath {
    /// The place of the path.
    pub span: Range<usize>,
    /// The path, with dots between its segments.
    pub path: String,
    /// The step whose template reads it.
    pub step: Option<String>,
    /// The path of the document's playbook.
    pub playbook: Option<String>,
}

/// Returns the path that a template reads at a byte offset; `None` if there is none.
pub fn template_path(text: &str, offset: usize) -> Option<TemplatePath> {
    let offset = text.floor_char_boundary(offset);
    let template = template_at(text, offset)?;
    let is_name = |it: char| it.is_alphanumeric() || it == '_';
    let before = &text[template.start..offset];
    let start = before.trim_end_matches(|it| is_name(it) || it == '.').len() + template.start;
    let after = &text[offset..template.end];
    let end = template.end - after.trim_start_matches(is_name).len();
    let path = text[start..end].trim_end_matches('.');
    let begins = path.chars().next()?;
    let is_text = before.matches(['\'', '"']).count() % 2 == 1;
    let is_filter = text[template.start..start].trim_end().ends_with('|');
    if is_text || is_filter || begins.is_ascii_digit() || begins == '.' {
        return None;
    }
    let (outline, place) = outline(text, offset);
    let mut parts = place.path.iter().map(|part| &outline.containers[part.container]);
    let step = parts.find_map(|part| part.value("step")).map(str::to_owned);
    let metadata = outline.containers.first().and_then(|root| root.child("metadata"));
    let metadata = metadata.map(|id| &outline.containers[id]);
    let playbook = metadata.and_then(|it| it.value("path").or_else(|| it.value("name")));
    let playbook = playbook.map(str::to_owned);
    Some(TemplatePath { span: start..start + path.len(), path: path.to_owned(), step, playbook })
}

/// Returns the word at a byte offset inside of a template, and true if it is the name of a filter;
/// `None` for a part of a path after its first name.
pub(super) fn template_word(text: &str, offset: usize) -> Option<(Range<usize>, bool)> {
    let offset = text.floor_char_boundary(offset);
    let template = template_at(text, offset)?;
    let is_name = |it: char| it.is_alphanumeric() || it == '_';
    let before = text[template.start..offset].trim_end_matches(is_name);
    let start = template.start + before.len();
    let after = &text[offset..template.end];
    let end = template.end - after.trim_start_matches(is_name).len();
    let is_text = before.matches(['\'', '"']).count() % 2 == 1;
    if start == end || is_text || before.ends_with('.') {
        return None;
    }
    let is_filter = before.trim_end().ends_with('|') && !before.trim_end().ends_with("||");
    Some((start..end, is_filter))
}

/// Returns the names of the secrets that a text declares.
fn secret_names(text: &str) -> Vec<String> {
    let (outline, _) = outline(text, 0);
    let list = outline.containers.first().and_then(|root| root.child("keychain"));
    let items = list.map(|id| outline.containers[id].entries.as_slice()).unwrap_or_default();
    let names = items.iter().filter_map(|item| outline.containers[item.child?].value("name"));
    names.map(str::to_owned).collect()
}

/// Returns the fields of a secret that a text declares; none if they are not known before the run.
fn secret_fields(text: &str, secret: &str) -> Vec<String> {
    let document = document_value(text.as_bytes()).unwrap_or_default();
    let declared = document.get("keychain").and_then(Value::as_array);
    SecretFields::of(declared.map(Vec::as_slice).unwrap_or_default()).of_secret(secret)
}

/// Returns the names that may follow a path: those of its place, or those of the whole text while the
/// place cannot be known.
fn variables(text: &str, template: &Range<usize>, path: &[&str]) -> Vec<String> {
    let mut whole = text.to_owned();
    let is_closed =
        text[template.end..].starts_with("}}") || text[template.end..].starts_with("%}");
    let marks = template.start - 2..template.end + if is_closed { 2 } else { 0 };
    whole.replace_range(marks, &format!("{{{{ {PLACEHOLDER} }}}}"));
    match path {
        ["keychain", _] => return secret_names(text),
        ["keychain", secret, _] => return secret_fields(text, secret),
        ["event", _] => return vec!["name".to_owned()],
        ["error", _] | [.., "error", _] => {
            return ERROR_FIELDS.iter().map(|field| (*field).to_owned()).collect();
        }
        [..] => {}
    }
    let found = unfinished_templates(&whole).and_then(|it| Some((place_of(&it)?, it)));
    let Some((place, document)) = found else { return WrittenNames::of(text).after(path) };
    let known = KnownNames::of(&document.playbook);
    let names = match path {
        [_] => known.candidates(place),
        ["workload", _] => known.workload_names(),
        ["ctx" | "vars", _] => known.context_names(),
        ["steps", _] => document.playbook.steps.iter().map(|step| step.name.as_str()).collect(),
        ["iter", _] => known.item_names(place),
        [parents @ .., _] => fields_of(&known, parents, place),
        [] => Vec::new(),
    };
    names.into_iter().map(str::to_owned).collect()
}

/// Returns the place of the placeholder.
fn place_of(document: &PlaybookTemplates) -> Option<RenderPlace> {
    let is_cursor = |path: &[String]| path.first().is_some_and(|name| name == PLACEHOLDER);
    let mut templates = document.uses.list.iter();
    let here = templates.find(|it| it.facts.names.iter().any(|it| is_cursor(&it.path)));
    here.map(|it| it.place)
}
