//! Finds values that go into shell commands without quotes.

use noetl_expr::{NameUse, TemplateFacts, TemplateForm};

use crate::diagnostic::{DiagnosticCode, Finding};
use crate::source::SourceText;
use crate::yaml::{Yaml, YamlNode};

/// The filters whose result no shell interprets.
const SAFE_FILTERS: &[&str] =
    &["shell_quote", "int", "float", "length", "count", "len", "b64encode", "urlencode", "bool"];
/// The names whose values no shell interprets.
const SAFE_NAMES: &[&str] = &["execution_id", "_index", "_total", "_attempt", "loop_index"];

/// Adds a warning for each value in the commands of a tool of kind `shell`.
pub(super) fn check(node: &YamlNode, source: &SourceText, faults: &mut Vec<Finding>) {
    if node.get("kind").and_then(|kind| kind.text()) != Some("shell") {
        return;
    }
    for value in ["command", "cmds"].into_iter().filter_map(|key| node.get(key)) {
        match &value.yaml {
            Yaml::Text { text, .. } => check_text(value, text, source, faults),
            Yaml::List(items) if node.get("cmds").is_some() => {
                for item in items {
                    if let Some(text) = item.text() {
                        check_text(item, text, source, faults);
                    }
                }
            }
            Yaml::List(_) | Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Map(_) => {}
        }
    }
}

fn check_text(node: &YamlNode, text: &str, source: &SourceText, faults: &mut Vec<Finding>) {
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
    let last = name.filters.last().map(String::as_str);
    last.is_some_and(|filter| SAFE_FILTERS.contains(&filter))
        || (name.path.len() == 1 && SAFE_NAMES.contains(&name.path[0].as_str()))
}

/// True if a name is in `{{ … }}`, not in a statement.
fn is_printed(text: &str, name: &NameUse) -> bool {
    let before = &text[..name.range.start.min(text.len())];
    before.rfind("{{") > before.rfind("{%")
}
