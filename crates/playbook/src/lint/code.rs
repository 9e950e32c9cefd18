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
    /// The commands of bash.
    Bash,
}

impl CodeLanguage {
    pub const ALL: [Self; 4] = [Self::Python, Self::Rhai, Self::Shell, Self::Bash];
}

/// The code of one tool.
#[derive(Debug)]
pub struct EmbeddedCode {
    pub language: CodeLanguage,
    /// The code, with every template replaced by a placeholder of the same length.
    pub text: String,
    /// The place of each line in the document.
    lines: Vec<Range<usize>>,
    /// True if the step names the interpreter of its code. A check starts no program that a document
    /// names, so it may differ from the one that runs the code.
    has_own_interpreter: bool,
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
            CodeLanguage::Bash => "bash",
        };
        let message = format!("{language} cannot read this: {}", fault.message);
        let (code, span) = (DiagnosticCode::BadCode, span.unwrap_or_default());
        if self.has_own_interpreter {
            let help = "the step runs it with an interpreter of its own, which may know more";
            return Finding::warning(code, &span, message).help(help);
        }
        Finding::error(code, &span, message)
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
    let (language, keys): (Option<CodeLanguage>, &[&str]) = match kind {
        "python" => (Some(CodeLanguage::Python), &["code"]),
        "rhai" => (Some(CodeLanguage::Rhai), &["code"]),
        "shell" => match node.get("shell") {
            None => (Some(CodeLanguage::Shell), &["command", "cmds"]),
            Some(shell) => (shell.text().and_then(language_of), &["command", "cmds"]),
        },
        "script" => (script_language(node), &["code"]),
        _ => (None, &[]),
    };
    let Some(language) = language else { return };
    let own = ["python", "venv", "virtualenv", "interpreter"];
    let has_own_interpreter = kind != "shell" && own.iter().any(|key| node.get(key).is_some());
    let checked = CheckedWith { language, has_own_interpreter };
    add(node, keys, checked, source, found);
    // A script may be written in place: `script: {type: inline, content: …}`.
    let inline = node.get("script").filter(|_| matches!(kind, "python" | "script"));
    if let Some(inline) = inline {
        let below = inline.get("source").unwrap_or(inline);
        add(below, &["content"], checked, source, found);
    }
}

/// The language of some code, and the origin of its interpreter.
#[derive(Clone, Copy)]
struct CheckedWith {
    language: CodeLanguage,
    has_own_interpreter: bool,
}

/// Returns the language that a program reads, by its name or path.
fn language_of(program: &str) -> Option<CodeLanguage> {
    let name = program.trim().rsplit('/').next()?;
    match name {
        "sh" | "dash" => Some(CodeLanguage::Shell),
        "bash" => Some(CodeLanguage::Bash),
        name if name.strip_prefix("python").is_some_and(is_version_3) => Some(CodeLanguage::Python),
        _ => None,
    }
}

/// True for the end of `python`, `python3` or `python3.12`.
fn is_version_3(end: &str) -> bool {
    end.is_empty() || end == "3" || end.starts_with("3.")
}

/// Returns the language of a script: by `interpreter`, otherwise by its first line.
fn script_language(node: &YamlNode) -> Option<CodeLanguage> {
    if let Some(interpreter) = node.get("interpreter") {
        let program = interpreter.text().or_else(|| interpreter.list()?.first()?.text())?;
        return language_of(program);
    }
    let inline = node.get("script").and_then(|script| script.get("content"));
    let code = node.get("code").or(inline)?.text()?;
    let mut words = code.lines().next()?.strip_prefix("#!")?.split_whitespace();
    let program = words.next()?;
    let is_env = program.ends_with("/env");
    language_of(if is_env { words.next()? } else { program })
}

fn add(
    node: &YamlNode,
    keys: &[&str],
    checked: CheckedWith,
    source: &SourceText,
    found: &mut CollectedCode,
) {
    let CheckedWith { language, has_own_interpreter } = checked;
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
            found.parts.push(EmbeddedCode { language, text, lines, has_own_interpreter });
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
        CodeLanguage::Shell | CodeLanguage::Bash => ('_', '_'),
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
