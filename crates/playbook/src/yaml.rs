//! YAML as a tree in which every node knows its place in the text.
//!
//! Invariant: a tree with its aliases expanded is within the limits of `build`, so code that walks
//! it may recurse and copy. Aliases share their subtree, so a document that multiplies itself by
//! aliases is refused before it is expanded.

mod build;
mod scalar;

use std::ops::Range;
use std::rc::Rc;

use granit_parser::ScalarStyle;
use serde_json::{Map, Number, Value};

pub(crate) use build::{PLAYBOOK_BYTES_MAX, load};

use crate::source::SourceText;

/// A value and its byte range in the text.
#[derive(Debug, Clone)]
pub(crate) struct YamlNode {
    pub(crate) span: Range<usize>,
    pub(crate) yaml: Yaml,
    cost: SubtreeSize,
}

#[derive(Debug, Clone)]
pub(crate) enum Yaml {
    Null,
    Bool(bool),
    Number(Number),
    Text { text: String, style: ScalarStyle },
    List(Vec<Rc<YamlNode>>),
    Map(Vec<YamlEntry>),
}

/// A key of a map and its value. Keys of a map are unique.
#[derive(Debug, Clone)]
pub(crate) struct YamlEntry {
    pub(crate) key: YamlKey,
    pub(crate) value: Rc<YamlNode>,
}

#[derive(Debug, Clone)]
pub(crate) struct YamlKey {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
    /// True if written without quotes, as `<<` must be to merge.
    plain: bool,
}

impl YamlKey {
    /// Returns the key under another name, at the same place.
    pub(crate) fn renamed(&self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self.clone() }
    }
}

/// The size of a subtree with all its aliases expanded.
#[derive(Debug, Clone, Copy, Default)]
struct SubtreeSize {
    nodes: usize,
    bytes: usize,
    height: usize,
}

impl YamlNode {
    /// Returns a map built from parts of the document, to be read as if it were in the text.
    pub(crate) fn map(span: Range<usize>, entries: Vec<YamlEntry>) -> Self {
        Self { span, yaml: Yaml::Map(entries), cost: SubtreeSize::default() }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match &self.yaml {
            Yaml::Null => "nothing",
            Yaml::Bool(_) => "a boolean",
            Yaml::Number(_) => "a number",
            Yaml::Text { .. } => "text",
            Yaml::List(_) => "a list",
            Yaml::Map(_) => "a map",
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.yaml, Yaml::Null)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.yaml {
            Yaml::Text { text, .. } => Some(text),
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::List(_) | Yaml::Map(_) => None,
        }
    }

    /// True if the node is a text with a template.
    pub(crate) fn is_template(&self) -> bool {
        self.text().is_some_and(|text| text.contains("{{") || text.contains("{%"))
    }

    pub(crate) fn list(&self) -> Option<&[Rc<YamlNode>]> {
        match &self.yaml {
            Yaml::List(items) => Some(items),
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text { .. } | Yaml::Map(_) => None,
        }
    }

    pub(crate) fn entries(&self) -> Option<&[YamlEntry]> {
        match &self.yaml {
            Yaml::Map(entries) => Some(entries),
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text { .. } | Yaml::List(_) => {
                None
            }
        }
    }

    /// Returns the value of a key, if this node is a map that has the key.
    pub(crate) fn get(&self, key: &str) -> Option<&Rc<YamlNode>> {
        self.entries()?.iter().find(|entry| entry.key.text == key).map(|entry| &entry.value)
    }

    pub(crate) fn to_json(&self) -> Value {
        match &self.yaml {
            Yaml::Null => Value::Null,
            Yaml::Bool(truth) => Value::Bool(*truth),
            Yaml::Number(number) => Value::Number(number.clone()),
            Yaml::Text { text, .. } => Value::String(text.clone()),
            Yaml::List(items) => Value::Array(items.iter().map(|item| item.to_json()).collect()),
            Yaml::Map(entries) => Value::Object(to_object(entries)),
        }
    }

    /// Returns the place of a part of this scalar's text in the document; the whole scalar if
    /// escapes or folding make that impossible.
    pub(crate) fn locate(&self, part: Range<usize>, source: &SourceText) -> Range<usize> {
        let Yaml::Text { text, style } = &self.yaml else { return self.span.clone() };
        let written = &source.text[source.floor(self.span.start)..source.floor(self.span.end)];
        let start = match style {
            ScalarStyle::Plain => (written == text).then_some(self.span.start),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                let unquoted = written.get(1..written.len().saturating_sub(1));
                (unquoted == Some(text)).then_some(self.span.start + 1)
            }
            ScalarStyle::Literal => {
                if let Some(found) = self.locate_in_block(text, &part, source) {
                    return found;
                }
                None
            }
            ScalarStyle::Folded => None,
        };
        if let Some(start) = start {
            return start + part.start..start + part.end.max(part.start + 1);
        }
        let open = text.get(..part.start).and_then(|before| before.rfind('{')).unwrap_or(0);
        let found = text.get(open..part.end).and_then(|expression| written.find(expression));
        match found {
            Some(at) => {
                let start = self.span.start + at + (part.start - open);
                start..start + part.len().max(1)
            }
            None => self.span.clone(),
        }
    }

    /// Returns the place of each line of this scalar's text, without the white space around it. A text
    /// of more lines than can be searched for has the place of the whole scalar for each.
    pub(crate) fn line_places(&self, source: &SourceText) -> Vec<Range<usize>> {
        const SEARCHED_LINES_MAX: usize = 500;
        let Yaml::Text { text, style } = &self.yaml else { return Vec::new() };
        let lines: Vec<&str> = text.split('\n').collect();
        let header = source.line(self.span.start);
        let is_block = *style == ScalarStyle::Literal;
        let mut at = 0;
        let place = |(number, line): (usize, &&str)| {
            let trimmed = line.trim();
            let lead = line.len() - line.trim_start().len();
            let part = at + lead..at + lead + trimmed.len();
            at += line.len() + 1;
            // The block begins on the line of its header or on the next one.
            let written = [header, header + 1].into_iter().filter(|_| is_block).find_map(|first| {
                let range = source.line_range(first + number);
                let indent = source.text[range.clone()].strip_suffix(line)?.len();
                let start = range.start + indent + lead;
                (!trimmed.is_empty()).then(|| start..start + trimmed.len())
            });
            match written {
                Some(place) => place,
                None if lines.len() > SEARCHED_LINES_MAX || trimmed.is_empty() => self.span.clone(),
                None => self.locate(part, source),
            }
        };
        lines.iter().enumerate().map(place).collect()
    }

    /// Locates a part of a literal block, whose lines all have the same indentation.
    fn locate_in_block(
        &self,
        text: &str,
        part: &Range<usize>,
        source: &SourceText,
    ) -> Option<Range<usize>> {
        let before = text.get(..part.start).unwrap_or("");
        let number = before.matches('\n').count();
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        let line = text.split('\n').nth(number).filter(|line| !line.is_empty())?;
        let header = source.line(self.span.start);
        [header, header + 1].into_iter().map(|first| source.line_range(first + number)).find_map(
            |range| {
                let indent = source.text[range.clone()].strip_suffix(line)?.len();
                let start = range.start + indent + column;
                let len = part.len().clamp(1, range.end.saturating_sub(start).max(1));
                Some(start..start + len)
            },
        )
    }
}

pub(crate) fn to_object(entries: &[YamlEntry]) -> Map<String, Value> {
    entries.iter().map(|entry| (entry.key.text.clone(), entry.value.to_json())).collect()
}
