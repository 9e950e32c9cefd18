//! The code that a document contains, with the place of each of its lines.

use std::ops::Range;
use std::rc::Rc;

use noetl_expr::TemplateParts;

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
    /// The code with every template replaced by a placeholder of the same length: a number, or a name
    /// where only a name may stand. The code is read if one of the texts is.
    readings: Vec<String>,
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
    /// Returns the texts to check.
    pub fn readings(&self) -> impl Iterator<Item = &str> {
        self.readings.iter().map(String::as_str)
    }

    /// Returns the error of the code by the results of its texts; a result is `None` if it is not known.
    pub fn fault<'f>(
        &self,
        result: impl Fn(&str) -> Option<Option<&'f CodeFault>>,
    ) -> Option<CodeFault> {
        let mut first = None;
        for text in self.readings() {
            first = first.or(Some(result(text)??));
        }
        first.cloned()
    }

    /// Returns the place of the first line that reads a value of the execution by its name: a variable in
    /// rhai; in Python an item or attribute, if the code has the values of the execution at all.
    pub(crate) fn line_that_reads(&self, name: &str) -> Option<Range<usize>> {
        let text = self.readings.first()?;
        let has_values = ["context", "variables"].iter().any(|it| text.contains(it));
        let is_part = |it: char| it.is_alphanumeric() || it == '_';
        let reads = |line: &str| {
            line.match_indices(name).any(|(at, _)| {
                let (before, after) = (&line[..at], &line[at + name.len()..]);
                let before = before.chars().next_back();
                if before.is_some_and(is_part) || after.chars().next().is_some_and(is_part) {
                    return false;
                }
                match self.language {
                    CodeLanguage::Rhai => before != Some('.'),
                    CodeLanguage::Python => has_values && matches!(before, Some('\'' | '"' | '.')),
                    CodeLanguage::Shell | CodeLanguage::Bash => false,
                }
            })
        };
        let line = text.split('\n').position(reads)?;
        self.lines.get(line).cloned()
    }

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

/// Code in a document.
pub(super) struct CodePart<'n> {
    /// `None` if no check knows the language.
    pub(super) language: Option<CodeLanguage>,
    has_own_interpreter: bool,
    pub(super) node: &'n YamlNode,
}

/// Adds the code of a tool.
pub(super) fn collect(node: &YamlNode, source: &SourceText, found: &mut CollectedCode) {
    for CodePart { language, has_own_interpreter, node } in parts_of(node) {
        let (Some(language), Some(text)) = (language, node.text()) else { continue };
        let readings = without_templates(text, language);
        if readings.is_empty() {
            continue;
        }
        if found.parts.len() == CODE_PARTS_MAX {
            let (_, count) = found.omitted.get_or_insert_with(|| (node.span.clone(), 0));
            *count += 1;
            continue;
        }
        let lines = node.line_places(source);
        found.parts.push(EmbeddedCode { language, readings, lines, has_own_interpreter });
    }
}

/// Returns the code of a tool.
pub(super) fn parts_of<'n>(node: &'n YamlNode) -> Vec<CodePart<'n>> {
    let Some(kind) = node.get("kind").and_then(|kind| kind.text()) else { return Vec::new() };
    let (language, keys): (Option<CodeLanguage>, &[&str]) = match kind {
        "python" => (Some(CodeLanguage::Python), &["code"]),
        "rhai" => (Some(CodeLanguage::Rhai), &["code"]),
        "shell" => match node.get("shell") {
            None => (Some(CodeLanguage::Shell), &["command", "cmds"]),
            Some(shell) => (shell.text().and_then(language_of), &["command", "cmds"]),
        },
        "script" => (script_language(node), &["code"]),
        "container" => (None, &["command"]),
        _ => (None, &[]),
    };
    let own = ["python", "venv", "virtualenv", "interpreter"];
    let has_own_interpreter = kind != "shell" && own.iter().any(|key| node.get(key).is_some());
    let part = |node: &'n Rc<YamlNode>| CodePart { language, has_own_interpreter, node };
    let mut parts = Vec::new();
    for value in keys.iter().filter_map(|key| node.get(key)) {
        // A list under `command` is a program with its arguments, under `cmds` a list of commands.
        let is_program = value.list().is_some() && node.get("cmds").is_none();
        match &value.yaml {
            Yaml::List(items) if is_program => parts.extend(given_to_program(items)),
            Yaml::List(items) => parts.extend(items.iter().map(part)),
            Yaml::Text { .. } => parts.push(part(value)),
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Map(_) => {}
        }
    }
    // A script may be written in place: `script: {type: inline, content: …}`.
    let inline = node.get("script").filter(|_| matches!(kind, "python" | "script"));
    let content = inline.and_then(|it| it.get("source").map_or(it, |it| it).get("content"));
    parts.extend(content.map(part));
    parts
}

/// Returns the code that a program gets as an argument: `[sh, -c, CODE]`.
fn given_to_program(items: &[Rc<YamlNode>]) -> Option<CodePart<'_>> {
    let language = language_of(items.first()?.text()?)?;
    let is_flag = |item: &Rc<YamlNode>| {
        item.text().is_some_and(|text| text.starts_with('-') && text.ends_with('c'))
    };
    let flag = items.iter().skip(1).position(is_flag)?;
    let node = items.get(flag + 2)?;
    Some(CodePart { language: Some(language), has_own_interpreter: true, node })
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

/// A text of any length that stands for a template.
#[derive(Clone, Copy)]
struct Placeholder {
    first: char,
    rest: char,
}

const NUMBER: Placeholder = Placeholder { first: '0', rest: ' ' };
const NAME: Placeholder = Placeholder { first: 'v', rest: '_' };
const WORD: Placeholder = Placeholder { first: '_', rest: '_' };

/// Replaces every expression by a placeholder of the same length, in each way in which it may be read;
/// none if the code depends on statements of a template or an expression of several lines.
fn without_templates(text: &str, language: CodeLanguage) -> Vec<String> {
    let Some(parts) = TemplateParts::of(text) else { return Vec::new() };
    let is_several_lines = |range: &Range<usize>| text[range.clone()].contains('\n');
    if parts.has_statements || parts.outputs.iter().any(is_several_lines) {
        return Vec::new();
    }
    let placeholders: &[Placeholder] = match language {
        CodeLanguage::Python | CodeLanguage::Rhai if parts.outputs.is_empty() => &[NUMBER],
        CodeLanguage::Python | CodeLanguage::Rhai => &[NUMBER, NAME],
        CodeLanguage::Shell | CodeLanguage::Bash => &[WORD],
    };
    placeholders.iter().map(|placeholder| with_placeholders(text, &parts, *placeholder)).collect()
}

fn with_placeholders(text: &str, parts: &TemplateParts, placeholder: Placeholder) -> String {
    let Placeholder { first, rest } = placeholder;
    let mut plain = parts.without_comments(text);
    for range in &parts.outputs {
        let fill = std::iter::repeat_n(rest, range.len() - 1);
        plain.replace_range(range.clone(), &std::iter::once(first).chain(fill).collect::<String>());
    }
    plain
}
