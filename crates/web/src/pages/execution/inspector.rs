//! The inspector of a step: why it ran, its input and template, output, error, attempts and logs.

use std::time::Duration;

use maud::{Markup, html};
use noetl_api::wire::{
    GuardResultView, GuardSubjectView, GuardView, PositionStep, PositionValue, TemplateRead,
};
use noetl_model::{Bindings, Logs, Payload, ToolError};
use noetl_playbook::{Playbook, Step};
use serde_json::{Map, Value, json};

use super::address::Tab;
use super::attempts::{CommandEnd, CommandRecord, RunRecord};
use super::graph::cut;
use super::seek::SoughtPlace;
use super::sentence::{look, skip_reason};
use super::view::{ExecutionView, SelectedStep};
use crate::components::duration::{duration, growing};
use crate::components::id::execution_address;
use crate::components::json_tree::json_tree;
use crate::components::status::{Tone, badge};
use crate::components::table::{number, table, text, wide};
use crate::request::PageRequest;

/// Maximum number of bytes of a stream that the page shows.
const LOG_SHOWN_MAX: usize = 8 * 1024;
/// Maximum number of characters of a value that a guard reads.
const READ_MAX: usize = 120;

pub(super) fn inspector(page: &PageRequest, view: &ExecutionView) -> Markup {
    let Some(selected) = &view.selected else {
        return html! { p.soft { (page.t("exec.choose_step")) } };
    };
    let step = &selected.step;
    let look = look(&view.state, step);
    let declared = declared(view, &step.name);
    let telling = selected.telling();
    let chosen = telling.filter(|it| Some(it.command) == selected.chosen);
    html! {
        div.section-head {
            h2 { code { (step.name) } }
            (badge(look.tone, page.words.t(look.word)))
            @if step.runs > 1 { span.soft { (page.words.count("exec.runs", step.runs.into())) } }
        }
        (why(page, view, selected))
        (item_choice(page, view, step))
        @match chosen {
            Some(chosen) => (chosen_command(page, view, chosen)),
            None => @if let Some(error) = &step.error { (error_part(page, error)) },
        }
        @if let Some(telling) = telling {
            (part(page.t("exec.input"), true, &call(page, selected)))
            @if !telling.bindings.0.is_empty() {
                (part(page.t("exec.values"), false, &json_tree(&bindings_value(&telling.bindings))))
            }
        }
        @if let Some(declared) = declared {
            (part(page.t("exec.template"), false, &template(declared, telling)))
        }
        @if chosen.is_none() { (output(page, view, step)) }
        @if !selected.guards.is_empty() { (guards(page, view, &selected.guards)) }
        @if let Some(run) = &selected.run { (attempts(page, view, run)) }
        @if let Some(telling) = telling { (streams(page, telling, &selected.printed)) }
    }
}

/// Draws the choice of an item of a loop, and the link to the next one that failed.
fn item_choice(page: &PageRequest, view: &ExecutionView, step: &PositionStep) -> Markup {
    let here = view.here.step(&step.name);
    let items = step.latest.as_ref().and_then(|run| run.items).filter(|items| items.total > 1);
    let from = here.item(view.here.item);
    let is_missing = view.here.item.is_some()
        && view.selected.as_ref().is_some_and(|selected| selected.chosen.is_none());
    html! {
        @if let Some(items) = items {
            form.filter.item-choice method="get" action=(execution_address(here.execution)) {
                @for (name, value) in here.tab(Tab::Step).pairs() {
                    @if !value.is_empty() { input type="hidden" name=(name) value=(value); }
                }
                label { span { (page.t("exec.item")) }
                    input name="item" type="number" min="0" max=(items.total - 1) value=[view.here.item]; }
                button type="submit" { (page.t("exec.show")) }
                @if items.failed > 0 {
                    a href=(from.seeking(SoughtPlace::NextFailedItem)) { (page.t("exec.next_failed")) }
                }
            }
            @if is_missing { p.soft { (page.t("exec.no_item")) } }
        }
    }
}

pub(super) fn declared<'a>(view: &'a ExecutionView, name: &str) -> Option<&'a Step> {
    let (playbook, _) = view.drawn.graph.as_ref()?;
    playbook.index_of(name).map(|index| playbook.step(index))
}

/// Draws the head of a chosen command, and its end.
fn chosen_command(page: &PageRequest, view: &ExecutionView, command: &CommandRecord) -> Markup {
    let number = command.command.to_string();
    html! {
        div.section-head {
            h3 { (page.words.fill("exec.command", &[("number", &number)]))
                @if let Some(item) = command.task.place.item() {
                    ", " (page.words.fill("exec.failed_item", &[("item", &page.words.number(item))]))
                }
            }
            (end_badge(page, command))
            a href=(view.here.command(None).address()) { (page.t("exec.whole_step")) }
        }
        @match &command.end {
            Some(CommandEnd::Completed(output)) => {
                (part(page.t("exec.output"), true, &json_tree(&payload_value(output))))
            },
            Some(CommandEnd::Failed(error)) => (error_part(page, error)),
            Some(CommandEnd::Cancelled(reason)) => p.soft { (reason) },
            None => {},
        }
    }
}

/// Draws the settings that a tool was called with, as rendered.
pub(super) fn call(page: &PageRequest, selected: &SelectedStep) -> Markup {
    match &selected.call {
        Some(Ok(settings)) => json_tree(settings),
        Some(Err(error)) => error_part(page, error),
        None => html! { p.soft { (page.t("exec.no_call")) } },
    }
}

fn part(title: &str, is_open: bool, content: &Markup) -> Markup {
    html! { details.part open[is_open] { summary { h3 { (title) } } (content) } }
}

/// Draws why the step ran or was skipped: the arcs that led to it, with their guards.
fn why(page: &PageRequest, view: &ExecutionView, selected: &SelectedStep) -> Markup {
    let step = &selected.step;
    let graph = view.drawn.graph.as_ref().map(|(playbook, _)| playbook);
    let from: Vec<&str> = match &selected.run {
        Some(run) => run.from.iter().map(|it| it.as_str()).collect(),
        None => Vec::new(),
    };
    html! {
        div.why {
            @if let Some(reason) = step.skipped {
                p { (page.words.t(skip_reason(reason)))
                    @for reason in &selected.reasons {
                        @if let Some(when) = &reason.guard.when { " " code { (source_text(when)) } }
                        (values_read(page, &reason.guard))
                    }
                }
            } @else if step.status.is_none() {
                p.soft { (page.t("exec.not_reached")) }
                @for reason in &selected.reasons {
                    p {
                        @if let Some(from) = &reason.from {
                            (page.t("exec.not_from")) " " a href=(view.here.step(from).address()) { code { (from) } } ", "
                        }
                        (page.t("exec.was_false"))
                        @if let Some(when) = &reason.guard.when { " " code { (source_text(when)) } }
                        (values_read(page, &reason.guard))
                    }
                }
            } @else if from.is_empty() {
                p { (page.t("exec.is_entry")) }
            } @else {
                @for name in from {
                    @let reason = selected.reasons.iter().find(|it| it.from.as_deref() == Some(name));
                    p { (page.t("exec.entered_from")) " "
                        a href=(view.here.step(name).address()) { code { (name) } }
                        @if let Some(guard) = graph.and_then(|it| guard_between(it, name, &step.name)) {
                            ", " (page.t("exec.because")) " " code { (guard) }
                        }
                        @if let Some(reason) = reason { (values_read(page, &reason.guard)) }
                    }
                }
            }
        }
    }
}

/// Draws the values that a guard has read: `(ctx.total = 42)`.
fn values_read(page: &PageRequest, guard: &GuardView) -> Markup {
    html! {
        @if !guard.reads.is_empty() {
            " ("
            @for (index, read) in guard.reads.iter().enumerate() {
                @if index > 0 { ", " }
                code { (read.path) } " = " (read_value(page, read))
            }
            ")"
        }
    }
}

fn read_value(page: &PageRequest, read: &TemplateRead) -> Markup {
    match &read.value {
        Some(PositionValue::Inline { value }) => {
            html! { code { (cut(&value.to_string(), READ_MAX)) } }
        }
        Some(PositionValue::LeftOut { bytes }) => html! { span.soft { (bytes) " B" } },
        None => html! { span.soft { (page.t("exec.undefined")) } },
    }
}

/// Returns the guard of the first arc between two steps.
fn guard_between(playbook: &Playbook, from: &str, to: &str) -> Option<String> {
    let (from, to) = (playbook.index_of(from)?, playbook.index_of(to)?);
    let arc = playbook.step(from).next.arcs.iter().find(|arc| arc.to == to)?;
    arc.when.as_ref().map(|when| source_text(when.source()))
}

fn source_text(source: &Value) -> String {
    match source {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn error_part(page: &PageRequest, error: &ToolError) -> Markup {
    html! {
        div.error-box {
            p.kind { (error.kind.to_string())
                @if let Some(code) = &error.code { " · " (code) }
                @if let Some(status) = error.status { " · HTTP " (status) }
                @if error.retryable { " · " (page.t("exec.retryable")) }
            }
            pre { (error.message) }
            @if let Some(details) = &error.details {
                details { summary { (page.t("exec.details")) }
                    @match &**details {
                        Value::String(text) => pre { (text) },
                        other => (json_tree(other)),
                    }
                }
            }
        }
    }
}

/// Returns the variables of a command as an object; large ones by their size.
fn bindings_value(bindings: &Bindings) -> Value {
    let fields = bindings.0.iter().map(|(name, payload)| (name.clone(), payload_value(payload)));
    Value::Object(fields.collect::<Map<String, Value>>())
}

fn payload_value(payload: &Payload) -> Value {
    match payload {
        Payload::Inline(value) => (**value).clone(),
        Payload::Ref(reference) => json!({ "_stored": format!("{} B", reference.size) }),
    }
}

/// Draws the configuration of the task as written.
fn template(declared: &Step, telling: Option<&CommandRecord>) -> Markup {
    let index = telling.and_then(|it| usize::try_from(it.task_index()).ok()).unwrap_or(0);
    let task = declared.tasks.get(index).or(declared.tasks.first());
    html! {
        @if let Some(input) = &declared.input { (json_tree(input.source())) }
        @if let Some(task) = task { (json_tree(task.config.source())) }
    }
}

fn output(page: &PageRequest, view: &ExecutionView, step: &PositionStep) -> Markup {
    let has_ended = step.latest.as_ref().is_some_and(|run| run.ended.is_some());
    match &step.output {
        PositionValue::Inline { value: Value::Null } if !has_ended => html! {},
        PositionValue::Inline { value } => {
            let tree = html! { div data-path=(step.name) { (json_tree(value)) } };
            part(page.t("exec.output"), step.error.is_none(), &tree)
        }
        PositionValue::LeftOut { bytes } => part(
            page.t("exec.output"),
            true,
            &html! { (left_out(page, view, &format!("steps.{}", step.name), *bytes)) },
        ),
    }
}

/// Draws a link to a value that is too large for the page.
pub(super) fn left_out(page: &PageRequest, view: &ExecutionView, name: &str, bytes: u64) -> Markup {
    let address = crate::address::with_query(
        &format!("{}/value", crate::components::id::execution_address(view.here.execution)),
        &[("at", &view.state.position.to_string()), ("name", name)],
    );
    html! {
        p { a href=(address) data-load { (page.words.fill("exec.load", &[("bytes", &page.words.number(bytes))])) } }
    }
}

/// Draws the guards of the step's arcs, with their results and the values they read.
fn guards(page: &PageRequest, view: &ExecutionView, guards: &[GuardView]) -> Markup {
    let content = html! {
        @for guard in guards {
            div.guard {
                @if let GuardSubjectView::Arc { to, .. } = &guard.subject {
                    "→ " a href=(view.here.step(to).address()) { code { (to) } } " "
                }
                (guard_result(page, &guard.result))
                @if let Some(when) = &guard.when { div { code { (source_text(when)) } } }
                @for read in &guard.reads {
                    div.read { code { (read.path) } " = " (read_value(page, read)) }
                }
            }
        }
    };
    part(page.t("exec.arcs"), true, &content)
}

fn guard_result(page: &PageRequest, result: &GuardResultView) -> Markup {
    match result {
        GuardResultView::Held => badge(Tone::Good, page.t("exec.guard_held")),
        GuardResultView::NotHeld => badge(Tone::Quiet, page.t("exec.guard_not_held")),
        GuardResultView::NotEvaluated => badge(Tone::Quiet, page.t("exec.guard_not_evaluated")),
        GuardResultView::Error { message } => html! {
            span title=(message) { (badge(Tone::Bad, page.t("exec.step_failed"))) }
        },
    }
}

/// Draws the commands of the run, each with its worker, wait and run time.
fn attempts(page: &PageRequest, view: &ExecutionView, run: &RunRecord) -> Markup {
    let has_items = run.commands.iter().any(|command| command.task.place.item().is_some());
    let mut columns = vec![
        text(page.t("exec.attempt")),
        text(page.t("exec.end")),
        wide(page.t("exec.worker")),
        number(page.t("exec.waited")),
        number(page.t("exec.ran")),
    ];
    if has_items {
        columns.insert(0, number(page.t("exec.item")));
    }
    let until = if view.is_live() { page.now } else { view.state.at };
    let time = |time: Duration, is_open: bool| match is_open && view.is_live() {
        true => growing(page.words, time),
        false => duration(page.words, time),
    };
    let rows: Vec<Vec<Markup>> = run
        .commands
        .iter()
        .map(|command| {
            let claim = command.claims.last();
            let ended = command.ended_at.unwrap_or(until);
            let waited = claim.map_or(ended, |it| it.at).since(command.issued_at);
            let attempt = command.task.retry + 1;
            let number = command.command.to_string();
            let label = page.words.fill("exec.command", &[("number", &number)]);
            let mut cells = vec![
                html! { a href=(view.here.command(Some(command.command.0)).address())
                        aria-current=[(view.here.command == Some(command.command.0)).then_some("true")]
                        aria-label={ (attempt) " – " (label) } { (attempt) }
                    @if command.claims.len() > 1 { span.soft { " (" (command.claims.len()) ")" } } },
                end_badge(page, command),
                html! { @if let Some(claim) = claim { code.worker { (claim.worker) } } @else { span.soft { "–" } } },
                time(waited, command.ended_at.is_none() && claim.is_none()),
                html! { @if let Some(claim) = claim { (time(ended.since(claim.at), command.ended_at.is_none())) } @else { span.soft { "–" } } },
            ];
            if has_items {
                let item = command.task.place.item().map(|it| it.to_string()).unwrap_or_default();
                cells.insert(0, html! { (item) });
            }
            cells
        })
        .collect();
    let content = html! {
        (table(page.t("exec.attempts"), &columns, &rows))
        @if run.is_partial { p.soft { (page.t("exec.partial")) } }
    };
    part(page.t("exec.attempts"), true, &content)
}

fn end_badge(page: &PageRequest, command: &CommandRecord) -> Markup {
    match &command.end {
        Some(CommandEnd::Completed(_)) => badge(Tone::Good, page.t("exec.step_completed")),
        Some(CommandEnd::Failed(error)) => html! {
            span title=(error.message) { (badge(Tone::Bad, page.t("exec.step_failed"))) }
        },
        Some(CommandEnd::Cancelled(reason)) => html! {
            span title=(reason) { (badge(Tone::Quiet, page.t("exec.step_cancelled"))) }
        },
        None if command.claims.is_empty() => badge(Tone::Warning, page.t("exec.waiting")),
        None => badge(Tone::Active, page.t("exec.step_running")),
    }
}

/// Draws what the tool wrote to its output streams.
pub(super) fn streams(page: &PageRequest, command: &CommandRecord, printed: &Logs) -> Markup {
    let named = [("stdout", &printed.stdout), ("stderr", &printed.stderr)];
    html! {
        @for (name, text) in named {
            @if !text.is_empty() { (part(name, true, &html! { pre.log { (tail(text)) } })) }
        }
        @if printed.is_empty() && command.end.is_some() {
            p.soft { (page.t("exec.no_logs")) }
        }
    }
}

/// Returns the end of a text, at a character boundary.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(LOG_SHOWN_MAX);
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[from..]
}
