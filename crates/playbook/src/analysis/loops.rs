//! Finds loops over values that have no items, or not the items that were meant.

use noetl_model::ToolKind;
use serde_json::{Number, Value};

use super::TemplateUses;
use super::known_names::KnownNames;
use super::outputs::output_fields;
use super::shapes::{PathEnd, ShapeOrigin, default_of, end_of, path_in};
use super::uses::{RenderMoment, RenderPlace};
use crate::diagnostic::{DiagnosticCode, Finding, Findings};
use crate::inputs::{InputType, ValueRule};
use crate::playbook::{BodyForm, Playbook};
use crate::yaml::{Yaml, YamlNode};

/// The fields of outputs that hold a list of items.
const LIST_FIELDS: &[&str] =
    &["rows", "results", "messages", "keys", "objects", "output", "body", "stdout"];

/// A message about the items of a loop.
struct LoopFault {
    message: String,
    help: Option<String>,
    /// The text that was probably meant.
    suggestion: Option<String>,
    /// True if every execution that reaches the loop fails.
    is_certain: bool,
}

impl LoopFault {
    fn new(message: String) -> Self {
        Self { message, help: None, suggestion: None, is_certain: false }
    }

    fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    fn certain(self, is_certain: bool) -> Self {
        Self { is_certain, ..self }
    }
}

/// Adds the findings about loops.
pub(super) fn check(playbook: &Playbook, uses: &TemplateUses, findings: &mut Findings) {
    let known = KnownNames::of(playbook);
    for (step, items) in &uses.loops {
        let place = RenderPlace { step: Some(*step), task: None, moment: RenderMoment::StepEntry };
        let Some(fault) = loop_fault(items, &known, place) else { continue };
        let finding = if fault.is_certain { Finding::error } else { Finding::warning };
        let finding = finding(DiagnosticCode::BadLoop, &items.span, fault.message);
        findings.add(finding.help_if(fault.help).suggest(fault.suggestion));
    }
}

fn loop_fault(items: &YamlNode, known: &KnownNames<'_>, place: RenderPlace) -> Option<LoopFault> {
    let step = known.step_at(place)?.name.as_str();
    match &items.yaml {
        Yaml::Number(number) => {
            let fault = LoopFault::new(format!("a loop cannot count to {number}"));
            let fault = fault.help("write a whole number of at least 0, or a list").certain(true);
            (!is_count(number)).then_some(fault)
        }
        Yaml::List(list) if list.is_empty() => {
            Some(LoopFault::new(format!("the loop of step `{step}` has no items")))
        }
        Yaml::Text { text, .. } if !items.is_template() => plain_text(text, known, place),
        Yaml::Text { text, .. } => {
            let path = path_in(text)?;
            let segments: Vec<&str> = path.split('.').collect();
            match end_of(known, &segments, place) {
                Some(PathEnd::Rule(rule, origin)) => declared(path, rule, origin),
                Some(PathEnd::Missing { .. } | PathEnd::NoFields { .. }) => None,
                None => match default_of(known, &segments, place) {
                    Some(default) => of_default(path, default),
                    None => whole_output(path, &segments, known, place),
                },
            }
        }
        Yaml::Null | Yaml::Bool(_) | Yaml::List(_) | Yaml::Map(_) => None,
    }
}

/// True if a loop can count to the number.
fn is_count(number: &Number) -> bool {
    number.as_u64().is_some() || number.as_f64().is_some_and(|it| it >= 0.0 && it.fract() == 0.0)
}

/// True if a loop over the text has more than one item, or may have.
fn has_parts(text: &str) -> bool {
    text.contains([',', '\n']) || text.trim_start().starts_with('[')
}

/// Checks items that are text without a template.
fn plain_text(text: &str, known: &KnownNames<'_>, place: RenderPlace) -> Option<LoopFault> {
    let is_path = text.chars().all(|it| it.is_alphanumeric() || it == '_' || it == '.');
    let first = text.split('.').next().unwrap_or(text);
    if is_path && !text.is_empty() && known.has(first, place) {
        let meant = format!("{{{{ {text} }}}}");
        let fault =
            LoopFault::new(format!("the loop runs over the text `{text}`, not over its value"));
        let fault = fault.help(format!("write `\"{meant}\"`"));
        return Some(LoopFault { suggestion: Some(format!("\"{meant}\"")), ..fault });
    }
    let fault = LoopFault::new(format!("the loop has one item, the text `{text}`"));
    (!has_parts(text) && !text.trim().is_empty()).then(|| fault.help("write a list"))
}

/// Checks a value of a declared type.
fn declared(path: &str, rule: &ValueRule, origin: ShapeOrigin) -> Option<LoopFault> {
    let is_checked = origin == ShapeOrigin::Input;
    let unusable = |why: String| {
        let message = format!("`{path}` is declared {why}, which a loop cannot use");
        Some(LoopFault::new(message).certain(is_checked))
    };
    match rule.kind {
        InputType::Boolean => unusable("as boolean".to_owned()),
        InputType::Integer | InputType::Number => {
            let max = rule.max.as_ref().filter(|max| max.as_f64().is_some_and(|max| max < 0.0));
            max.and_then(|max| unusable(format!("with at most {max}")))
        }
        InputType::Text => {
            let message = format!(
                "`{path}` is declared as string: the loop runs over its parts between commas"
            );
            Some(
                LoopFault::new(message).help(format!(
                    "declare it as `list`, or say it: `{{{{ {path} | split(',') }}}}`"
                )),
            )
        }
        InputType::List | InputType::Object | InputType::Any => None,
    }
}

/// Checks a value of the workload, which a start may replace.
fn of_default(path: &str, default: &Value) -> Option<LoopFault> {
    match default {
        Value::Bool(_) => {
            Some(LoopFault::new(format!("`{path}` is a boolean, which a loop cannot use")))
        }
        Value::Number(number) if !is_count(number) => {
            Some(LoopFault::new(format!("`{path}` is {number}, which a loop cannot count to")))
        }
        Value::String(text)
            if !text.is_empty()
                && !text.contains("{{")
                && !text.contains("{%")
                && !has_parts(text) =>
        {
            let message =
                format!("`{path}` is the text `{text}` by default: the loop has one item");
            Some(LoopFault::new(message).help("write a list"))
        }
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

/// Checks a loop over the whole output of a step, which is a map.
fn whole_output(
    path: &str,
    segments: &[&str],
    known: &KnownNames<'_>,
    place: RenderPlace,
) -> Option<LoopFault> {
    let name = match segments {
        ["steps", name] => name,
        [name] if !known.in_context(name) && !known.of_run(name, place) => name,
        [..] => return None,
    };
    let step = known.playbook.step(known.playbook.index_of(name)?);
    // The fields of a literal result may be the items that are meant; a loop's output is a list.
    let is_literal = match (step.form, step.tasks.as_slice()) {
        (BodyForm::Single, [task]) => task.tool == ToolKind::Noop,
        (BodyForm::Single | BodyForm::Pipeline, _) => false,
    };
    let fields = output_fields(step);
    if step.repeat.is_some() || is_literal || !fields.is_complete {
        return None;
    }
    let message = format!("the output of step `{name}` is a map: the loop runs over its fields");
    let list = LIST_FIELDS.iter().find(|field| {
        let own = fields.names.iter().take_while(|name| **name != "data");
        own.copied().any(|name| name == **field)
    });
    let fault = LoopFault::new(message);
    Some(match list {
        Some(field) => fault.help(format!("did you mean `{{{{ {path}.{field} }}}}`?")),
        None => fault,
    })
}
