//! The formatter of documents: indentation by two spaces, one space after `-` and `:`, no trailing
//! spaces, at most one blank line in a row, one line break at the end.
//!
//! Invariant: a formatted document has the same values and the same comments in the same order, which
//! is checked by parsing the result; otherwise nothing is returned. Texts of several lines and flow
//! collections keep their form.

mod outline;

use std::collections::BTreeMap;

use outline::{LineOutline, LinePlace};

use crate::diagnostic::{Findings, Problems};
use crate::parse::document_value;
use crate::source::SourceText;
use crate::yaml::load;

/// The reason why a document was not formatted.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error("the document is not YAML")]
    NotYaml(Box<Problems>),
    #[error("formatting would change the meaning of the document, so it is left as it is")]
    WouldChange,
}

/// Returns the formatted text of a document.
pub fn format_document(name: &str, text: &str) -> Result<String, FormatError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text).replace("\r\n", "\n");
    let mut findings = Findings::new(SourceText::new(name, text.clone()));
    if load(&mut findings).is_none() || findings.has_errors() {
        return Err(FormatError::NotYaml(Box::new(findings.finish())));
    }
    let Some(outline) = LineOutline::of(&text) else { return Err(FormatError::WouldChange) };
    let candidates = [laid_out(&text, &outline), tidied(&text, &outline)];
    let same = |candidate: &String| {
        document_value(candidate.as_bytes()) == document_value(text.as_bytes())
            && LineOutline::of(candidate).is_some_and(|it| it.comments == outline.comments)
    };
    let is_stable = |candidate: &String| {
        let again = LineOutline::of(candidate).map(|outline| laid_out(candidate, &outline));
        again.as_ref() == Some(candidate)
    };
    let [laid_out, tidied] = candidates;
    if !outline.is_unusual && same(&laid_out) && is_stable(&laid_out) {
        return Ok(laid_out);
    }
    if same(&tidied) { Ok(tidied) } else { Err(FormatError::WouldChange) }
}

/// True if a document has a form that is not indented by the formatter.
#[cfg(test)]
pub(crate) fn is_only_tidied(text: &str) -> bool {
    LineOutline::of(text).is_none_or(|it| it.is_unusual || laid_out(text, &it) != text)
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    /// A key or a list item begins here.
    Structure(LinePlace),
    Comment,
    Blank,
    /// The rest of a text or of a flow collection.
    Continuation,
}

fn kinds(text: &str, outline: &LineOutline) -> Vec<LineKind> {
    let lines = text.split('\n').enumerate();
    lines
        .map(|(index, line)| match outline.places.get(&index) {
            Some(place) => LineKind::Structure(*place),
            None if outline.comment_lines.contains(&index) => LineKind::Comment,
            None if line.trim().is_empty() => LineKind::Blank,
            None => LineKind::Continuation,
        })
        .collect()
}

/// Returns the text with its structure indented.
fn laid_out(text: &str, outline: &LineOutline) -> String {
    let kinds = kinds(text, outline);
    let mut lines: Vec<String> = Vec::new();
    let mut shift = 0_isize;
    for (index, line) in text.split('\n').enumerate() {
        lines.push(match kinds[index] {
            LineKind::Structure(place) => {
                shift = place.shift();
                structure(line, place)
            }
            LineKind::Comment => " ".repeat(comment_indent(index, text, &kinds)) + line.trim(),
            LineKind::Blank => String::new(),
            LineKind::Continuation => moved(line, shift),
        });
    }
    joined(&lines, &kinds)
}

/// Returns the text with trailing spaces and superfluous blank lines removed, but not indented.
fn tidied(text: &str, outline: &LineOutline) -> String {
    let kinds = kinds(text, outline);
    let line = |(index, line): (usize, &str)| match kinds[index] {
        LineKind::Structure(_) | LineKind::Comment => line.trim_end().to_owned(),
        LineKind::Blank => String::new(),
        LineKind::Continuation => line.to_owned(),
    };
    let lines: Vec<String> = text.split('\n').enumerate().map(line).collect();
    joined(&lines, &kinds)
}

/// Writes the beginning of an entry: indentation, dash, key, value.
fn structure(line: &str, place: LinePlace) -> String {
    let mut rest = line.trim();
    let mut written = " ".repeat(place.indent);
    if place.has_dash {
        rest = rest[1..].trim_start();
        written.push('-');
        if rest.is_empty() {
            return written;
        }
        written.push(' ');
    }
    match place.key_length {
        Some(length) => {
            let (key, value) = rest.split_at(length.min(rest.len()));
            let value = value.trim_start();
            written.push_str(key);
            match value.strip_prefix(':') {
                Some(value) if !value.trim().is_empty() => {
                    written.push_str(": ");
                    written.push_str(value.trim_start());
                }
                Some(_) => written.push(':'),
                None => written.push_str(&rest[length.min(rest.len())..]),
            }
        }
        None => written.push_str(rest),
    }
    written
}

/// Moves a line that belongs to an entry as far as its entry has moved.
fn moved(line: &str, shift: isize) -> String {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    " ".repeat(indent.saturating_add_signed(shift)) + text
}

/// Returns the indentation of a comment: that of the entry it stands before, or of an earlier entry
/// with which it was aligned.
fn comment_indent(index: usize, text: &str, kinds: &[LineKind]) -> usize {
    let line = text.split('\n').nth(index).unwrap_or_default();
    let old = line.len() - line.trim_start().len();
    let place = |at: usize| match kinds[at] {
        LineKind::Structure(place) => Some(place),
        LineKind::Comment | LineKind::Blank | LineKind::Continuation => None,
    };
    let next = (index + 1..kinds.len()).find_map(place);
    if let Some(next) = next.filter(|next| next.old_indent == old) {
        return next.indent;
    }
    let before = (0..index).rev().filter_map(place);
    let level = before.clone().find(|it| it.old_indent == old || it.old_key_indent() == old);
    match (level, next) {
        (Some(level), _) if level.old_indent == old => level.indent,
        (Some(level), _) => level.key_indent(),
        (None, Some(next)) => next.indent,
        (None, None) => old,
    }
}

/// Joins lines with at most one blank line in a row, except within texts.
fn joined(lines: &[String], kinds: &[LineKind]) -> String {
    let mut kept: BTreeMap<usize, &str> = BTreeMap::new();
    for (index, line) in lines.iter().enumerate() {
        let next = kinds[index..].iter().find(|kind| **kind != LineKind::Blank);
        let is_within = next == Some(&LineKind::Continuation);
        let is_repeated = index == 0 || kinds[index - 1] == LineKind::Blank;
        if kinds[index] == LineKind::Blank && is_repeated && !is_within {
            continue;
        }
        kept.insert(index, line);
    }
    let text = kept.into_values().collect::<Vec<_>>().join("\n");
    text.trim_end_matches('\n').to_owned() + "\n"
}
