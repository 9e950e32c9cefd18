//! The head: status in words, playbook, times, descent, and the actions.

use std::time::Duration;

use maud::{Markup, html};
use noetl_app::{Initiator, WaitHint};
use noetl_model::ExecutionStatus;

use super::compare::comparison_address;
use super::descent::descent;
use super::sentence::sentences;
use super::view::ExecutionView;
use crate::components::action::{Action, action, confirmed_as, reasoned_action};
use crate::components::command::command;
use crate::components::duration::{duration, growing};
use crate::components::id::{execution_address, execution_link, playbook_link};
use crate::components::initiator::initiator_line;
use crate::components::labels::{actor_link, label_links};
use crate::components::progress::{hold, limit_link, unserved};
use crate::components::prose::prose;
use crate::components::status::execution_status;
use crate::components::time::{planned_time, time};
use crate::pages::retention::retention_address;
use crate::request::PageRequest;

pub(super) fn head(page: &PageRequest, view: &ExecutionView) -> Markup {
    let state = &view.state;
    let said = sentences(page.words, view, page.now);
    let hint = view.hint.as_ref().filter(|_| view.is_live());
    let held = hint.and_then(|it| hold(page.words, it, page.now));
    let held = held.map(|held| held.drawn(page.words, true));
    html! {
        header.page-head {
            h1 { (playbook_link(&state.path)) " " span.soft { "v" (state.version) } }
            (execution_status(page.words, state.status))
            div.end { (actions(page, view)) }
        }
        @if let Some(WaitHint::NoWorker(hint)) = hint {
            p.says.attention { (prose(&unserved(page.words, hint))) }
            (command(&format!("noetl worker --pool {}", hint.pool)))
        } @else {
            @if let Some(held) = &held { p.says.attention { (held) } }
            @for sentence in &said { p.says.failure[state.status == ExecutionStatus::Failed] { (sentence) } }
            @if let Some(link) = hint.and_then(|it| limit_link(page.words, it)) { p.says { (link) } }
        }
        (facts(page, view))
    }
}

fn facts(page: &PageRequest, view: &ExecutionView) -> Markup {
    let summary = &view.summary;
    let until =
        view.state.ended_at.unwrap_or(if view.is_live() { page.now } else { view.state.at });
    let took: Duration = until.since(view.state.started_at);
    html! {
        dl.facts {
            div { dt { (page.t("exec.id")) } dd { code { (summary.execution) } } }
            div { dt { (page.t("exec.started")) } dd { (time(view.state.started_at)) } }
            div { dt { (page.t("exec.took")) } dd {
                @if view.is_live() { (growing(page.words, took)) } @else { (duration(page.words, took)) } } }
            @if let Some(late_at) = view.state.late_at {
                div { dt { (page.t("exec.late")) } dd.attention { (time(late_at)) } }
            }
            @if let Some(by) = started_by(page, &view.facts.initiator) {
                div { dt { (page.t("exec.started_by")) } dd { (by) } }
            }
            @if let Some(actor) = &summary.actor {
                div { dt { (page.t("executions.actor")) } dd { (actor_link(actor)) } }
            }
            @if !summary.labels.is_empty() {
                div { dt { (page.t("executions.labels")) } dd { (label_links(&summary.labels)) } }
            }
            @if let Some(fork) = summary.fork {
                div { dt { (page.t("exec.fork_of")) } dd {
                    (execution_link(fork.execution)) " "
                    a href={ (execution_address(fork.execution)) "?at=" (fork.seq) } {
                        (page.words.fill("exec.at_event", &[("seq", &fork.seq.to_string())]))
                    }
                    " · " a href=(comparison_address(fork.execution, summary.execution)) {
                        (page.t("compare.with_original")) }
                } }
            }
            @if let Initiator::Rerun(original) = view.facts.initiator {
                div { dt { (page.t("compare.repeats")) } dd {
                    (execution_link(original)) " · "
                    a href=(comparison_address(original, summary.execution)) {
                        (page.t("compare.with_original")) }
                } }
            }
            (descent(page, view))
        }
    }
}

/// Draws the initiator, unless the execution it repeats or forks is a fact of its own.
fn started_by(page: &PageRequest, initiator: &Initiator) -> Option<Markup> {
    match initiator {
        Initiator::Fork(_) | Initiator::Rerun(_) => None,
        Initiator::Schedule { instant, .. } => Some(html! {
            (initiator_line(page, initiator)) " "
            span.soft { (page.t("initiator.instant")) " " (planned_time(&instant.to_string())) }
        }),
        Initiator::Request
        | Initiator::Parent(_)
        | Initiator::Subscription { .. }
        | Initiator::OtherProgram => Some(initiator_line(page, initiator)),
    }
}

fn actions(page: &PageRequest, view: &ExecutionView) -> Markup {
    let base = execution_address(view.summary.execution);
    let to = |name: &str| format!("{base}/{name}");
    let may_run = page.visitor.may.run;
    let is_running = view.summary.status == ExecutionStatus::Running;
    let can_retry = match view.summary.status {
        ExecutionStatus::Failed | ExecutionStatus::Cancelled => true,
        ExecutionStatus::Running | ExecutionStatus::Completed => false,
    };
    html! {
        @if may_run && can_retry {
            (action(page, &Action { address: &to("retry"), label: page.t("exec.retry"), fields: &[] }))
        }
        @if may_run {
            a.button href={ (base) "/fork?at=" (view.state.position) } { (page.t("exec.fork_here")) }
            a.button href={ (base) "/again" } { (page.t("exec.rerun")) }
        }
        a.button href={ "/ui/executions?compare=" (view.summary.execution) } { (page.t("compare.choose")) }
        a.button href={ (base) "/verify" } { (page.t("exec.verify")) }
        a.button href={ (base) "/log.jsonl" } download data-plain { (page.t("exec.download")) }
        @if page.visitor.may.admin && view.summary.status.is_terminal() {
            a.button href=(retention_address(view.summary.execution)) { (page.t("retention.title")) }
        }
        @if may_run && is_running {
            @if let Some(WaitHint::Paused(_)) = view.hint {
                (action(page, &Action { address: &to("resume"), label: page.t("exec.resume"), fields: &[] }))
            } @else {
                (reasoned_action(page, &Action { address: &to("pause"), label: page.t("exec.pause"), fields: &[] }))
            }
            (confirmed_as(
                page,
                &Action { address: &to("cancel"), label: page.t("exec.cancel"), fields: &[] },
                page.t("exec.cancel_question"),
                page.t("executions.cancel_this"),
            ))
        }
    }
}
