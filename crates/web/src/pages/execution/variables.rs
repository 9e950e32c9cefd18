//! Variables at the position, and their difference from another position.

use maud::{Markup, html};
use noetl_api::wire::{
    EvaluateRequest, PositionChange, PositionState, PositionValue, TemplateResult, ValueChange,
};
use noetl_app::{App, PositionError};
use serde_json::Value;

use super::address::Here;
use super::inspector::left_out;
use super::view::ExecutionView;
use crate::components::json_tree::json_tree;
use crate::components::status::execution_status;
use crate::error::PageError;
use crate::request::PageRequest;

/// The changes that the tab of variables marks.
pub(super) struct Variables {
    /// The change that the event at the position made.
    pub(super) last: PositionChange,
    /// The difference between the two positions, if there are two.
    pub(super) between: Option<PositionChange>,
    /// The variables of open items of loops.
    iters: Vec<ItemVariables>,
}

/// The `iter` of an open item of a loop.
struct ItemVariables {
    step: String,
    item: u64,
    value: Value,
}

/// Maximum number of items whose variables are shown.
const ITERS_MAX: usize = 5;

impl Variables {
    pub(super) async fn load(
        app: &App,
        here: &Here,
        state: &PositionState,
    ) -> Result<Self, PageError> {
        let last = app.position_change(here.execution, Some(state.position)).await?;
        let between = match here.to {
            Some(to) => Some(app.position_difference(here.execution, state.position, to).await?),
            None => None,
        };
        let iters = item_variables(app, here, state).await?;
        Ok(Self { last, between, iters })
    }
}

/// Loads the variables of the first open items.
async fn item_variables(
    app: &App,
    here: &Here,
    state: &PositionState,
) -> Result<Vec<ItemVariables>, PageError> {
    let mut items: Vec<(String, u64)> = Vec::new();
    for part in &state.open.parts {
        if let (Some(step), Some(item)) = (&part.step, part.item)
            && !items.contains(&(step.clone(), item))
        {
            items.push((step.clone(), item));
        }
    }
    let mut found = Vec::new();
    for (step, item) in items.into_iter().take(ITERS_MAX) {
        let request = EvaluateRequest {
            at: Some(state.position),
            template: Value::from("{{ iter }}"),
            step: Some(step.clone()),
            item: Some(item),
        };
        let answer = match app.evaluate_at(here.execution, &request).await {
            Ok(answer) => answer,
            // A part of an earlier run of the step has no variables of its own.
            Err(PositionError::NoOpenRun { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        if let TemplateResult::Value { value, .. } = answer.result {
            found.push(ItemVariables { step, item, value });
        }
    }
    Ok(found)
}

pub(super) fn variables(page: &PageRequest, view: &ExecutionView, variables: &Variables) -> Markup {
    let state = &view.state;
    let changed = |name: &str| variables.last.ctx.iter().any(|change| change.name == name);
    let outputs = state.steps.iter().filter(|step| has_value(&step.output));
    let has_outputs = outputs.clone().next().is_some();
    html! {
        @if let Some(between) = &variables.between { (difference(page, between)) }
        h3 { "ctx" }
        @if state.ctx.is_empty() { p.soft { (page.t("exec.no_ctx")) } }
        @for variable in &state.ctx {
            (named(page, view, &format!("ctx.{}", variable.name), &variable.name, &variable.value,
                changed(&variable.name)))
        }
        @if !variables.iters.is_empty() {
            h3 { "iter" }
            @for own in &variables.iters {
                div.variable {
                    span.name { code { (own.step) } " " (page.words.fill("exec.failed_item", &[("item", &page.words.number(own.item))])) }
                    (json_tree(&own.value))
                }
            }
        }
        h3 { "workload" }
        (named(page, view, "workload", "workload", &state.workload, false))
        @if has_outputs { h3 { (page.t("exec.outputs")) } }
        @for step in outputs {
            @let is_changed = variables.last.steps.iter()
                .any(|change| change.name == step.name && change.has_other_output);
            (named(page, view, &format!("steps.{}", step.name), &step.name, &step.output, is_changed))
        }
    }
}

fn has_value(value: &PositionValue) -> bool {
    !matches!(value, PositionValue::Inline { value: Value::Null })
}

fn named(
    page: &PageRequest,
    view: &ExecutionView,
    path: &str,
    name: &str,
    value: &PositionValue,
    is_changed: bool,
) -> Markup {
    html! {
        div.variable.changed[is_changed] data-path=(path.strip_prefix("steps.").unwrap_or(path)) {
            span.name { code { (name) } @if is_changed { " " span.mark { (page.t("exec.changed")) } } }
            @match value {
                PositionValue::Inline { value } => (json_tree(value)),
                PositionValue::LeftOut { bytes } => (left_out(page, view, path, *bytes)),
            }
        }
    }
}

/// Draws the difference between two positions: variables, steps and arcs.
fn difference(page: &PageRequest, change: &PositionChange) -> Markup {
    let (from, to) = (change.from.to_string(), change.to.to_string());
    let is_same = change.ctx.is_empty() && change.steps.is_empty() && change.workload.is_none();
    html! {
        section.difference {
            h3 { (page.words.fill("exec.between", &[("from", &from), ("to", &to)])) }
            @if is_same { p.soft { (page.t("exec.no_difference")) } }
            @if let Some((before, after)) = change.status {
                p { (page.t("exec.status")) ": " (execution_status(page.words, before)) " → " (execution_status(page.words, after)) }
            }
            @for value in change.workload.iter().chain(&change.ctx) { (value_change(value)) }
            @for step in &change.steps {
                @let states = [&step.before, &step.after].map(|it| it.as_ref());
                p.step-change { code { (step.name) } " "
                    @for (index, state) in states.into_iter().enumerate() {
                        @if index > 0 { " → " }
                        @match state {
                            Some(state) => { (page.words.t(super::sentence::step_word(state)))
                                span.soft { " ×" (state.runs) } },
                            None => span.soft { (page.t("exec.step_not_reached")) },
                        }
                    }
                    @if step.has_other_output { " · " (page.t("exec.other_output")) }
                }
            }
        }
    }
}

fn value_change(change: &ValueChange) -> Markup {
    html! {
        div.value-change {
            code { (change.name) }
            @if let Some(before) = &change.before { div.before { (short_value(before)) } }
            @if let Some(after) = &change.after { div.after { (short_value(after)) } }
        }
    }
}

fn short_value(value: &PositionValue) -> Markup {
    match value {
        PositionValue::Inline { value } => json_tree(value),
        PositionValue::LeftOut { bytes } => html! { span.soft { (bytes) " B" } },
    }
}
