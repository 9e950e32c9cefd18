//! The first page as HTML.

use maud::{Markup, html};

use super::view::{Attention, OverviewView};
use crate::address::with_query;
use crate::components::action::{Action, action};
use crate::components::command::command;
use crate::components::error::{error_line, hint};
use crate::components::execution_table::execution_table;
use crate::components::histogram::histogram;
use crate::components::status::{Tone, badge};
use crate::pages::workers::unserved;
use crate::request::PageRequest;

pub(super) fn overview(page: &PageRequest, view: &OverviewView) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.overview")) } }
        @if view.recent.is_empty() { (first_steps(page)) }
        div #live data-refresh="2000" {
            @if !view.attention.is_empty() {
                section { div.section-head { h2 { (page.t("overview.attention")) } }
                    (attention(page, &view.attention)) }
            } @else if !view.recent.is_empty() {
                (badge(Tone::Good, page.t("overview.well")))
            }
            @if !view.running.is_empty() {
                section {
                    div.section-head { h2 { (page.t("overview.running")) }
                        a href="/ui/executions?status=RUNNING" { (page.t("overview.all")) } }
                    (execution_table(page, &view.running))
                }
            }
            @if let Some(counts) = view.day.as_ref().filter(|_| !view.recent.is_empty()) {
                section {
                    div.section-head { h2 { (page.t("overview.day")) } }
                    (histogram(page, counts, |from, until| {
                        with_query("/ui/executions", &[("from", from), ("until", until)])
                    }, None))
                }
            }
            @if !view.recent.is_empty() {
                section {
                    div.section-head { h2 { (page.t("overview.recent")) }
                        a href="/ui/executions" { (page.t("overview.all")) } }
                    (execution_table(page, &view.recent))
                }
            }
        }
    }
}

/// Draws the page of a new machine: a button that runs an example, and the command that does it.
fn first_steps(page: &PageRequest) -> Markup {
    let example =
        Action { address: "/ui/example", label: page.t("overview.run_example"), fields: &[] };
    html! {
        div.empty.first {
            p.title { (page.t("overview.empty")) }
            p { (page.t("overview.empty_more")) }
            @if page.visitor.may.run { div.main-action { (action(page, &example)) } }
            p { (page.t("overview.or_command")) }
            (command("noetl run examples/hello_world.yaml"))
        }
    }
}

fn attention(page: &PageRequest, attention: &Attention) -> Markup {
    html! {
        div.stack {
            @if attention.approvals > 0 {
                (hint(&html! { a href="/ui/waiting" {
                    (page.words.count("waiting.people", attention.approvals as u64)) } }))
            }
            @for pool in &attention.pools { (unserved(page, pool)) }
            @for schedule in &attention.schedules {
                (hint(&html! {
                    a href="/ui/schedules" { (page.t("overview.schedule")) " " (schedule.path) }
                    @if let Some(trouble) = &schedule.trouble { (error_line(trouble)) }
                }))
            }
            @for feed in &attention.feeds {
                (hint(&html! { a href="/ui/feeds" { (page.words.fill("overview.feed", &[("feed", &feed.name)])) } }))
            }
            @if !attention.dead.is_empty() {
                (hint(&html! { a href="/ui/feeds" {
                    (page.words.count("overview.dead", attention.dead.len() as u64)) } }))
            }
            @if !attention.failed.is_empty() {
                div.section-head { h3 { (page.t("overview.failed")) }
                    a href="/ui/executions?status=FAILED" { (page.t("overview.all")) } }
                (execution_table(page, &attention.failed))
            }
        }
    }
}
