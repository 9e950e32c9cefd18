//! The panel of a failed execution: where it failed, with which input, and how to repair it.

use maud::{Markup, html};
use noetl_api::wire::PositionValue;

use super::address::Tab;
use super::attempts::RunRecord;
use super::inspector::{call, error_part, streams};
use super::view::{ExecutionView, SelectedStep};
use crate::components::action::{Action, action};
use crate::components::id::execution_address;
use crate::components::json_tree::json_tree;
use crate::request::PageRequest;

pub(super) fn failure(page: &PageRequest, view: &ExecutionView, failed: &SelectedStep) -> Markup {
    let telling = failed.run.as_ref().and_then(RunRecord::telling);
    let base = execution_address(view.here.execution);
    let at = view.state.position;
    html! {
        details.failure-panel open[view.here.tab == Tab::Step] {
            summary { h2 #failure-title { (page.words.fill("exec.failed_in", &[("step", &failed.step.name)]))
                @if let Some(item) = telling.and_then(|it| it.task.place.item()) {
                    ", " (page.words.fill("exec.failed_item", &[("item", &page.words.number(item))]))
                }
                @if let Some(telling) = telling {
                    ", " (page.words.fill("exec.failed_attempt", &[("attempt", &(telling.task.retry + 1).to_string())]))
                }
            } }
            @if let Some(error) = &failed.step.error { (error_part(page, error)) }
            div.columns {
                div {
                    h3 { (page.t("exec.input")) }
                    (call(page, failed))
                }
                div {
                    h3 { (page.t("exec.upstream")) }
                    (upstream(page, view, failed))
                }
            }
            @if let Some(telling) = telling { (streams(page, telling, &failed.printed)) }
            @if page.visitor.may.run {
                div.repairs {
                    (action(page, &Action { address: &format!("{base}/retry"), label: page.t("exec.retry"), fields: &[] }))
                    @if page.visitor.may.write {
                        a.button href={ (base) "/fork?at=" (at) "&edit=playbook" } { (page.t("exec.retry_edited")) }
                    }
                    a.button href={ (base) "/fork?at=" (at) } { (page.t("exec.retry_changed")) }
                }
            }
        }
    }
}

fn upstream(page: &PageRequest, view: &ExecutionView, failed: &SelectedStep) -> Markup {
    let from = failed.run.as_ref().map(|run| run.from.as_slice()).unwrap_or_default();
    let steps = from
        .iter()
        .filter_map(|name| view.state.steps.iter().find(|step| step.name == name.as_str()));
    html! {
        @if from.is_empty() { p.soft { (page.t("exec.no_upstream")) } }
        @for step in steps {
            a href=(view.here.step(&step.name).address()) { code { (step.name) } }
            @match &step.output {
                PositionValue::Inline { value } => (json_tree(value)),
                PositionValue::LeftOut { bytes } => p.soft { (bytes) " B" },
            }
        }
    }
}
