//! Reads scalars, durations, conditions and templates.

use std::ops::RangeInclusive;
use std::time::Duration;

use noetl_expr::{Condition, ParseError, Template, TemplateForm};
use serde_json::Value;

use super::DocumentReader;
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::yaml::{Yaml, YamlNode};

/// The longest timeout of a task, step or execution.
const TIMEOUT_MAX: Duration = Duration::from_secs(30 * 86400);
/// The longest name of a step, label or iterator.
const NAME_BYTES_MAX: usize = 200;

/// True for characters that control a device or the direction of text, with which one name looks like
/// another.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}

impl DocumentReader<'_> {
    pub(super) fn text(&mut self, node: &YamlNode, title: &str) -> Option<String> {
        let text = self.scalar_text(node);
        if text.is_none() {
            self.wrong_type(node, title, "text");
        }
        text
    }

    /// Reads a name: not empty, one line, not a template.
    pub(super) fn name(&mut self, node: &YamlNode, title: &str) -> Option<String> {
        let name = self.text(node, title)?;
        let fault = if name.trim().is_empty() {
            "is empty"
        } else if name.len() > NAME_BYTES_MAX {
            "is too long"
        } else if name.contains(['\n', '\r']) {
            "has several lines"
        } else if name.contains(is_hidden) {
            "has a character that is not shown"
        } else if name.contains("{{") || name.contains("{%") {
            "cannot be a template"
        } else {
            return Some(name);
        };
        self.add(Finding::error(DiagnosticCode::BadValue, &node.span, format!("{title} {fault}")));
        None
    }

    /// Returns the text of a scalar; numbers and booleans as they were written.
    fn scalar_text(&self, node: &YamlNode) -> Option<String> {
        match &node.yaml {
            Yaml::Text { text, .. } => Some(text.clone()),
            Yaml::Number(_) | Yaml::Bool(_) => {
                Some(self.findings.source.text[node.span.clone()].trim().to_owned())
            }
            Yaml::Null | Yaml::List(_) | Yaml::Map(_) => None,
        }
    }

    /// Reads one of the given words.
    pub(super) fn word<T: Copy>(
        &mut self,
        node: &YamlNode,
        title: &str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(node, title)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.unknown_word(node, title, &text, &allowed);
        }
        found
    }

    pub(super) fn truth(&mut self, node: &YamlNode, title: &str) -> Option<bool> {
        match (&node.yaml, node.text()) {
            (Yaml::Bool(truth), _) => Some(*truth),
            (_, Some("true")) => Some(true),
            (_, Some("false")) => Some(false),
            _ => {
                self.wrong_type(node, title, "true or false");
                None
            }
        }
    }

    /// Reads a whole number of at least 1.
    pub(super) fn count(&mut self, node: &YamlNode, title: &str, max: u32) -> Option<u32> {
        self.whole(node, title, 1..=max)
    }

    /// Reads a whole number within bounds.
    pub(super) fn whole(
        &mut self,
        node: &YamlNode,
        title: &str,
        allowed: RangeInclusive<u32>,
    ) -> Option<u32> {
        let number: Option<f64> = match &node.yaml {
            Yaml::Number(number) => number.as_f64(),
            Yaml::Text { text, .. } => text.trim().parse().ok(),
            Yaml::Null | Yaml::Bool(_) | Yaml::List(_) | Yaml::Map(_) => None,
        };
        let Some(number) = number else {
            self.wrong_type(node, title, "a whole number");
            return None;
        };
        if number.fract() != 0.0 {
            let message = format!("{title} must be a whole number");
            self.add(Finding::error(DiagnosticCode::BadValue, &node.span, message));
            return None;
        }
        let count = format!("{number:.0}").parse().ok().filter(|count| allowed.contains(count));
        if count.is_none() {
            let (min, max) = allowed.into_inner();
            let message = format!("{title} must be between {min} and {max}");
            self.add(Finding::error(DiagnosticCode::OutOfRange, &node.span, message));
        }
        count
    }

    /// Reads a duration: a number, or a number with a unit. A bare number counts `unit` seconds
    /// each.
    pub(super) fn duration(
        &mut self,
        node: &YamlNode,
        title: &str,
        unit: f64,
        max: Duration,
    ) -> Option<Duration> {
        let seconds = match &node.yaml {
            Yaml::Number(number) => number.as_f64().map(|number| number * unit),
            Yaml::Text { text, .. } => seconds_of(text, unit),
            Yaml::Null | Yaml::Bool(_) | Yaml::List(_) | Yaml::Map(_) => None,
        };
        let Some(seconds) = seconds else {
            self.wrong_type(node, title, "a duration such as 30, 500ms, 30s or 5m");
            return None;
        };
        let duration =
            Duration::try_from_secs_f64(seconds).ok().filter(|duration| *duration <= max);
        if duration.is_none() {
            let message = format!("{title} must be between 0 and {} seconds", max.as_secs());
            self.add(Finding::error(DiagnosticCode::OutOfRange, &node.span, message));
        }
        duration
    }

    pub(super) fn timeout(&mut self, node: &YamlNode) -> Option<Duration> {
        let timeout = self.duration(node, "a timeout", 1.0, TIMEOUT_MAX)?;
        if timeout.is_zero() {
            let message = "a timeout must be more than 0";
            let finding = Finding::error(DiagnosticCode::OutOfRange, &node.span, message);
            self.add(finding.help("leave it out to wait for as long as it takes"));
            return None;
        }
        Some(timeout)
    }

    pub(super) fn template(&mut self, node: &YamlNode) -> Option<Template> {
        match Template::parse_with(node.to_json(), self.missing) {
            Ok(template) => {
                self.uses.note(node, TemplateForm::Braces);
                self.check_secrets(node, template.variables());
                Some(template)
            }
            Err(error) => {
                if self.find_bad_leaves(node) == 0 {
                    self.bad_template(node, error);
                }
                None
            }
        }
    }

    /// Reports each invalid template below a node; returns how many there are.
    fn find_bad_leaves(&mut self, node: &YamlNode) -> usize {
        match &node.yaml {
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => 0,
            Yaml::Text { text, .. } => match Template::parse(Value::String(text.clone())) {
                Ok(_) => 0,
                Err(error) => {
                    self.bad_template(node, error);
                    1
                }
            },
            Yaml::List(items) => items.iter().map(|item| self.find_bad_leaves(item)).sum(),
            Yaml::Map(entries) => {
                entries.iter().map(|entry| self.find_bad_leaves(&entry.value)).sum()
            }
        }
    }

    /// Reads a condition: a boolean, or text that is rendered and tested for truth.
    pub(super) fn condition(&mut self, node: &YamlNode) -> Option<Condition> {
        match &node.yaml {
            Yaml::Bool(_) | Yaml::Text { .. } | Yaml::Number(_) => {}
            Yaml::Null | Yaml::List(_) | Yaml::Map(_) => {
                self.wrong_type(node, "a condition", "a boolean or a template");
                return None;
            }
        }
        if node.text().is_some_and(|text| text.trim().is_empty()) {
            self.add(Finding::error(
                DiagnosticCode::BadTemplate,
                &node.span,
                "a condition is empty",
            ));
            return None;
        }
        match Condition::parse_with(node.to_json(), self.missing) {
            Ok(condition) => {
                self.uses.note(node, TemplateForm::Bare);
                self.check_secret_inputs(node, condition.variables());
                Some(condition)
            }
            Err(error) => {
                self.bad_template(node, error);
                None
            }
        }
    }

    fn bad_template(&mut self, node: &YamlNode, error: ParseError) {
        let span = match error.range {
            Some(range) => node.locate(range, &self.findings.source),
            None => node.span.clone(),
        };
        self.add(Finding::error(DiagnosticCode::BadTemplate, &span, error.message));
    }
}

/// Returns the duration that a rendered value gives: a number of seconds, or text such as `500ms`,
/// `30s`, `5m`, `2h` or `1d`; `None` for anything else.
pub fn duration_of(value: &Value) -> Option<Duration> {
    let seconds = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => seconds_of(text, 1.0),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    Duration::try_from_secs_f64(seconds?).ok()
}

fn seconds_of(text: &str, unit: f64) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let factor = match suffix {
        "" => unit,
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    number.trim().parse::<f64>().ok().map(|number| number * factor)
}
