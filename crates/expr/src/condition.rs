//! Conditions: the expressions of `when`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::syntax;
use crate::{Budget, MissingValues, ParseError, RenderError, Template, VariableSource};

/// A condition: a boolean, or a template whose value is tested for truth.
///
/// Text may be written with or without braces. False values are null, `false`, zero, empty strings,
/// lists and maps, and the strings `false`, `0`, `no`, `none`, `null`, `off`, `{}` and `[]` in any
/// case.
#[derive(Debug, Clone)]
pub struct Condition {
    template: Template,
}

impl Condition {
    /// Compiles a condition; text without braces is an expression.
    pub fn parse(source: Value) -> Result<Self, ParseError> {
        Self::parse_with(source, MissingValues::Empty)
    }

    /// Compiles a condition with the given treatment of missing values.
    pub fn parse_with(source: Value, missing: MissingValues) -> Result<Self, ParseError> {
        let expression = match &source {
            Value::String(text) if !syntax::is_template(text) && !text.trim().is_empty() => {
                Some(text.clone())
            }
            _ => None,
        };
        let template = match expression {
            Some(expression) => Template::parse_bare(source, &expression, missing)?,
            None => Template::parse_with(source, missing)?,
        };
        Ok(Self { template })
    }

    /// The condition as written.
    pub fn source(&self) -> &Value {
        self.template.source()
    }

    /// The variables that the condition refers to, with their attributes where they are fixed.
    pub fn variables(&self) -> &BTreeSet<String> {
        self.template.variables()
    }

    /// True if the source contains this word in quotes, as in `event.name == "loop.done"`.
    pub fn mentions_text(&self, word: &str) -> bool {
        let Some(text) = self.source().as_str() else { return false };
        text.contains(&format!("'{word}'")) || text.contains(&format!("\"{word}\""))
    }

    /// Evaluates the condition with these variables.
    pub fn holds(&self, variables: &dyn VariableSource) -> Result<bool, RenderError> {
        self.template.holds(variables, None)
    }

    /// Evaluates the condition with these variables and charges the work to a budget.
    pub fn holds_within(
        &self,
        variables: &dyn VariableSource,
        budget: &Budget,
    ) -> Result<bool, RenderError> {
        self.template.holds(variables, Some(budget))
    }
}
