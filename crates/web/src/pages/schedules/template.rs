//! Schedules as HTML.

use maud::{Markup, html};
use noetl_api::wire::{ScheduleEventView, ScheduleView};

use super::{address, execution_of};
use crate::address::with_query;
use crate::components::action::{Action, action};
use crate::components::empty::empty;
use crate::components::error::error_line;
use crate::components::execution_table::execution_table;
use crate::components::id::{execution_link, playbook_link};
use crate::components::json_tree::json_tree;
use crate::components::progress::ExecutionLine;
use crate::components::status::{Tone, badge};
use crate::components::table::{actions, table, text, wide};
use crate::components::time::{planned_time, time_text};
use crate::layout::form_fields;
use crate::request::PageRequest;

#[derive(Debug)]
pub(super) struct ScheduleDetail {
    pub(super) schedule: ScheduleView,
    pub(super) instants: Vec<String>,
    /// The last executions, newest first.
    pub(super) executions: Vec<ExecutionLine>,
    pub(super) events: Vec<ScheduleEventView>,
}

pub(super) fn schedules(page: &PageRequest, schedules: &[ScheduleView]) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.schedules")) } }
        @if schedules.is_empty() {
            (empty(page.t("schedules.empty"), page.t("schedules.empty_more"),
                Some("noetl register examples/schedules/nightly.yaml")))
        } @else {
            div #live data-refresh="5000" { (list(page, schedules)) }
        }
    }
}

fn list(page: &PageRequest, schedules: &[ScheduleView]) -> Markup {
    let columns = [
        wide(page.t("schedules.schedule")),
        text(page.t("executions.status")),
        text(page.t("schedules.timing")),
        text(page.t("schedules.next")),
        text(page.t("schedules.last")),
        actions(page.t("schedules.actions")),
    ];
    let rows: Vec<Vec<Markup>> = schedules
        .iter()
        .map(|it| {
            vec![
                html! {
                    a href=(address(&it.path)) { (it.path) }
                    div.soft { (page.t("schedules.starts")) " " (playbook_link(&it.playbook)) }
                    @if let Some(trouble) = &it.trouble { (error_line(trouble)) }
                    (queued(page, it))
                },
                state(page, it),
                html! { code { (it.timing) } },
                html! { @match &it.next_at { Some(next) => (time_text(next)), None => span.soft { "–" } } },
                last(it),
                html! { @if page.visitor.may.run { (switch(page, it)) } },
            ]
        })
        .collect();
    table(page.t("nav.schedules"), &columns, &rows)
}

fn state(page: &PageRequest, schedule: &ScheduleView) -> Markup {
    match (schedule.trouble.is_some(), schedule.state.as_str()) {
        (true, _) => badge(Tone::Bad, page.t("schedules.trouble")),
        (false, "PAUSED") => badge(Tone::Quiet, page.t("schedules.paused")),
        (false, _) => badge(Tone::Good, page.t("schedules.active")),
    }
}

fn last(schedule: &ScheduleView) -> Markup {
    let execution = schedule.last_execution_id.as_ref().and_then(|id| id.parse().ok());
    html! {
        @match &schedule.last_instant {
            Some(instant) => { (time_text(instant)) " " },
            None => span.soft { "–" },
        }
        @if let Some(execution) = execution { (execution_link(execution)) }
    }
}

fn switch(page: &PageRequest, schedule: &ScheduleView) -> Markup {
    let (name, label) = match schedule.state.as_str() {
        "PAUSED" => ("resume", page.t("schedules.resume")),
        _ => ("pause", page.t("schedules.pause")),
    };
    let address = address(&schedule.path);
    action(page, &Action { address: &address, label, fields: &[("action", name)] })
}

pub(super) fn schedule(page: &PageRequest, detail: &ScheduleDetail) -> Markup {
    let schedule = &detail.schedule;
    html! {
        header.page-head {
            h1 { (schedule.path) }
            (state(page, schedule))
            div.end { @if page.visitor.may.run { (switch(page, schedule)) } }
        }
        @if let Some(trouble) = &schedule.trouble { (error_line(trouble)) }
        (queued(page, schedule))
        p.lead { (page.t("schedules.starts")) " " (playbook_link(&schedule.playbook)) " · " code { (schedule.timing) } }
        div.columns {
            section {
                div.section-head { h2 { (page.t("schedules.instants")) } }
                @if detail.instants.is_empty() { p.soft { (page.t("schedules.no_instants")) } }
                ol.plain-list { @for instant in &detail.instants { li { (planned_time(instant)) } } }
            }
            @if page.visitor.may.run { (backfill(page, schedule)) }
        }
        section {
            div.section-head { h2 { (page.t("nav.executions")) }
                a href=(with_query("/ui/executions", &[("playbook", &schedule.playbook)])) {
                    (page.t("schedules.of_playbook")) } }
            @if detail.executions.is_empty() { p.soft { (page.t("schedules.no_execution")) } }
            @else { div #executions data-refresh="5000" { (execution_table(page, &detail.executions)) } }
        }
        section {
            div.section-head { h2 { (page.t("schedules.events")) } }
            (events(page, &detail.events))
        }
    }
}

/// Draws the instants that wait for the execution before them.
fn queued(page: &PageRequest, schedule: &ScheduleView) -> Markup {
    html! {
        @if let Some(until) = &schedule.queued_until {
            p.attention { (page.t("schedules.queued")) " " (planned_time(until)) }
        }
    }
}

fn backfill(page: &PageRequest, schedule: &ScheduleView) -> Markup {
    html! {
        section.panel.run {
            h2 { (page.t("schedules.backfill")) }
            p.soft { (page.t("schedules.backfill_more")) }
            form method="post" action=(address(&schedule.path)) {
                (form_fields(page))
                input type="hidden" name="action" value="backfill";
                label { span { (page.t("executions.from")) } input name="from" type="datetime-local" required; }
                label { span { (page.t("executions.until")) } input name="until" type="datetime-local"; }
                div { button type="submit" { (page.t("schedules.backfill")) } }
            }
        }
    }
}

fn events(page: &PageRequest, events: &[ScheduleEventView]) -> Markup {
    let columns =
        [text(page.t("events.at")), text(page.t("events.event")), wide(page.t("events.values"))];
    let rows: Vec<Vec<Markup>> = events
        .iter()
        .map(|event| {
            vec![
                time_text(&event.created_at),
                html! { code { (event.event_type) } },
                html! {
                    @if let Some(execution) = execution_of(event) { (execution_link(execution)) }
                    (json_tree(&event.context))
                },
            ]
        })
        .collect();
    table(page.t("schedules.events"), &columns, &rows)
}
