//! Tests: what `when` holds.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::syntax;
use crate::{Budget, ParseError, RenderError, Template, Variables};

/// A test: a boolean, or a template whose value is looked at for truth.
///
/// Text may be written with braces or without. False are null, `false`, zero, what is empty, and
/// the texts `false`, `0`, `no`, `none`, `null`, `off`, `{}` and `[]` in any case.
#[derive(Debug, Clone)]
pub struct Condition {
    template: Template,
}

impl Condition {
    /// Compiles a test; text without braces is an expression.
    pub fn parse(source: Value) -> Result<Self, ParseError> {
        let expression = match &source {
            Value::String(text) if !syntax::is_template(text) && !text.trim().is_empty() => {
                Some(text.clone())
            }
            _ => None,
        };
        let template = match expression {
            Some(expression) => Template::parse_bare(source, &expression)?,
            None => Template::parse(source)?,
        };
        Ok(Self { template })
    }

    /// The test as written.
    pub fn source(&self) -> &Value {
        self.template.source()
    }

    /// The variables it mentions, with the attributes that are known.
    pub fn variables(&self) -> &BTreeSet<String> {
        self.template.variables()
    }

    /// Whether the text holds this word in quotes, as in `event.name == "loop.done"`.
    pub fn mentions_text(&self, word: &str) -> bool {
        let Some(text) = self.source().as_str() else { return false };
        text.contains(&format!("'{word}'")) || text.contains(&format!("\"{word}\""))
    }

    /// Whether it is true of these variables.
    pub fn holds(&self, variables: &dyn Variables) -> Result<bool, RenderError> {
        self.template.holds(variables, None)
    }

    /// Evaluates the condition with these variables; the work is charged to a budget.
    pub fn holds_within(
        &self,
        variables: &dyn Variables,
        budget: &Budget,
    ) -> Result<bool, RenderError> {
        self.template.holds(variables, Some(budget))
    }
}
