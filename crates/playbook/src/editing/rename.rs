//! Renames a step in its definition, in arcs and in templates.

use std::ops::Range;

use thiserror::Error;

use super::step_mentions::{StepRole, step_mentions};
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

fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|it| it.is_ascii_alphanumeric() || it == '_')
}
