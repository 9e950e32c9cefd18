//! A playbook as HTML.

use std::ops::Range;

use maud::{Markup, html};
use noetl_api::wire::PauseView;
use noetl_model::Pool;

use super::diff::{DiffLine, LineChange};
use super::graph::{StepLinks, graph};
use super::inputs::{FieldKind, InputField, PREFIX};
use super::view::{Comparison, PlaybookView};
use crate::address::with_query;
use crate::components::action::{Action, action, confirmed_action, reasoned_action};
use crate::components::duration_bars::duration_bars;
use crate::components::empty::empty;
use crate::components::error::{error_line, hint};
use crate::components::execution_table::execution_table;
use crate::components::id::playbook_address;
use crate::components::source_lines::StepLines;
use crate::components::source_text::coloured_lines;
use crate::components::time::time;
use crate::layout::form_fields;
use crate::pages::editor::editor_address;
use crate::request::PageRequest;

pub(super) fn playbook(page: &PageRequest, view: &PlaybookView) -> Markup {
    html! {
        (head(page, view))
        @if view.entry.archived_at.is_some() {
            (hint(&html! { (page.t("playbook.is_archived")) }))
        }
        @if let Some(pause) = &view.pause { (hint(&paused(page, pause))) }
        div.columns {
            div {
                section { h2.section-head { (page.t("playbook.source")) }
                    (versions(page, view))
                    @match &view.compared {
                        Some(compared) => (difference(page, compared)),
                        None => (source(page, view)),
                    }
                }
            }
            div {
                @if view.is_playbook() && page.visitor.may.run && view.entry.archived_at.is_none() {
                    (run_form(page, view))
                }
                @if view.is_playbook() {
                    section {
                        div.section-head { h2 { (page.t("playbook.graph")) } }
                        (graph(page, &view.entry.content, if view.compared.is_some() { StepLinks::Nowhere } else { StepLinks::Source }))
                    }
                }
            }
        }
        @if view.is_playbook() { (executions(page, view)) }
    }
}

fn head(page: &PageRequest, view: &PlaybookView) -> Markup {
    let address = playbook_address(&view.entry.path);
    let (name, label) = match view.entry.archived_at {
        None => ("archive", page.t("playbook.archive")),
        Some(_) => ("restore", page.t("playbook.restore")),
    };
    let change = Action { address: &address, label, fields: &[("action", name)] };
    let pause =
        Action { address: &address, label: page.t("exec.pause"), fields: &[("action", "pause")] };
    let resume =
        Action { address: &address, label: page.t("exec.resume"), fields: &[("action", "resume")] };
    html! {
        header.page-head {
            h1 { (view.entry.path) }
            span.soft { "v" (view.entry.version) " · " (view.entry.kind.to_lowercase()) " · "
                (time(view.entry.created_at)) }
            @if view.is_playbook() && page.visitor.may.run {
                div.end {
                    @if page.visitor.may.write {
                        a.button href=(edit_address(view)) { (page.t("editor.edit")) }
                    }
                    @match view.pause {
                        None => (reasoned_action(page, &pause)),
                        Some(_) => (action(page, &resume)),
                    }
                    @if page.visitor.may.write {
                        @match view.entry.archived_at {
                            None => (confirmed_action(page, &change, page.t("playbook.archive_question"))),
                            Some(_) => (action(page, &change)),
                        }
                    }
                }
            }
        }
    }
}

/// Draws the pause of the playbook: since when, by whom, and why.
fn paused(page: &PageRequest, pause: &PauseView) -> Markup {
    html! {
        (page.t("playbook.is_paused")) " " (time(pause.since))
        @if let Some(actor) = &pause.actor { " · " (page.words.fill("waiting.by", &[("name", actor)])) }
        @if let Some(reason) = &pause.reason { " · " (reason) }
    }
}

/// Returns the address of the editor, with the text of the version that is shown.
fn edit_address(view: &PlaybookView) -> String {
    let version = view.entry.version;
    let chosen = if version == view.newest { String::new() } else { version.to_string() };
    with_query(&editor_address(&view.entry.path), &[("version", &chosen)])
}

fn versions(page: &PageRequest, view: &PlaybookView) -> Markup {
    if view.newest < 2 {
        return html! {};
    }
    let compared = view.compared.as_ref().map(|it| it.version);
    html! {
        form.filters method="get" action=(playbook_address(&view.entry.path)) data-at-once {
            label { span { (page.t("playbook.version")) }
                select name="version" {
                    @for version in view.versions() {
                        option value=(version) selected[version == view.entry.version] { "v" (version) }
                    }
                }
            }
            label { span { (page.t("playbook.compare")) }
                select name="compare" {
                    option value="" { "–" }
                    @for version in view.versions().filter(|it| *it != view.entry.version) {
                        option value=(version) selected[Some(version) == compared] { "v" (version) }
                    }
                }
            }
            button type="submit" { (page.t("executions.show")) }
        }
    }
}

/// Draws the source; the lines of a step are one element, which the graph leads to.
fn source(page: &PageRequest, view: &PlaybookView) -> Markup {
    let lines = coloured_lines(&view.entry.content);
    let steps = StepLines::of(&view.entry.content);
    let mut from = 0;
    let mut parts = Vec::new();
    for (index, step) in view.steps.iter().enumerate() {
        let Some(found) = steps.get(step).filter(|it| it.start >= from) else { continue };
        parts.push((None, from..found.start));
        from = found.end;
        parts.push((Some((index, step)), found));
    }
    parts.push((None, from..lines.len()));
    html! {
        pre.source tabindex="0" {
            @for (step, range) in parts {
                @match step {
                    None => (numbered(&lines, range)),
                    Some((index, step)) => span.step-lines id={ "step-" (index) } {
                        (step_line(page, &lines, range.start, index, step))
                        (numbered(&lines, range.start + 1..range.end))
                    },
                }
            }
        }
    }
}

fn numbered(lines: &[Markup], range: Range<usize>) -> Markup {
    html! {
        @for at in range {
            span.line { span.at aria-hidden="true" { (at + 1) } (lines[at]) "\n" }
        }
    }
}

/// Draws the first line of a step: its number leads to the step in the graph.
fn step_line(page: &PageRequest, lines: &[Markup], at: usize, index: usize, step: &str) -> Markup {
    let label = format!("{} – {}: {step}", at + 1, page.t("playbook.show_in_graph"));
    html! {
        span.line { a.at href={ "#node-" (index) } title=(label) aria-label=(label) { (at + 1) } (lines[at]) "\n" }
    }
}

fn difference(page: &PageRequest, compared: &Comparison) -> Markup {
    html! {
        @if compared.lines.is_empty() { p.soft { (page.t("playbook.same")) } } @else {
            div.source.difference tabindex="0" {
                table { tbody { @for line in &compared.lines { (diff_line(line)) } } }
            }
        }
    }
}

fn diff_line(line: &DiffLine) -> Markup {
    let (class, mark) = match line.change {
        LineChange::Same => ("same", " "),
        LineChange::Removed => ("removed", "−"),
        LineChange::Added => ("added", "+"),
        LineChange::Gap => ("gap", "…"),
    };
    html! {
        tr class=(class) {
            td.number { @if let Some(old) = line.old { (old) } }
            td.number { @if let Some(new) = line.new { (new) } }
            td { code { (mark) " " (line.text) } }
        }
    }
}

fn run_form(page: &PageRequest, view: &PlaybookView) -> Markup {
    html! {
        section.panel.run {
            h2 { (page.t("playbook.run")) }
            form method="post" action=(playbook_address(&view.entry.path)) {
                (form_fields(page))
                input type="hidden" name="action" value="run";
                input type="hidden" name="version" value=(view.entry.version);
                @if let Some(refusal) = &view.refusal { (error_line(refusal)) }
                @for field in &view.inputs { (input(field)) }
                label { span { (page.t("playbook.pool")) }
                    input name="pool" placeholder=(Pool::SHARED) pattern="[A-Za-z0-9_\\-]*" value=(view.pool); }
                label { span { (page.t("executions.labels")) }
                    input name="labels" placeholder="team:ops, env:test" value=(view.labels); }
                div { button.main type="submit" { (page.t("playbook.start")) } }
            }
        }
    }
}

pub(in crate::pages) fn input(field: &InputField) -> Markup {
    let name = format!("{PREFIX}{}", field.name);
    let needed = field.is_required;
    html! {
        label { span { (field.name) @if needed { span.required aria-hidden="true" { " *" } } }
            @match &field.kind {
                FieldKind::Text if field.text.contains('\n') =>
                    textarea name=(name) rows="4" required[needed] { (field.text) },
                FieldKind::Text => input name=(name) required[needed] value=(field.text);,
                FieldKind::Number => input name=(name) type="number" step="any"
                    required[needed || !field.text.is_empty()] value=(field.text);,
                FieldKind::Flag => input name=(name) type="checkbox" value="true" checked[field.text == "true"];,
                FieldKind::Json => textarea name=(name) rows="3" spellcheck="false" required[needed] { (field.text) },
                FieldKind::Choice(choices) => (select(&name, field, choices)),
                FieldKind::Secret => input name=(name) type="password" autocomplete="off" required[needed];,
            }
            @if let Some(about) = &field.description { small { (about) } }
        }
    }
}

fn select(name: &str, field: &InputField, choices: &[String]) -> Markup {
    html! {
        select name=(name) required[field.is_required] {
            @if field.text.is_empty() { option value="" { } }
            @for choice in choices {
                option value=(choice) selected[*choice == field.text] { (choice) }
            }
        }
    }
}

fn executions(page: &PageRequest, view: &PlaybookView) -> Markup {
    html! {
        section {
            div.section-head { h2 { (page.t("playbook.executions")) } }
            @if view.executions.is_empty() {
                (empty(page.t("playbook.no_executions"), page.t("overview.empty_more"),
                    Some(&format!("noetl run {}", view.entry.path))))
            } @else {
                div #executions data-refresh="2000" {
                    (duration_bars(page, page.t("playbook.durations"), &view.durations))
                    (execution_table(page, &view.executions))
                }
            }
        }
    }
}
