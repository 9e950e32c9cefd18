//! Pools and workers as HTML.

use std::time::Duration;

use maud::{Markup, html};
use noetl_api::wire::{LimitList, LimitView, PauseView, PoolRow};
use noetl_app::{LeasedCommand, PoolQueue};

use crate::address::{encoded, with_query};
use crate::components::action::{Action, action, reasoned_action};
use crate::components::command::command;
use crate::components::duration::duration;
use crate::components::duration::short;
use crate::components::empty::empty;
use crate::components::error::hint;
use crate::components::id::{execution_address, limit_address, playbook_link};
use crate::components::status::{Tone, badge};
use crate::components::table::{actions, number, table, text, wide};
use crate::components::time::{time, time_text};
use crate::request::PageRequest;

#[derive(Debug)]
pub(super) struct WorkersView {
    pub(super) pools: Vec<PoolQueue>,
    pub(super) workers: Vec<PoolRow>,
    pub(super) pauses: Vec<PauseView>,
    /// A page of the limits.
    pub(super) limits: LimitList,
    /// True if the page of limits is the first.
    pub(super) is_first: bool,
    /// The commands that workers run now.
    pub(super) running: Vec<LeasedCommand>,
}

/// The address of the page and of its forms.
const ADDRESS: &str = "/ui/workers";
/// Maximum number of commands of a worker that are shown.
const RUNNING_MAX: usize = 3;

pub(super) fn workers(page: &PageRequest, view: &WorkersView) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.workers")) } }
        div #live data-refresh="3000" {
            @for pool in view.pools.iter().filter(|pool| !pool.is_served) { (unserved(page, pool)) }
            @if view.pools.is_empty() && view.workers.is_empty() {
                (empty(page.t("workers.empty"), page.t("workers.empty_more"), Some("noetl worker")))
            }
            @if !view.pools.is_empty() {
                section { div.section-head { h2 { (page.t("workers.pools")) } } (pools(page, view)) }
            }
            @if !view.pauses.is_empty() {
                section { div.section-head { h2 { (page.t("workers.paused")) } } (pauses(page, &view.pauses)) }
            }
            @if !view.limits.limits.is_empty() || !view.is_first {
                section {
                    div.section-head { h2 { (page.t("workers.limits")) } }
                    (limits(page, &view.limits.limits))
                    (limit_pages(page, view))
                }
            }
            @if !view.workers.is_empty() {
                section { div.section-head { h2 { (page.t("nav.workers")) } } (registered(page, view)) }
            }
        }
    }
}

/// Draws the message for a pool with commands and no worker.
pub(in crate::pages) fn unserved(page: &PageRequest, pool: &PoolQueue) -> Markup {
    let name = pool.pool.as_str();
    let waiting = page.words.count("count.commands", pool.ready);
    hint(&html! {
        p { (page.words.fill("workers.unserved", &[("pool", name), ("commands", &waiting)])) }
        (command(&format!("noetl worker --pool {name}")))
    })
}

fn pools(page: &PageRequest, view: &WorkersView) -> Markup {
    let columns = [
        text(page.t("workers.pool")),
        text(page.t("executions.status")),
        number(page.t("workers.ready")),
        number(page.t("workers.oldest")),
        number(page.t("nav.workers")),
        actions(page.t("schedules.actions")),
    ];
    let rows: Vec<Vec<Markup>> = view
        .pools
        .iter()
        .map(|pool| {
            let pause = pause_of(view, pool.pool.as_str());
            let state = match (pool.is_served, pool.ready) {
                _ if pause.is_some() => badge(Tone::Warning, page.t("workers.paused")),
                (false, _) => badge(Tone::Bad, page.t("workers.no_worker")),
                (true, 0) => badge(Tone::Good, page.t("workers.idle")),
                (true, _) => badge(Tone::Active, page.t("workers.working")),
            };
            vec![
                html! { code { (pool.pool.as_str()) } },
                state,
                html! { (page.words.number(pool.ready)) },
                html! { @match pool.oldest {
                    Some(since) => (duration(page.words, page.now.since(since))),
                    None => span.soft { "–" },
                } },
                html! { (pool.workers) },
                pool_action(page, pool.pool.as_str(), pause),
            ]
        })
        .collect();
    table(page.t("workers.pools"), &columns, &rows)
}

fn pause_of<'v>(view: &'v WorkersView, pool: &str) -> Option<&'v PauseView> {
    view.pauses.iter().find(|pause| pause.kind == "pool" && pause.name == pool)
}

/// Draws the button that pauses or resumes a pool.
fn pool_action(page: &PageRequest, pool: &str, pause: Option<&PauseView>) -> Markup {
    html! {
        @if page.visitor.may.run {
            @match pause {
                Some(pause) => (resume(page, pause)),
                None => (reasoned_action(page, &Action {
                    address: ADDRESS,
                    label: page.t("exec.pause"),
                    fields: &[("action", "pause"), ("pool", pool)],
                })),
            }
        }
    }
}

/// Draws the paused playbooks and pools.
fn pauses(page: &PageRequest, pauses: &[PauseView]) -> Markup {
    let columns = [
        text(page.t("workers.what")),
        text(page.t("workers.paused_by")),
        wide(page.t("bulk.reason")),
        text(page.t("workers.since")),
        actions(page.t("schedules.actions")),
    ];
    let row = |pause: &PauseView| {
        vec![
            html! { @match pause.kind.as_str() {
                "playbook" => { (page.t("executions.playbook")) " " (playbook_link(&pause.name)) },
                _ => { (page.t("workers.pool")) " " code { (pause.name) } },
            } },
            html! { @match &pause.actor { Some(actor) => (actor), None => span.soft { "–" } } },
            html! { @match &pause.reason { Some(reason) => (reason), None => span.soft { "–" } } },
            time(pause.since),
            html! {
                @if pause.is_ending { span.soft { (page.t("workers.resuming")) } }
                @else if page.visitor.may.run { (resume(page, pause)) }
            },
        ]
    };
    let rows: Vec<Vec<Markup>> = pauses.iter().map(row).collect();
    table(page.t("workers.paused"), &columns, &rows)
}

fn resume(page: &PageRequest, pause: &PauseView) -> Markup {
    let name = pause.name.as_str();
    let fields = match pause.kind.as_str() {
        "playbook" => [("action", "resume_playbook"), ("playbook", name)],
        _ => [("action", "resume"), ("pool", name)],
    };
    action(page, &Action { address: ADDRESS, label: page.t("exec.resume"), fields: &fields })
}

fn limits(page: &PageRequest, limits: &[LimitView]) -> Markup {
    let columns = [
        wide(page.t("workers.limit")),
        text(page.t("workers.allows")),
        number(page.t("workers.holders")),
        number(page.t("workers.queued")),
        number(page.t("workers.oldest")),
    ];
    let rows: Vec<Vec<Markup>> = limits
        .iter()
        .map(|limit| {
            let oldest = limit.oldest_wait_seconds.unwrap_or_default();
            let oldest = Duration::try_from_secs_f64(oldest).unwrap_or_default();
            vec![
                html! { a href=(limit_address(&limit.name)) { code { (limit.name) } } },
                html! { (limit.allows) },
                html! { (page.words.number(limit.holders)) },
                html! { (page.words.number(limit.queued)) },
                html! { @if limit.queued > 0 { (short(page.words, oldest)) } },
            ]
        })
        .collect();
    table(page.t("workers.limits"), &columns, &rows)
}

/// Draws the links to the first and to the next page of limits, if there is more than one.
fn limit_pages(page: &PageRequest, view: &WorkersView) -> Markup {
    let next = view.limits.next_after.as_deref();
    html! {
        @if !view.is_first || next.is_some() {
            nav.pages aria-label=(page.t("executions.pages")) {
                @if view.is_first { span {} } @else {
                    a href="/ui/workers" { (page.t("playbooks.first")) }
                }
                @if let Some(next) = next {
                    a href=(with_query("/ui/workers", &[("limits_after", next)])) rel="next" {
                        (page.t("playbooks.more"))
                    }
                }
            }
        }
    }
}

fn registered(page: &PageRequest, view: &WorkersView) -> Markup {
    let columns = [
        wide(page.t("workers.name")),
        text(page.t("executions.status")),
        text(page.t("workers.pool")),
        text(page.t("workers.running")),
        number(page.t("workers.slots")),
        text(page.t("workers.heartbeat")),
        text(page.t("workers.since")),
    ];
    let rows: Vec<Vec<Markup>> = view
        .workers
        .iter()
        .map(|worker| {
            let (tone, word) = match worker.status.as_str() {
                "offline" => (Tone::Quiet, page.t("workers.offline")),
                "ready" => (Tone::Good, page.t("workers.is_ready")),
                other => (Tone::Good, other),
            };
            let pool = worker.labels.as_ref().and_then(|it| it.get("pool_name")?.as_str());
            vec![
                html! { code { (worker.name) } },
                badge(tone, word),
                html! { @if let Some(pool) = pool { code { (pool) } } },
                runs_now(page, &view.running, &worker.name),
                html! { @if let Some(capacity) = worker.capacity { (capacity) } },
                time_text(&worker.heartbeat),
                time_text(&worker.created_at),
            ]
        })
        .collect();
    table(page.t("nav.workers"), &columns, &rows)
}

/// Draws the steps that a worker runs now, each a link to its execution.
fn runs_now(page: &PageRequest, running: &[LeasedCommand], worker: &str) -> Markup {
    let own: Vec<&LeasedCommand> =
        running.iter().filter(|it| it.worker.as_str() == worker).collect();
    let more = own.len().saturating_sub(RUNNING_MAX);
    html! {
        @if own.is_empty() { span.soft { "–" } }
        @for (index, command) in own.iter().take(RUNNING_MAX).enumerate() {
            @if index > 0 { ", " }
            a href={ (execution_address(command.execution)) "?step=" (encoded(&command.step)) }
                title=(command.execution) { code { (command.step) } }
        }
        @if more > 0 { " " span.soft { (page.words.fill("workers.more", &[("count", &more.to_string())])) } }
    }
}
