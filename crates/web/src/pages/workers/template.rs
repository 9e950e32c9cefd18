//! Pools and workers as HTML.

use maud::{Markup, html};
use noetl_api::wire::PoolRow;
use noetl_app::PoolQueue;

use crate::components::command::command;
use crate::components::empty::empty;
use crate::components::error::hint;
use crate::components::status::{Tone, badge};
use crate::components::table::{number, table, text, wide};
use crate::components::time::time_text;
use crate::request::PageRequest;

#[derive(Debug)]
pub(super) struct WorkersView {
    pub(super) pools: Vec<PoolQueue>,
    pub(super) workers: Vec<PoolRow>,
}

pub(super) fn workers(page: &PageRequest, view: &WorkersView) -> Markup {
    html! {
        header.page-head { h1 { (page.t("nav.workers")) } }
        div #live data-refresh="3000" {
            @for pool in view.pools.iter().filter(|pool| !pool.is_served) { (unserved(page, pool)) }
            @if view.pools.is_empty() && view.workers.is_empty() {
                (empty(page.t("workers.empty"), page.t("workers.empty_more"), Some("noetl worker")))
            }
            @if !view.pools.is_empty() {
                section { div.section-head { h2 { (page.t("workers.pools")) } } (pools(page, &view.pools)) }
            }
            @if !view.workers.is_empty() {
                section { div.section-head { h2 { (page.t("nav.workers")) } } (registered(page, &view.workers)) }
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

fn pools(page: &PageRequest, pools: &[PoolQueue]) -> Markup {
    let columns = [
        text(page.t("workers.pool")),
        text(page.t("executions.status")),
        number(page.t("workers.ready")),
        number(page.t("nav.workers")),
    ];
    let rows: Vec<Vec<Markup>> = pools
        .iter()
        .map(|pool| {
            let state = match (pool.is_served, pool.ready) {
                (false, _) => badge(Tone::Bad, page.t("workers.no_worker")),
                (true, 0) => badge(Tone::Good, page.t("workers.idle")),
                (true, _) => badge(Tone::Active, page.t("workers.working")),
            };
            vec![
                html! { code { (pool.pool.as_str()) } },
                state,
                html! { (page.words.number(pool.ready)) },
                html! { (pool.workers) },
            ]
        })
        .collect();
    table(page.t("workers.pools"), &columns, &rows)
}

fn registered(page: &PageRequest, workers: &[PoolRow]) -> Markup {
    let columns = [
        wide(page.t("workers.name")),
        text(page.t("executions.status")),
        text(page.t("workers.pool")),
        number(page.t("workers.slots")),
        text(page.t("workers.heartbeat")),
        text(page.t("workers.since")),
    ];
    let rows: Vec<Vec<Markup>> = workers
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
                html! { @if let Some(capacity) = worker.capacity { (capacity) } },
                time_text(&worker.heartbeat),
                time_text(&worker.created_at),
            ]
        })
        .collect();
    table(page.t("nav.workers"), &columns, &rows)
}
