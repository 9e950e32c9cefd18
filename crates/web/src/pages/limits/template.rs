//! A limit as HTML.

use std::time::Duration;

use maud::{Markup, html};
use noetl_api::wire::{LimitView, SlotView};
use noetl_model::ExecutionId;

use super::LimitPage;
use crate::components::duration::duration;
use crate::components::empty::empty;
use crate::components::id::{execution_link, playbook_link};
use crate::components::table::{number, table, text, wide};
use crate::components::time::time;
use crate::request::PageRequest;

pub(super) fn limit(page: &PageRequest, view: &LimitPage) -> Markup {
    let LimitPage { detail, .. } = view;
    html! {
        (head(page, &detail.limit.name))
        div #live data-refresh="3000" {
            (facts(page, &detail.limit))
            // Nobody holds the grants of a rate.
            @if detail.limit.max.is_some() {
                section {
                    div.section-head { h2 { (page.t("limits.holders")) } }
                    @if detail.slots.is_empty() { p.soft { (page.t("limits.no_holder")) } }
                    @else { (slots(page, view, &detail.slots, SlotKind::Held)) }
                    (more(page, detail.limit.holders, detail.slots.len()))
                }
            }
            section {
                div.section-head { h2 { (page.t("limits.queue")) } }
                @if detail.queue.is_empty() { p.soft { (page.t("limits.no_queue")) } }
                @else { (slots(page, view, &detail.queue, SlotKind::Queued)) }
                (more(page, detail.limit.queued, detail.queue.len()))
            }
        }
    }
}

/// Draws the page of a limit that nobody holds or waits for.
pub(super) fn unused(page: &PageRequest, name: &str) -> Markup {
    html! {
        (head(page, name))
        (empty(page.t("limits.unused"), page.t("limits.unused_more"), None))
    }
}

fn head(page: &PageRequest, name: &str) -> Markup {
    html! {
        header.page-head {
            h1 { (page.t("workers.limit")) " " code { (name) } }
            a href="/ui/workers" { (page.t("limits.all")) }
        }
    }
}

fn facts(page: &PageRequest, limit: &LimitView) -> Markup {
    html! {
        dl.facts {
            div { dt { (page.t("workers.allows")) } dd { (limit.allows) } }
            @if limit.max.is_some() {
                div { dt { (page.t("workers.holders")) } dd { (page.words.number(limit.holders)) } }
            }
            div { dt { (page.t("workers.queued")) } dd { (page.words.number(limit.queued)) } }
            @if let Some(oldest) = limit.oldest_wait_seconds {
                div { dt { (page.t("workers.oldest")) } dd { (seconds(page, oldest)) } }
            }
        }
    }
}

fn seconds(page: &PageRequest, seconds: f64) -> Markup {
    duration(page.words, Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// The rows of a table of slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotKind {
    Held,
    Queued,
}

fn slots(page: &PageRequest, view: &LimitPage, slots: &[SlotView], kind: SlotKind) -> Markup {
    let (caption, lasts) = match kind {
        SlotKind::Held => ("limits.holders", "limits.held"),
        SlotKind::Queued => ("limits.queue", "exec.waited"),
    };
    let columns = [
        number(page.t("limits.place")),
        text(page.t("executions.id")),
        wide(page.t("executions.playbook")),
        text(page.t("limits.for")),
        number(page.t("limits.priority")),
        number(page.words.t(lasts)),
        text(page.t("workers.since")),
    ];
    let row = |(index, slot): (usize, &SlotView)| {
        let execution = ExecutionId::from(slot.execution_id);
        vec![
            html! { (index + 1) },
            execution_link(execution),
            html! { @if let Some(path) = view.paths.get(&execution) { (playbook_link(path)) } },
            html! { @match slot.command {
                Some(command) => (page.words.fill("exec.command", &[("number", &command.to_string())])),
                None => (page.t("limits.whole")),
            } },
            html! { (slot.priority) },
            seconds(page, slot.seconds),
            time(slot.since),
        ]
    };
    let rows: Vec<Vec<Markup>> = slots.iter().enumerate().map(row).collect();
    table(page.words.t(caption), &columns, &rows)
}

/// Draws the number of rows that are not shown.
fn more(page: &PageRequest, all: u64, shown: usize) -> Markup {
    let left = all.saturating_sub(u64::try_from(shown).unwrap_or(u64::MAX));
    html! {
        @if left > 0 { p.soft { (page.words.fill("workers.more", &[("count", &page.words.number(left))])) } }
    }
}
