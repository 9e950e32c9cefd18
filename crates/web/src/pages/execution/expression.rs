//! A template tried against the state at the position.

use maud::{Markup, html};
use noetl_api::wire::{
    EvaluateAnswer, EvaluateRequest, PositionState, PositionStep, PositionValue, TemplateResult,
};
use noetl_app::{App, PositionError};
use serde_json::Value;

use super::address::Here;
use super::view::ExecutionView;
use crate::components::error::{error_line, message_line};
use crate::components::id::execution_address;
use crate::components::json_tree::json_tree;
use crate::error::PageError;
use crate::request::PageRequest;

/// The fields of the form.
const FIELDS: [&str; 3] = ["expression", "by", "by_item"];
/// Maximum number of names that are offered.
const NAMES_MAX: usize = 300;

/// An expression with its answer, if one was entered.
pub(super) struct TriedExpression {
    text: String,
    answer: Option<Result<EvaluateAnswer, PageError>>,
}

impl TriedExpression {
    pub(super) async fn load(app: &App, here: &Here) -> Result<Self, PageError> {
        let text = here.expression.clone();
        if text.trim().is_empty() {
            return Ok(Self { text, answer: None });
        }
        let template = match text.contains("{{") || text.contains("{%") {
            true => text.clone(),
            false => format!("{{{{ {text} }}}}"),
        };
        let request = EvaluateRequest {
            at: here.at,
            template: Value::String(template),
            step: here.seen_by.step.clone(),
            item: here.seen_by.item,
        };
        let answer = match app.evaluate_at(here.execution, &request).await {
            Ok(answer) => Ok(answer),
            Err(PositionError::Load(error)) => return Err(error.into()),
            Err(error) => Err(PageError::from(error)),
        };
        Ok(Self { text, answer: Some(answer) })
    }
}

pub(super) fn expression(
    page: &PageRequest,
    view: &ExecutionView,
    trial: &TriedExpression,
) -> Markup {
    html! {
        form.stacked method="get" action=(execution_address(view.here.execution)) {
            @for (name, value) in view.here.pairs() {
                @if !FIELDS.contains(&name) && !value.is_empty() { input type="hidden" name=(name) value=(value); }
            }
            label { span { (page.t("exec.expression")) }
                input type="text" name="expression" value=(trial.text) list="names" spellcheck="false"
                    autocomplete="off" placeholder="{{ workload }}"; }
            datalist #names {
                @for name in names(view) { option value=(name) {} }
            }
            (seen_by(page, view))
            button type="submit" { (page.t("exec.evaluate")) }
        }
        @match &trial.answer {
            None => p.soft { (page.t("exec.expression_more")) },
            Some(Err(error)) => (message_line(&error.sentence(page.words))),
            Some(Ok(answer)) => (answered(page, answer)),
        }
    }
}

/// Draws the choice of the step, and of the item of its loop, whose variables the expression sees.
fn seen_by(page: &PageRequest, view: &ExecutionView) -> Markup {
    let chosen = &view.here.seen_by;
    let open = open_steps(&view.state);
    // A step that has ended at another position stays chosen, so that the refusal is understood.
    let ended = chosen.step.as_deref().filter(|name| !open.iter().any(|it| it.name == **name));
    let has_loop = open.iter().any(|it| it.latest.as_ref().is_some_and(|run| run.items.is_some()));
    html! {
        @if !open.is_empty() || chosen.step.is_some() {
            div.seen-by {
                label { span { (page.t("exec.seen_by")) }
                    select name="by" {
                        option value="" { (page.t("exec.seen_by_execution")) }
                        @for name in open.iter().map(|it| it.name.as_str()).chain(ended) {
                            option value=(name) selected[chosen.step.as_deref() == Some(name)] { (name) }
                        }
                    }
                }
                @if has_loop || chosen.item.is_some() {
                    label { span { (page.t("exec.item")) }
                        input name="by_item" type="number" min="0" value=[chosen.item]; }
                }
            }
        }
    }
}

/// Returns the steps with an open run, whose variables an expression can see.
pub(super) fn open_steps(state: &PositionState) -> Vec<&PositionStep> {
    let is_open = |step: &&PositionStep| step.latest.as_ref().is_some_and(|it| it.ended.is_none());
    state.steps.iter().filter(is_open).collect()
}

/// Returns the names that an expression can use at the position: variables, workload and outputs of
/// steps, with the names inside of shown values.
fn names(view: &ExecutionView) -> Vec<String> {
    let state = &view.state;
    let mut found = vec!["workload".to_owned(), "ctx".to_owned()];
    add_names(&mut found, "workload", &state.workload);
    for variable in &state.ctx {
        let name = format!("ctx.{}", variable.name);
        found.push(name.clone());
        add_names(&mut found, &name, &variable.value);
    }
    for step in state.steps.iter().filter(|step| step.runs > 0) {
        found.push(step.name.clone());
        add_names(&mut found, &step.name, &step.output);
    }
    if view.here.seen_by.item.is_some() {
        found.push("iter".to_owned());
    }
    found.truncate(NAMES_MAX);
    found
}

fn add_names(found: &mut Vec<String>, name: &str, value: &PositionValue) {
    if let PositionValue::Inline { value: Value::Object(map) } = value {
        found.extend(map.keys().map(|key| format!("{name}.{key}")));
    }
}

/// Returns the key of the word for a type of values.
fn kind_word(kind: &str) -> &'static str {
    match kind {
        "boolean" => "exec.kind_boolean",
        "number" => "exec.kind_number",
        "string" => "exec.kind_string",
        "list" => "exec.kind_list",
        "map" => "exec.kind_map",
        _ => "exec.kind_null",
    }
}

fn answered(page: &PageRequest, answer: &EvaluateAnswer) -> Markup {
    html! {
        @match &answer.result {
            TemplateResult::Value { kind, value } => {
                h3 { (page.t("exec.result")) " " span.soft { (page.words.t(kind_word(kind))) } }
                (json_tree(value))
            },
            TemplateResult::Error { message } => (error_line(message)),
        }
        @if !answer.reads.is_empty() {
            h3 { (page.t("exec.reads")) }
            @for read in &answer.reads {
                div.variable { span.name { code { (read.path) } }
                    @match &read.value {
                        Some(PositionValue::Inline { value }) => (json_tree(value)),
                        Some(PositionValue::LeftOut { bytes }) => span.soft { (bytes) " B" },
                        None => span.soft { (page.t("exec.undefined")) },
                    }
                }
            }
        }
    }
}
