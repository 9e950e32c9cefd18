//! Renames a step in its definition, in arcs and in templates.

use std::ops::Range;

use thiserror::Error;

use super::step_mentions::{StepRole, step_mentions};
use crate::lint::LintedDocument;
use crate::parse::parse;

/// The reason why a step is not renamed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RenameError {
    #[error("the document has errors; correct them first")]
    NotValid,
    #[error("the playbook has no step `{0}`")]
    UnknownStep(String),
    #[error("the playbook has a step `{0}` already")]
    Taken(String),
    #[error("`{0}` is not a name that templates can read: use letters, digits and `_`")]
    BadName(String),
    #[error("after the change the playbook would not be valid: `{0}` is used for something else")]
    Clash(String),
    #[error(
        "the code on line {line} reads `{name}`, which a rename does not change: change it there first"
    )]
    InCode { name: String, line: usize },
}

/// Returns the places of the text that a new name replaces.
pub fn rename_step(text: &str, from: &str, to: &str) -> Result<Vec<Range<usize>>, RenameError> {
    if parse("document", text.as_bytes()).is_err() {
        return Err(RenameError::NotValid);
    }
    if !is_identifier(to) {
        return Err(RenameError::BadName(to.to_owned()));
    }
    let mentions = step_mentions(text);
    let is_defined =
        |name: &str| mentions.iter().any(|it| it.role == StepRole::Definition && it.name == name);
    if !is_defined(from) {
        return Err(RenameError::UnknownStep(from.to_owned()));
    }
    if from != to && is_defined(to) {
        return Err(RenameError::Taken(to.to_owned()));
    }
    if let Some(place) = line_that_reads(text, from) {
        let line = text[..place.start].matches('\n').count() + 1;
        return Err(RenameError::InCode { name: from.to_owned(), line });
    }
    let places: Vec<Range<usize>> =
        mentions.into_iter().filter(|it| it.name == from).map(|it| it.span).collect();
    let mut changed = text.to_owned();
    for place in places.iter().rev() {
        changed.replace_range(place.clone(), to);
    }
    let found = step_mentions(&changed).into_iter().filter(|it| it.name == to).count();
    if found != places.len() || parse("document", changed.as_bytes()).is_err() {
        return Err(RenameError::Clash(to.to_owned()));
    }
    Ok(places)
}

/// Returns the place of the first line of code that reads the output of a step by its name.
fn line_that_reads(text: &str, step: &str) -> Option<Range<usize>> {
    let document = LintedDocument::to_validate("document", text.as_bytes());
    document.code().iter().find_map(|code| code.line_that_reads(step))
}

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|it| it.is_ascii_alphanumeric() || it == '_')
}
