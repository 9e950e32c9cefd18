//! Texts as values: arguments of a command, answers to a prompt and fields of a form are texts.

use serde_json::Value;

use super::rule::{InputType, ValueRule};

impl ValueRule {
    /// Returns the value that a text stands for; a text that spells no such value is returned as it
    /// is, so that the check names it.
    pub(super) fn read_text(&self, text: &str) -> Value {
        match self.kind {
            InputType::Any => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
            }
            // The check converts the others.
            InputType::Text
            | InputType::Integer
            | InputType::Number
            | InputType::Boolean
            | InputType::List
            | InputType::Object => Value::String(text.to_owned()),
        }
    }
}
