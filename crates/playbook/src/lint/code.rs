//! The code that a document contains, with the place of each of its lines.

use std::ops::Range;

use crate::diagnostic::{DiagnosticCode, Finding};
use crate::source::SourceText;
use crate::yaml::{Yaml, YamlNode};

/// The most parts of one document that are checked.
const CODE_PARTS_MAX: usize = 1_000;

/// A language that tools run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeLanguage {
    Python,
    Rhai,
    /// The commands of a POSIX shell.
    Shell,
}

/// The code of one tool.
#[derive(Debug)]
pub struct EmbeddedCode {
    pub language: CodeLanguage,
    /// The code, with every template replaced by a placeholder of the same length.
    pub text: String,
    /// The place of each line in the document.
    lines: Vec<Range<usize>>,
}

/// A syntax error in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFault {
    /// The line in the code, counted from 1.
    pub line: usize,
    pub message: String,
}

impl EmbeddedCode {
    pub(super) fn finding(&self, fault: &CodeFault) -> Finding {
        let last = self.lines.len().saturating_sub(1);
        let span = self.lines.get(fault.line.saturating_sub(1).min(last)).cloned();
        let language = match self.language {
            CodeLanguage::Python => "Python",
            CodeLanguage::Rhai => "rhai",
            CodeLanguage::Shell => "sh",
        };
        let message = format!("{language} cannot read this: {}", fault.message);
        Finding::error(DiagnosticCode::BadCode, &span.unwrap_or_default(), message)
    }
}

/// The code of a document.
#[derive(Debug, Default)]
pub(super) struct CollectedCode {
    pub(super) parts: Vec<EmbeddedCode>,
    /// The place of the first part beyond the limit, and the number of such parts.
    omitted: Option<(Range<usize>, usize)>,
}

impl CollectedCode {
    /// Returns a warning if there are more parts than are checked.
    pub(super) fn omission(&self) -> Option<Finding> {
        let (span, count) = self.omitted.as_ref()?;
        let message = format!(
            "{count} parts of code are not checked: a document is checked up to {CODE_PARTS_MAX} of them"
        );
        Some(Finding::warning(DiagnosticCode::Unchecked, span, message))
    }
}

/// Adds the code of a tool.
pub(super) fn collect(node: &YamlNode, source: &SourceText, found: &mut CollectedCode) {
    let Some(kind) = node.get("kind").and_then(|kind| kind.text()) else { return };
    match kind {
        "python" => add(node, &["code"], CodeLanguage::Python, source, found),
        "rhai" => add(node, &["code"], CodeLanguage::Rhai, source, found),
        "shell" if has_usual_shell(node) => {
            add(node, &["command", "cmds"], CodeLanguage::Shell, source, found);
        }
        _ => {}
    }
}

fn has_usual_shell(node: &YamlNode) -> bool {
    node.get("shell").is_none_or(|shell| matches!(shell.text(), Some("sh" | "/bin/sh")))
}

fn add(
    node: &YamlNode,
    keys: &[&str],
    language: CodeLanguage,
    source: &SourceText,
    found: &mut CollectedCode,
) {
    for value in keys.iter().filter_map(|key| node.get(key)) {
        // A list under `command` is a program with its arguments, under `cmds` a list of commands.
        let is_program = value.list().is_some() && node.get("cmds").is_none();
        let parts: Vec<&YamlNode> = match &value.yaml {
            Yaml::List(items) if !is_program => items.iter().map(|item| &**item).collect(),
            Yaml::Text { .. } => vec![value],
            Yaml::List(_) | Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Map(_) => vec![],
        };
        for part in parts {
            let Some(text) = part.text() else { continue };
            let Some(text) = without_templates(text, language) else { continue };
            if found.parts.len() == CODE_PARTS_MAX {
                let (_, count) = found.omitted.get_or_insert_with(|| (part.span.clone(), 0));
                *count += 1;
                continue;
            }
            let lines = part.line_places(source);
            found.parts.push(EmbeddedCode { language, text, lines });
        }
    }
}

/// Replaces every expression by a placeholder of the same length; `None` if the code depends on
/// statements of a template or an expression of several lines.
fn without_templates(text: &str, language: CodeLanguage) -> Option<String> {
    if text.contains("{%") {
        return None;
    }
    let (letter, fill) = match language {
        CodeLanguage::Python | CodeLanguage::Rhai => ('0', ' '),
        CodeLanguage::Shell => ('_', '_'),
    };
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("{{") {
        let length = rest[at..].find("}}")? + 2;
        let template = &rest[at..at + length];
        if template.contains('\n') {
            return None;
        }
        plain.push_str(&rest[..at]);
        plain.push(letter);
        plain.extend(std::iter::repeat_n(fill, length - 1));
        rest = &rest[at + length..];
    }
    plain.push_str(rest);
    Some(plain)
}
