//! The first page as HTML.

use maud::{Markup, html};

use super::view::{Attention, DeadLetters, DelayKind, OverviewView};
use crate::address::{encoded, with_query};
use crate::components::action::{Action, action};
use crate::components::command::command;
use crate::components::error::{error_line, hint};
use crate::components::execution_table::execution_table;
use crate::components::histogram::histogram;
use crate::components::status::{Tone, badge};
use crate::components::time::planned_time;
use crate::pages::subscriptions::FAILED_SHOWN_MAX;
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

const fn delay_word(kind: DelayKind) -> &'static str {
    match kind {
        DelayKind::Queued => "overview.queued",
        DelayKind::Missed => "overview.missed",
    }
}

/// Draws the number of messages of a subscription that have started nothing.
fn dead_letters(page: &PageRequest, letters: &DeadLetters) -> Markup {
    let DeadLetters { subscription, messages } = letters;
    hint(&html! {
        a href={ "/ui/subscriptions/" (subscription.subscription_id) } { (subscription.path) } ": "
        @if *messages >= FAILED_SHOWN_MAX { (page.t("feeds.at_least")) " " }
        (page.words.count("overview.dead_letters", *messages as u64))
    })
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
            @for schedule in &attention.delayed {
                (hint(&html! {
                    a href={ "/ui/schedules/" (encoded(&schedule.path)) } {
                        (page.t("overview.schedule")) " " (schedule.path) }
                    " " (page.t(delay_word(schedule.kind))) " " (planned_time(&schedule.until))
                }))
            }
            @if attention.pauses > 0 {
                (hint(&html! { a href="/ui/workers" {
                    (page.words.count("overview.pauses", attention.pauses as u64)) } }))
            }
            @for letters in &attention.dead_letters { (dead_letters(page, letters)) }
            @for feed in &attention.feeds {
                (hint(&html! { a href="/ui/feeds" { (page.words.fill("overview.feed", &[("feed", &feed.name)])) } }))
            }
            @if !attention.dead.is_empty() {
                (hint(&html! { a href="/ui/feeds" {
                    (page.words.count("overview.dead", attention.dead.len() as u64)) } }))
            }
            @if !attention.late.is_empty() {
                div.section-head { h3 { (page.t("overview.late")) } }
                (execution_table(page, &attention.late))
            }
            @if !attention.failed.is_empty() {
                div.section-head { h3 { (page.t("overview.failed")) }
                    a href="/ui/executions?status=FAILED" { (page.t("overview.all")) } }
                (execution_table(page, &attention.failed))
            }
        }
    }
}
