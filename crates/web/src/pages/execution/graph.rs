//! The graph at the position: steps with their state, arcs with how often they were taken.

use maud::{Markup, html};
use noetl_api::wire::{PositionArc, PositionItems, PositionStep};
use noetl_playbook::Step;
use noetl_playbook::layout::{ArcRoute, NodeBox};
use serde_json::Value;

use super::sentence::look;
use super::view::ExecutionView;
use crate::request::PageRequest;

/// Maximum number of characters of a name in a node.
const NAME_MAX: usize = 21;
/// Maximum number of characters of a guard in the hint of an arc.
const GUARD_MAX: usize = 400;

pub(super) fn graph(page: &PageRequest, view: &ExecutionView) -> Markup {
    let Some((playbook, layout)) = &view.drawn.graph else {
        return html! { p.soft { (page.t("exec.no_graph")) } };
    };
    let arcs = view.state.arcs.iter().filter(|arc| arc.index.is_some());
    let steps = view.state.steps.iter().take(playbook.steps.len());
    html! {
        div.graph-frame #graph data-graph tabindex="-1" data-keep="class style" {
            div.graph-tools hidden data-keep="hidden" {
                span.emphasis role="group" aria-label=(page.t("exec.graph_filter")) {
                    button.plain type="button" data-graph-show="bad" data-keep="aria-pressed" aria-pressed="false" { (page.t("exec.show_failed")) }
                    button.plain type="button" data-graph-show="active" data-keep="aria-pressed" aria-pressed="false" { (page.t("exec.show_running")) }
                }
                button.plain type="button" data-graph-zoom="in" aria-label=(page.t("exec.zoom_in")) { "+" }
                button.plain type="button" data-graph-zoom="out" aria-label=(page.t("exec.zoom_out")) { "−" }
                button.plain type="button" data-graph-zoom="fit" { (page.t("exec.fit")) }
            }
            svg.graph viewBox={ "0 0 " (whole(layout.width)) " " (whole(layout.height)) }
                width=(whole(layout.width)) height=(whole(layout.height))
                role="group" aria-label=(page.t("exec.graph")) data-keep="viewBox" {
                (markers())
                @for (arc, route) in arcs.zip(&layout.routes) { (drawn_arc(page, arc, route)) }
                @for ((declared, step), node) in playbook.steps.iter().zip(steps).zip(&layout.nodes) {
                    (drawn_step(page, view, declared, step, node))
                }
            }
        }
    }
}

fn whole(length: f64) -> String {
    format!("{:.0}", length.ceil())
}

fn markers() -> Markup {
    html! {
        defs {
            @for (id, class) in [("head-taken", "head taken"), ("head-faint", "head")] {
                marker id=(id) viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
                    markerUnits="userSpaceOnUse" orient="auto" { path class=(class) d="M0 0.5L8 4L0 7.5z" {} }
            }
        }
    }
}

fn drawn_arc(page: &PageRequest, arc: &PositionArc, route: &ArcRoute) -> Markup {
    let (class, head) = match (arc.times > 0, route.leads_back) {
        (true, false) => ("arc taken", "url(#head-taken)"),
        (true, true) => ("arc taken back", "url(#head-taken)"),
        (false, false) => ("arc", "url(#head-faint)"),
        (false, true) => ("arc back", "url(#head-faint)"),
    };
    let path = route.path();
    html! {
        g class=(class) data-from=(arc.from) data-to=(arc.to) {
            title { (arc_hint(page, arc)) }
            path.reach d=(path) {}
            path.line d=(path) marker-end=(head) {}
        }
    }
}

/// Returns the ends, the guard and the count of an arc as text.
fn arc_hint(page: &PageRequest, arc: &PositionArc) -> String {
    let guard = match &arc.when {
        Some(Value::String(text)) => format!("\n{}", cut(text, GUARD_MAX)),
        Some(other) => format!("\n{}", cut(&other.to_string(), GUARD_MAX)),
        None => String::new(),
    };
    let times = page.words.count("exec.taken", arc.times);
    format!("{} → {}{guard}\n{times}", arc.from, arc.to)
}

fn drawn_step(
    page: &PageRequest,
    view: &ExecutionView,
    declared: &Step,
    step: &PositionStep,
    node: &NodeBox,
) -> Markup {
    let is_selected = view.here.step.as_deref() == Some(step.name.as_str());
    let look = look(&view.state, step);
    let state = page.words.t(look.word);
    let tool = step.tool.map(|tool| tool.to_string()).unwrap_or_default();
    let items = step.latest.as_ref().and_then(|run| run.items);
    let runs = page.words.count("exec.runs", step.runs.into());
    let below = if look.is_waiting { state.to_owned() } else { format!("{tool} · {state}") };
    let mut label = format!("{} {below}", cut(&step.name, NAME_MAX));
    if step.runs > 1 {
        label.push_str(&format!(" ×{}", page.words.number(step.runs.into())));
    }
    if declared.repeat.is_some() {
        label.push_str(&format!(" {}", items_text(page, items)));
    }
    label.push_str(&format!(", {runs}"));
    let class = format!(
        "node {}{}{}{}",
        look.tone.class(),
        if look.is_waiting { " waits" } else { "" },
        if step.status.is_none() { " unreached" } else { "" },
        if is_selected { " selected" } else { "" },
    );
    html! {
        a class=(class) href=(view.here.step(&step.name).address()) data-step=(step.name) data-keep="tabindex"
            aria-current=[is_selected.then_some("true")] aria-label=(label)
            transform=(format!("translate({:.1} {:.1})", node.left, node.top)) {
            title { (step.name) "\n" (state) ", " (runs) }
            rect.box width=(whole(node.width)) height=(whole(node.height)) rx="6" {}
            rect.edge width="4" height=(whole(node.height - 12.0)) x="0" y="6" rx="2" {}
            text.mark x="14" y="22" aria-hidden="true" { (look.mark) } " "
            text.name x="30" y="22" { (cut(&step.name, NAME_MAX)) } " "
            text.tool x="14" y="41" { (below) } " "
            @if step.runs > 1 {
                text.runs x=(whole(node.width - 10.0)) y="41" { "×" (page.words.number(step.runs.into())) } " "
            }
            @if declared.repeat.is_some() { (counters(page, items, node)) }
        }
    }
}

/// Draws the counters of a loop and a bar of its items.
fn counters(page: &PageRequest, items: Option<PositionItems>, node: &NodeBox) -> Markup {
    let width = node.width - 28.0;
    let part = |count: u64| match items {
        Some(items) if items.total > 0 => width * share(count, items.total),
        Some(_) | None => 0.0,
    };
    let (done, failed, running) =
        items.map_or((0, 0, 0), |it| (it.completed, it.failed, it.running));
    let spans = [
        ("fill-good", 0.0, part(done)),
        ("fill-bad", part(done), part(failed)),
        ("fill-active", part(done + failed), part(running)),
    ];
    html! {
        rect.track x="14" y="52" width=(whole(width)) height="4" rx="2" {}
        @for (class, from, length) in spans {
            @if length > 0.0 {
                rect class=(class) x=(format!("{:.1}", 14.0 + from)) y="52"
                    width=(format!("{length:.1}")) height="4" {}
            }
        }
        text.count x=(whole(node.width - 10.0)) y="22" { (items_text(page, items)) }
    }
}

/// Returns the counts of a loop's items.
fn items_text(page: &PageRequest, items: Option<PositionItems>) -> String {
    match items {
        Some(items) => page.words.fill(
            "exec.items",
            &[
                ("done", &page.words.number(items.completed + items.failed)),
                ("total", &page.words.number(items.total)),
            ],
        ),
        None => page.t("exec.loop").to_owned(),
    }
}

/// Returns a part of a whole, between 0 and 1.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    // Per mille is finer than a pixel of any bar.
    let mille = part.saturating_mul(1000).checked_div(whole).unwrap_or(0).min(1000);
    f64::from(u32::try_from(mille).unwrap_or(1000)) / 1000.0
}

/// Cuts text to `max` characters, with `…` if there were more.
pub(super) fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}
