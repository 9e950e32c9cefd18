//! Templates and conditions: deterministic Jinja that keeps types and cannot run away.
//!
//! A [`Template`] is a JSON value whose strings may hold Jinja; a [`Condition`] is a test. Both are
//! compiled once and depend on nothing but the variables they are given: no clock, no environment,
//! no chance, no files. What an expression makes is bounded (`bounds.rs`), and so is what several
//! templates do together (`budget.rs`); what a variable holds is not copied until it is needed
//! (`value.rs`).

mod bounds;
mod budget;
mod condition;
mod environment;
mod filters;
mod methods;
mod operators;
mod print;
mod syntax;
mod template;
mod value;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

pub use crate::budget::Budget;
pub use crate::condition::Condition;
pub use crate::template::Template;
pub use crate::value::loop_results;

/// Where a template's variables come from.
pub trait Variables {
    /// The value of a top-level name, if there is one.
    fn get(&self, name: &str) -> Option<Arc<Value>>;
}

/// A template that is not one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ParseError {
    /// What is wrong, as a sentence fragment.
    pub message: String,
    /// Where in the offending string, if known: a byte range.
    pub range: Option<Range<usize>>,
    /// Which string, as a JSON pointer into the source; empty when the source is that string.
    pub pointer: String,
}

/// A template that could not be rendered with the values it was given.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct RenderError {
    /// What went wrong, and in which template.
    pub message: String,
}
