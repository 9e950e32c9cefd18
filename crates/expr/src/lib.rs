//! Templates and conditions: deterministic Jinja that preserves types and has bounded cost.
//!
//! A [`Template`] is a JSON value whose strings may contain Jinja; a [`Condition`] is a boolean
//! test. Both are compiled once and depend only on the variables passed to them: no clock, no
//! environment variables, no random numbers, no files. The cost of one template is limited in
//! `bounds.rs`, the cost of several together in `budget.rs`. Variables are not copied until they
//! are needed (`value.rs`).

mod bounds;
mod budget;
mod condition;
mod environment;
mod facts;
mod filters;
mod methods;
mod operators;
mod print;
mod syntax;
mod template;
mod tool_template;
mod value;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

pub use crate::budget::Budget;
pub use crate::condition::Condition;
pub use crate::facts::{
    Absence, ComparisonSign, FilterArgument, FilterUse, MethodUse, NameUse, Operand,
    TemplateComparison, TemplateFacts, TemplateForm,
};
pub use crate::syntax::TemplateParts;
pub use crate::template::Template;
pub use crate::tool_template::{CommandFacts, CommandVariables, RenderedTool, ToolTemplate};
pub use crate::value::loop_results;

/// Returns the names of the filters that a template can use, in alphabetical order.
pub fn filter_names() -> &'static [&'static str] {
    filters::NAMES
}

/// Returns the names of the methods that values in templates have.
pub fn method_names() -> &'static [&'static str] {
    methods::NAMES
}

/// The source of a template's variables.
pub trait VariableSource {
    /// Returns the value of a top-level variable.
    fn get(&self, name: &str) -> Option<Arc<Value>>;
}

/// The treatment of values that a template reads and that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissingValues {
    /// A missing value is empty; alone it gives null.
    #[default]
    Empty,
    /// A missing value is an error that names it, unless the template handles it with `default` or
    /// `is defined`.
    Fail,
}

/// The error of a template that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ParseError {
    /// A description of the error, as a sentence fragment.
    pub message: String,
    /// The byte range of the error in the faulty string, if known.
    pub range: Option<Range<usize>>,
    /// The JSON pointer of the faulty string within the source; empty if the source is that string.
    pub pointer: String,
}

/// The error of a template that cannot be rendered with the given values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct RenderError {
    /// A description of the error, with the template's source.
    pub message: String,
    /// The place of the template in the value that holds it: `headers.x-id`, `rows[2].name`; empty if
    /// the template is the whole value.
    pub path: String,
}

impl RenderError {
    /// Returns the error as one of a template below a key, or below an index in brackets.
    #[must_use]
    pub fn below(self, key: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        Self { path: format!("{key}{dot}{}", self.path), ..self }
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{}, key `{path}`", self.message),
        }
    }
}
