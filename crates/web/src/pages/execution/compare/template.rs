//! The comparison as HTML: what differs first, what is the same folded below it.

use maud::{Markup, html};
use noetl_api::wire::{
    ComparedSide, ComparedStep, ComparedValue, EventMark, ExecutionComparison, LogParting,
    PositionStep, PositionValue,
};
use noetl_app::ExecutionPosition;
use noetl_model::{ExecutionId, StepStatus};

use super::place_address;
use crate::address::with_query;
use crate::components::duration::duration;
use crate::components::error::hint;
use crate::components::id::{execution_address, execution_link, playbook_address, playbook_link};
use crate::components::json_tree::json_tree;
use crate::components::status::{badge, execution_status};
use crate::components::table::{table, text, wide};
use crate::components::time::time;
use crate::pages::execution::inspector::error_part;
use crate::pages::execution::sentence::{step_word, tone};
use crate::request::PageRequest;

pub(super) fn comparison(page: &PageRequest, found: &ExecutionComparison) -> Markup {
    let (left, right) = (&found.left, &found.right);
    let is_one = left.execution_id == right.execution_id;
    let names = if is_one {
        [left, right].map(|side| at_event(page, side.position))
    } else {
        [left, right].map(|side| short_id(side.execution_id.into()))
    };
    html! {
        header.page-head { h1 { (page.t("compare.title")) }
            div.end { a.button href=(place_address(place(right), place(left))) { (page.t("compare.swap")) } }
        }
        div.sides {
            (side_panel(page, left, page.t("compare.left")))
            (side_panel(page, right, page.t("compare.right")))
        }
        (positions(page, found))
        (versions(page, left, right))
        @if !is_one { (parting(page, found)) }
        (steps(page, found, &names))
        (values(page, found, &names, &ValueList {
            title: "ctx", prefix: "ctx.", values: &found.ctx, none: page.t("exec.no_ctx") }))
        (values(page, found, &names, &ValueList {
            title: page.t("exec.workload"), prefix: "", none: "",
            values: std::slice::from_ref(&found.workload) }))
    }
}

fn place(side: &ComparedSide) -> ExecutionPosition {
    let position = (side.position < side.last).then_some(side.position);
    ExecutionPosition { execution: side.execution_id.into(), position }
}

fn short_id(execution: ExecutionId) -> String {
    let text = execution.to_string();
    format!("…{}", text.get(text.len().saturating_sub(8)..).unwrap_or(&text))
}

fn at_event(page: &PageRequest, seq: u64) -> String {
    page.words.fill("compare.event", &[("seq", &page.words.number(seq))])
}

fn side_panel(page: &PageRequest, side: &ComparedSide, name: &str) -> Markup {
    let execution: ExecutionId = side.execution_id.into();
    let position = page.words.fill(
        "exec.event_of",
        &[("seq", &page.words.number(side.position)), ("last", &page.words.number(side.last))],
    );
    html! {
        section.panel.side aria-label=(name) {
            div.section-head { h2 { (execution_link(execution)) }
                (execution_status(page.words, side.status)) }
            p { (playbook_link(&side.path)) " " span.soft { "v" (side.version) } }
            p.soft { (page.t("exec.started")) " " (time(side.started_at)) " · "
                (page.t("exec.took")) " " (duration(page.words, side.at.since(side.started_at))) }
            p { a href=(with_query(&execution_address(execution), &[("at", &side.position.to_string())])) {
                (position) } }
            @if let Some(error) = &side.error { p.failure { (error.message) } }
        }
    }
}

/// Draws the form that chooses the two executions and their positions.
fn positions(page: &PageRequest, found: &ExecutionComparison) -> Markup {
    let (left, right) = (&found.left, &found.right);
    let address = format!("{}/compare", execution_address(left.execution_id.into()));
    html! {
        form.filters method="get" action=(address) {
            label { span { (page.t("compare.at_left")) }
                input name="at" type="number" min="1" max=(left.last) value=(left.position); }
            label { span { (page.t("compare.other")) }
                input name="to" inputmode="numeric" pattern="[0-9]+" size="20" value=(right.execution_id); }
            label { span { (page.t("compare.at_right")) }
                input name="to_at" type="number" min="1" max=(right.last) value=(right.position); }
            button type="submit" { (page.t("exec.show")) }
        }
    }
}

/// Names different playbooks or versions.
fn versions(page: &PageRequest, left: &ComparedSide, right: &ComparedSide) -> Markup {
    let (old, new) = (left.version.to_string(), right.version.to_string());
    if left.path != right.path {
        return hint(&html! { (page.t("compare.other_playbook")) " "
        (playbook_link(&left.path)) ", " (playbook_link(&right.path)) });
    }
    if left.version == right.version {
        return html! {};
    }
    let parameters = [("version", new.as_str()), ("compare", old.as_str())];
    let address = with_query(&playbook_address(&left.path), &parameters);
    hint(&html! {
        (page.words.fill("compare.other_version", &[("left", &old), ("right", &new)])) " "
        a href=(address) { (page.t("compare.show_versions")) }
    })
}

fn parting(page: &PageRequest, found: &ExecutionComparison) -> Markup {
    html! {
        section {
            div.section-head { h2 { (page.t("compare.parting")) } }
            @if found.shared > 0 { p.soft { (page.words.count("compare.shared", found.shared)) } }
            @match &found.parting {
                LogParting::Same => p { (page.t("compare.same_log")) },
                LogParting::NotFound { compared } =>
                    p { (page.words.count("compare.not_found", *compared)) },
                LogParting::Parted { left, right } => {
                    div.sides {
                        (parted(page, &found.left, left.as_ref()))
                        (parted(page, &found.right, right.as_ref()))
                    }
                    (compare_there(page, found, left.as_ref(), right.as_ref()))
                }
            }
        }
    }
}

fn parted(page: &PageRequest, side: &ComparedSide, event: Option<&EventMark>) -> Markup {
    let address = execution_address(side.execution_id.into());
    html! {
        div.panel.parted {
            @match event {
                None => p.soft { (page.t("compare.no_event")) },
                Some(event) => p {
                    a href=(with_query(&address, &[("at", &event.seq.to_string())])) {
                        (at_event(page, event.seq)) }
                    " " code { (event.event_type) }
                    @if let Some(step) = &event.step { " " code { (step) } }
                    " " span.soft { "+" (duration(page.words, event.at.since(side.started_at))) }
                },
            }
        }
    }
}

/// Draws the link to the comparison at the events where the logs part.
fn compare_there(
    page: &PageRequest,
    found: &ExecutionComparison,
    left: Option<&EventMark>,
    right: Option<&EventMark>,
) -> Markup {
    let (Some(left), Some(right)) = (left, right) else { return html! {} };
    let at = |side: &ComparedSide, event: &EventMark| ExecutionPosition {
        execution: side.execution_id.into(),
        position: Some(event.seq),
    };
    let address = place_address(at(&found.left, left), at(&found.right, right));
    html! { p { a href=(address) { (page.t("compare.there")) } } }
}

fn steps(page: &PageRequest, found: &ExecutionComparison, names: &[String; 2]) -> Markup {
    let (same, other): (Vec<&ComparedStep>, Vec<&ComparedStep>) =
        found.steps.iter().partition(|step| step.is_same);
    let columns = [text(page.t("exec.tab_step")), wide(&names[0]), wide(&names[1])];
    let rows: Vec<Vec<Markup>> = other.iter().map(|step| step_row(page, found, step)).collect();
    html! {
        section.compared {
            div.section-head { h2 { (page.t("compare.steps")) } }
            @if rows.is_empty() { p.soft { (page.t("compare.no_step")) } } @else {
                (table(page.t("compare.steps"), &columns, &rows))
            }
            @if !same.is_empty() {
                details.part { summary { (page.words.count("compare.same_steps", len(same.len()))) }
                    ul.same { @for step in same { li {
                        code { (step.name) }
                        @if let Some(it) = &step.left { " " (badge(tone(it), page.words.t(step_word(it)))) }
                    } } }
                }
            }
        }
    }
}

fn len(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn step_row(page: &PageRequest, found: &ExecutionComparison, step: &ComparedStep) -> Vec<Markup> {
    let cell = |side: &ComparedSide, it: Option<&PositionStep>| {
        step_cell(page, side, it, step.has_other_output)
    };
    vec![
        html! { code { (step.name) } },
        cell(&found.left, step.left.as_ref()),
        cell(&found.right, step.right.as_ref()),
    ]
}

fn step_cell(
    page: &PageRequest,
    side: &ComparedSide,
    step: Option<&PositionStep>,
    shows_output: bool,
) -> Markup {
    let Some(step) = step else {
        return html! { span.soft { (page.t("compare.no_such_step")) } };
    };
    let took = step.latest.as_ref().and_then(|run| Some(run.ended_at?.since(run.entered_at)));
    let address = with_query(
        &execution_address(side.execution_id.into()),
        &[("at", &side.position.to_string()), ("step", &step.name)],
    );
    html! {
        p { a href=(address) { (badge(tone(step), page.words.t(step_word(step)))) }
            @if step.runs > 1 { " " span.soft { (page.words.count("exec.runs", step.runs.into())) } }
            @if let Some(items) = step.latest.as_ref().and_then(|run| run.items) {
                " " span.soft { (page.words.fill("executions.items", &[
                    ("done", &page.words.number(items.completed + items.failed)),
                    ("total", &page.words.number(items.total))])) }
            }
            @if let Some(took) = took { " " span.soft { (duration(page.words, took)) } }
        }
        @if let Some(error) = &step.error { (error_part(page, error)) }
        // A step that has not completed has no output.
        @if shows_output && step.status == Some(StepStatus::Completed) {
            (shown_value(page, side, &format!("steps.{}", step.name), Some(&step.output)))
        }
    }
}

/// A list of values under a heading.
struct ValueList<'a> {
    title: &'a str,
    /// The beginning of the values' names.
    prefix: &'static str,
    values: &'a [ComparedValue],
    /// The text for an empty list.
    none: &'a str,
}

fn values(
    page: &PageRequest,
    found: &ExecutionComparison,
    names: &[String; 2],
    list: &ValueList<'_>,
) -> Markup {
    let (same, other): (Vec<&ComparedValue>, Vec<&ComparedValue>) =
        list.values.iter().partition(|value| value.is_same);
    let columns = [text(page.t("compare.name")), wide(&names[0]), wide(&names[1])];
    let shown = |side, name: &str, value: &Option<PositionValue>| {
        shown_value(page, side, &format!("{}{name}", list.prefix), value.as_ref())
    };
    let row = |it: &&ComparedValue| {
        let left = shown(&found.left, &it.name, &it.left);
        vec![html! { code { (it.name) } }, left, shown(&found.right, &it.name, &it.right)]
    };
    let rows: Vec<Vec<Markup>> = other.iter().map(row).collect();
    html! {
        section.compared {
            div.section-head { h2 { (list.title) } }
            @if !rows.is_empty() { (table(list.title, &columns, &rows)) }
            @else if list.values.is_empty() { p.soft { (list.none) } }
            @else { p.soft { (page.t("compare.no_difference")) } }
            @if !same.is_empty() {
                details.part { summary { (page.words.count("compare.same_values", len(same.len()))) }
                    ul.same { @for value in same { li { code { (value.name) }
                        (shown(&found.left, &value.name, &value.left))
                    } } }
                }
            }
        }
    }
}

fn shown_value(
    page: &PageRequest,
    side: &ComparedSide,
    name: &str,
    value: Option<&PositionValue>,
) -> Markup {
    match value {
        None => html! { span.soft { (page.t("compare.no_value")) } },
        Some(PositionValue::Inline { value }) => json_tree(value),
        Some(PositionValue::LeftOut { bytes }) => {
            let address = format!("{}/value", execution_address(side.execution_id.into()));
            let position = side.position.to_string();
            let address = with_query(&address, &[("at", &position), ("name", name)]);
            let bytes = page.words.number(*bytes);
            html! { a href=(address) { (page.words.fill("exec.load", &[("bytes", &bytes)])) } }
        }
    }
}
