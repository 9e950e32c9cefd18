//! Subscriptions as HTML.

use maud::{Markup, html};
use noetl_api::wire::{SubscriptionEventView, SubscriptionView};
use noetl_engine::SubscriptionAction;
use noetl_model::SubscriptionState;
use noetl_playbook::DispatchTarget;

use super::view::{FAILED_SHOWN_MAX, SubscriptionDetail, SubscriptionLine};
use crate::address::with_query;
use crate::components::action::{Action, action, confirmed_action};
use crate::components::empty::empty;
use crate::components::error::error_line;
use crate::components::execution_table::execution_table;
use crate::components::id::{execution_link, playbook_address, playbook_link};
use crate::components::json_tree::json_tree;
use crate::components::status::{Tone, badge};
use crate::components::table::{actions, number, table, text, wide};
use crate::components::time::{time, time_text};
use crate::request::PageRequest;

fn address(subscription: &SubscriptionView) -> String {
    format!("/ui/subscriptions/{}", subscription.subscription_id)
}

pub(super) fn subscriptions(page: &PageRequest, subscriptions: &[SubscriptionLine]) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.subscriptions")) } }
        @if subscriptions.is_empty() {
            (empty(page.t("subscriptions.empty"), page.t("subscriptions.empty_more"),
                Some("noetl register subscription.yaml")))
        } @else {
            div #live data-refresh="5000" { (list(page, subscriptions)) }
        }
    }
}

fn list(page: &PageRequest, subscriptions: &[SubscriptionLine]) -> Markup {
    let columns = [
        wide(page.t("subscriptions.subscription")),
        text(page.t("executions.status")),
        text(page.t("subscriptions.source")),
        text(page.t("subscriptions.last")),
        number(page.t("subscriptions.failed_count")),
        text(page.t("subscriptions.changed")),
        actions(page.t("schedules.actions")),
    ];
    let rows: Vec<Vec<Markup>> = subscriptions
        .iter()
        .map(|it| {
            let subscription = &it.subscription;
            vec![
                html! { a href=(address(subscription)) { (subscription.path) } (target(page, it)) },
                state(page, &subscription.state),
                html! { @if let Some(document) = &it.document { (document.source.as_str()) } },
                html! { @match it.executions.first() {
                    Some(last) => { (time(last.summary.started_at)) " " (execution_link(last.summary.execution)) },
                    None => span.soft { "–" },
                } },
                failed_count(page, it.failed),
                time_text(&subscription.updated_at),
                html! { @if page.visitor.may.run { (switches(page, subscription)) } },
            ]
        })
        .collect();
    table(page.t("nav.subscriptions"), &columns, &rows)
}

/// Draws the playbook or the signal that messages lead to.
fn target(page: &PageRequest, line: &SubscriptionLine) -> Markup {
    let Some(document) = &line.document else { return html! {} };
    html! {
        div.soft {
            @match &document.dispatch.target {
                DispatchTarget::Playbook(path) => { (page.t("schedules.starts")) " " (playbook_link(path)) },
                DispatchTarget::Signal(signal) => {
                    (page.t("subscriptions.signals")) " " code { (signal.name) }
                },
            }
        }
    }
}

/// Draws a number of failed messages; a plus says that there may be more.
fn failed_count(page: &PageRequest, failed: Option<usize>) -> Markup {
    html! {
        @match failed {
            None => span.soft { "…" },
            Some(0) => span.soft { "0" },
            Some(count) => span.attention {
                (page.words.number(u64::try_from(count).unwrap_or(u64::MAX)))
                @if count >= FAILED_SHOWN_MAX { "+" }
            },
        }
    }
}

fn state(page: &PageRequest, state: &str) -> Markup {
    let known = SubscriptionState::ALL.iter().find(|it| it.as_str() == state);
    let Some(known) = known else { return badge(Tone::Quiet, state) };
    let (tone, word) = match known {
        SubscriptionState::Registered => (Tone::Quiet, "subscriptions.registered"),
        SubscriptionState::Active => (Tone::Good, "subscriptions.active"),
        SubscriptionState::Paused => (Tone::Quiet, "subscriptions.paused"),
        SubscriptionState::Draining => (Tone::Active, "subscriptions.draining"),
        SubscriptionState::Deactivated => (Tone::Quiet, "subscriptions.deactivated"),
    };
    badge(tone, page.words.t(word))
}

/// Draws the actions that the state of a subscription allows.
fn switches(page: &PageRequest, subscription: &SubscriptionView) -> Markup {
    let address = address(subscription);
    let allowed = SubscriptionAction::ALL.iter().filter(|action| {
        action
            .allowed_from()
            .iter()
            .any(|state| state.to_string() == subscription.state && changes_state(**action, *state))
    });
    html! {
        @for allowed in allowed {
            (action(page, &Action {
                address: &address,
                label: page.words.t(action_word(*allowed)),
                fields: &[("action", allowed.as_str())],
            })) " "
        }
    }
}

/// True if an action leads from a state to another one; a state has one word for the way back.
fn changes_state(action: SubscriptionAction, state: SubscriptionState) -> bool {
    match action {
        SubscriptionAction::Activate => match state {
            SubscriptionState::Registered | SubscriptionState::Deactivated => true,
            SubscriptionState::Active | SubscriptionState::Paused | SubscriptionState::Draining => {
                false
            }
        },
        SubscriptionAction::Resume => {
            matches!(state, SubscriptionState::Paused | SubscriptionState::Draining)
        }
        SubscriptionAction::Pause => state != SubscriptionState::Paused,
        SubscriptionAction::Drain => state != SubscriptionState::Draining,
        SubscriptionAction::Deactivate => state != SubscriptionState::Deactivated,
    }
}

fn action_word(action: SubscriptionAction) -> &'static str {
    match action {
        SubscriptionAction::Activate => "subscriptions.activate",
        SubscriptionAction::Pause => "schedules.pause",
        SubscriptionAction::Resume => "schedules.resume",
        SubscriptionAction::Drain => "subscriptions.drain",
        SubscriptionAction::Deactivate => "subscriptions.deactivate",
    }
}

pub(super) fn subscription(page: &PageRequest, detail: &SubscriptionDetail) -> Markup {
    let subscription = &detail.line.subscription;
    html! {
        header.page-head {
            h1 { (subscription.path) }
            (state(page, &subscription.state))
            a href=(playbook_address(&subscription.path)) { (page.t("playbook.source")) }
            div.end { @if page.visitor.may.run { (switches(page, subscription)) } }
        }
        div.lead {
            @if let Some(document) = &detail.line.document {
                (page.t("subscriptions.source")) ": " code { (document.source.as_str()) }
            }
            (target(page, &detail.line))
        }
        section {
            div.section-head { h2 { (page.t("nav.executions")) }
                a href=(with_query("/ui/executions", &[("parent", &subscription.subscription_id)])) {
                    (page.t("overview.all")) } }
            @if detail.line.executions.is_empty() { p.soft { (page.t("subscriptions.no_execution")) } }
            @else { div #executions data-refresh="5000" { (execution_table(page, &detail.line.executions)) } }
        }
        section {
            div.section-head { h2 { (page.t("subscriptions.failed")) } }
            @if detail.failed.is_empty() { p.soft { (page.t("subscriptions.none_failed")) } }
            @else { (failed(page, detail)) }
        }
        section {
            div.section-head { h2 { (page.t("schedules.events")) } }
            (events(page, &detail.events))
        }
    }
}

fn failed(page: &PageRequest, detail: &SubscriptionDetail) -> Markup {
    let columns = [
        text(page.t("executions.status")),
        wide(page.t("subscriptions.message")),
        number(page.t("subscriptions.failures")),
        text(page.t("subscriptions.last_try")),
        actions(page.t("schedules.actions")),
    ];
    let address = address(&detail.line.subscription);
    let rows: Vec<Vec<Markup>> = detail
        .failed
        .iter()
        .map(|it| {
            let is_dead = it.status == "DEAD";
            let tone = if is_dead { Tone::Bad } else { Tone::Warning };
            vec![
                badge(tone, page.words.t(if is_dead { "subscriptions.dead" } else { "subscriptions.retrying" })),
                html! { (error_line(&it.reason)) (json_tree(&it.message)) },
                html! { (it.failures) },
                time_text(&it.last_at),
                html! { @if is_dead && page.visitor.may.run { (message_actions(page, &address, &it.name)) } },
            ]
        })
        .collect();
    table(page.t("subscriptions.failed"), &columns, &rows)
}

fn message_actions(page: &PageRequest, address: &str, name: &str) -> Markup {
    let retry = [("action", "retry"), ("message", name)];
    let dropped = [("action", "drop"), ("message", name)];
    let retry = Action { address, label: page.t("feeds.retry"), fields: &retry };
    let dropped = Action { address, label: page.t("feeds.drop"), fields: &dropped };
    html! { (action(page, &retry)) " " (confirmed_action(page, &dropped, page.t("feeds.drop_question"))) }
}

fn events(page: &PageRequest, events: &[SubscriptionEventView]) -> Markup {
    let columns = [
        text(page.t("events.at")),
        text(page.t("events.event")),
        wide(page.t("executions.status")),
    ];
    let rows: Vec<Vec<Markup>> = events
        .iter()
        .rev()
        .map(|event| {
            vec![
                time_text(&event.created_at),
                html! { code { (event.event_type) } },
                state(page, &event.state),
            ]
        })
        .collect();
    table(page.t("schedules.events"), &columns, &rows)
}
