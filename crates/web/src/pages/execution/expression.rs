//! A template tried against the state at the position.

use maud::{Markup, html};
use noetl_api::wire::{EvaluateAnswer, EvaluateRequest, PositionValue, TemplateResult};
use noetl_app::{App, PositionError};
use serde_json::Value;

use super::address::{Here, PositionQuery, Tab};
use super::view::ExecutionView;
use crate::components::error::error_line;
use crate::components::id::execution_address;
use crate::components::json_tree::json_tree;
use crate::error::PageError;
use crate::request::PageRequest;

/// An expression with its answer, if one was entered.
pub(super) struct TriedExpression {
    text: String,
    answer: Option<Result<EvaluateAnswer, String>>,
}

impl TriedExpression {
    pub(super) async fn load(
        app: &App,
        here: &Here,
        query: &PositionQuery,
    ) -> Result<Self, PageError> {
        let text = query.expression.clone();
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
            step: None,
            item: None,
        };
        let answer = match app.evaluate_at(here.execution, &request).await {
            Ok(answer) => Ok(answer),
            Err(PositionError::Load(error)) => return Err(error.into()),
            Err(error) => Err(error.to_string()),
        };
        Ok(Self { text, answer: Some(answer) })
    }
}

pub(super) fn expression(
    page: &PageRequest,
    view: &ExecutionView,
    trial: &TriedExpression,
) -> Markup {
    let names = view.state.ctx.iter().map(|it| format!("ctx.{}", it.name));
    let steps = view.state.steps.iter().filter(|it| it.runs > 0).map(|it| it.name.clone());
    html! {
        form.stacked method="get" action=(execution_address(view.here.execution)) {
            @if let Some(at) = view.here.at { input type="hidden" name="at" value=(at); }
            input type="hidden" name="tab" value=(Tab::Try.name());
            label { span { (page.t("exec.expression")) }
                input type="text" name="expression" value=(trial.text) list="names" spellcheck="false"
                    autocomplete="off" placeholder="{{ workload }}"; }
            datalist #names {
                @for name in names.chain(steps).chain(["workload".to_owned()]) { option value=(name) {} }
            }
            button type="submit" { (page.t("exec.evaluate")) }
        }
        @match &trial.answer {
            None => p.soft { (page.t("exec.expression_more")) },
            Some(Err(message)) => (error_line(message)),
            Some(Ok(answer)) => (answered(page, answer)),
        }
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
