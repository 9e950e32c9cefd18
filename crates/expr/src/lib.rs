//! Templates and conditions: deterministic Jinja that keeps types and cannot run away.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use thiserror::Error;

/// Where a template's variables come from.
pub trait Variables {
    fn get(&self, name: &str) -> Option<Arc<Value>>;
}

/// A template that is not one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ParseError {
    pub message: String,
    /// Where in the text, if known: a byte range.
    pub range: Option<std::ops::Range<usize>>,
}

/// A template that could not be rendered with the values it was given.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct RenderError {
    pub message: String,
}

/// A JSON value whose strings may hold templates.
#[derive(Debug, Clone)]
pub struct Template {
    source: Value,
    variables: BTreeSet<String>,
}

impl Template {
    pub fn parse(source: Value) -> Result<Self, ParseError> {
        Ok(Self { source, variables: BTreeSet::new() })
    }

    /// The value as written.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// The variables it mentions, with the attributes that are known: `workload.url`, `item`.
    pub fn variables(&self) -> &BTreeSet<String> {
        &self.variables
    }

    pub fn render(&self, _variables: &dyn Variables) -> Result<Value, RenderError> {
        Ok(self.source.clone())
    }
}

/// A test: a boolean, or a template whose text is looked at for truth.
#[derive(Debug, Clone)]
pub struct Condition {
    template: Template,
}

impl Condition {
    pub fn parse(source: Value) -> Result<Self, ParseError> {
        Ok(Self { template: Template::parse(source)? })
    }

    pub fn source(&self) -> &Value {
        self.template.source()
    }

    pub fn variables(&self) -> &BTreeSet<String> {
        self.template.variables()
    }

    /// Whether the text holds this word in quotes, as in `event.name == "loop.done"`.
    pub fn mentions_text(&self, _word: &str) -> bool {
        false
    }

    pub fn holds(&self, _variables: &dyn Variables) -> Result<bool, RenderError> {
        Ok(true)
    }
}
