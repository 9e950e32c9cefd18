//! Finds values that go into shell commands without quotes.

use std::collections::BTreeSet;

use noetl_expr::{NameUse, TemplateFacts, TemplateForm, TemplateParts};

use super::code::{CodeLanguage, parts_of};
use crate::diagnostic::{DiagnosticCode, Finding};
use crate::source::SourceText;
use crate::yaml::YamlNode;

/// The filters whose result no shell interprets.
const SAFE_FILTERS: &[&str] =
    &["shell_quote", "int", "float", "length", "count", "len", "b64encode", "urlencode", "bool"];
/// The names whose values no shell interprets.
const SAFE_NAMES: &[&str] = &["execution_id", "_index", "_total", "_attempt", "loop_index"];

/// Adds a warning for each value in the code of a tool that a shell reads.
///
/// `plain` are the paths whose values contain nothing that a shell interprets.
pub(super) fn check(
    node: &YamlNode,
    plain: &BTreeSet<String>,
    source: &SourceText,
    faults: &mut Vec<Finding>,
) {
    for part in parts_of(node) {
        let is_shell = match part.language {
            Some(CodeLanguage::Shell | CodeLanguage::Bash) => true,
            // Another shell, such as fish.
            None => node.get("kind").and_then(|kind| kind.text()) == Some("shell"),
            Some(CodeLanguage::Python | CodeLanguage::Rhai) => false,
        };
        if let Some(text) = part.node.text().filter(|_| is_shell) {
            check_text(part.node, text, plain, source, faults);
            check_quotes(part.node, text, source, faults);
        }
    }
}

/// Adds a warning for each `shell_quote` between quotes, which end the ones that the filter writes.
fn check_quotes(node: &YamlNode, text: &str, source: &SourceText, faults: &mut Vec<Finding>) {
    let Some(parts) = TemplateParts::of(text).filter(|parts| !parts.outputs.is_empty()) else {
        return;
    };
    let Ok(facts) = TemplateFacts::of(text, TemplateForm::Braces) else { return };
    let mut plain = parts.without_comments(text);
    for output in &parts.outputs {
        plain.replace_range(output.clone(), &"_".repeat(output.len()));
    }
    for filter in facts.filters.iter().filter(|filter| filter.name == "shell_quote") {
        let Some(output) = parts.outputs.iter().find(|it| it.contains(&filter.range.start)) else {
            continue;
        };
        let line = plain[..output.start].rfind('\n').map_or(0, |at| at + 1);
        let Some(quote) = open_quote(&plain[line..output.start]) else { continue };
        let rest = plain[output.end..].lines().next().unwrap_or_default();
        if rest.contains(quote) {
            let span = node.locate(filter.range.clone(), source);
            let message = "`shell_quote` stands between quotes, which end the ones it writes";
            let finding = Finding::warning(DiagnosticCode::ShellTemplate, &span, message);
            faults.push(finding.help("leave out the quotes around the template"));
        }
    }
}

/// Returns the quote that is open at the end of a part of a command.
fn open_quote(line: &str) -> Option<char> {
    let mut open = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (open, letter) {
            (None | Some('"'), '\\') => {
                letters.next();
            }
            (None, '"' | '\'') => open = Some(letter),
            (Some(quote), letter) if letter == quote => open = None,
            (None | Some(_), _) => {}
        }
    }
    open
}

fn check_text(
    node: &YamlNode,
    text: &str,
    plain: &BTreeSet<String>,
    source: &SourceText,
    faults: &mut Vec<Finding>,
) {
    // A command that is one template comes whole from elsewhere.
    let trimmed = text.trim();
    let is_whole =
        trimmed.starts_with("{{") && trimmed.ends_with("}}") && trimmed.matches("{{").count() == 1;
    let Ok(facts) = TemplateFacts::of(text, TemplateForm::Braces) else { return };
    for name in facts.names.iter().filter(|name| !is_safe(name) && !is_whole) {
        if !is_printed(text, name) {
            continue;
        }
        let shown = name.path.join(".");
        if plain.contains(&shown) {
            continue;
        }
        let message = format!("the shell interprets the value of `{shown}`");
        let span = node.locate(name.range.clone(), source);
        let finding = Finding::warning(DiagnosticCode::ShellTemplate, &span, message);
        let help = format!(
            "write `{{{{ {shown} | shell_quote }}}}` without quotes around it, or pass the value in `env`"
        );
        faults.push(finding.help(help));
    }
}

fn is_safe(name: &NameUse) -> bool {
    let is_filtered = match name.filters.as_slice() {
        // A list of safe words.
        [.., map, join] if map.name == "map" && join.name == "join" => {
            let argument = map.arguments.as_ref().and_then(|arguments| arguments.first());
            let filter = argument.and_then(|argument| argument.literal.as_ref()?.as_str());
            filter.is_some_and(|filter| SAFE_FILTERS.contains(&filter))
        }
        [.., last] => SAFE_FILTERS.contains(&last.name.as_str()),
        [] => false,
    };
    name.is_tested
        || is_filtered
        || (name.path.len() == 1 && SAFE_NAMES.contains(&name.path[0].as_str()))
}

/// True if a name is in `{{ … }}`, not in a statement.
fn is_printed(text: &str, name: &NameUse) -> bool {
    let before = &text[..name.range.start.min(text.len())];
    before.rfind("{{") > before.rfind("{%")
}
