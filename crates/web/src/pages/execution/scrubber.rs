//! The scrubber: the position in the log, a second one to compare with, and links that move it.

use maud::{Markup, html};
use noetl_api::wire::LogMarkKind;

use super::address::Tab;
use super::graph::share;
use super::view::ExecutionView;
use crate::components::duration::short;
use crate::components::id::execution_address;
use crate::request::PageRequest;

pub(super) fn scrubber(page: &PageRequest, view: &ExecutionView) -> Markup {
    let (position, last) = (view.state.position, view.state.last);
    let to = |at: u64| view.here.at(Some(at).filter(|it| *it < last)).address();
    html! {
        section.scrubber #scrubber aria-label=(page.t("exec.position")) data-scrubber
            data-position=(position) data-last=(last) {
            nav.moves aria-label=(page.t("exec.move")) {
                (step(page, "exec.first", "|◀", (position > 1).then(|| to(1)), "Home"))
                (step(page, "exec.previous", "◀", (position > 1).then(|| to(position - 1)), "ArrowLeft"))
                button.plain type="button" data-play hidden { (page.t("exec.play")) }
                (step(page, "exec.next", "▶", (position < last).then(|| to(position + 1)), "ArrowRight"))
                (step(page, "exec.last", "▶|", (position < last).then(|| to(last)), "End"))
            }
            form method="get" action=(execution_address(view.here.execution)) {
                @if let Some(step) = &view.here.step { input type="hidden" name="step" value=(step); }
                @if view.here.tab != Tab::default() { input type="hidden" name="tab" value=(view.here.tab.name()); }
                @if let Some(other) = view.here.to { input type="hidden" name="to" value=(other); }
                (marks(page, view))
                label.hidden for="scrub-at" { (page.t("exec.position")) }
                input #scrub-at type="range" name="at" min="1" max=(last) value=(position);
                button type="submit" { (page.t("exec.show")) }
            }
            (says(page, view))
            (second(page, view))
        }
    }
}

fn step(page: &PageRequest, word: &str, mark: &str, address: Option<String>, key: &str) -> Markup {
    let label = page.words.t(word);
    html! {
        @match address {
            Some(address) => a.button href=(address) data-key=(key) aria-label=(label) title=(label) { (mark) },
            None => span.button.off aria-hidden="true" { (mark) },
        }
    }
}

/// Draws the marks of the log, each a link to its event.
fn marks(page: &PageRequest, view: &ExecutionView) -> Markup {
    let last = view.state.last.max(2);
    html! {
        svg.marks viewBox="0 0 1000 12" preserveAspectRatio="none" role="group" aria-label=(page.t("exec.marks")) {
            @for mark in &view.marks.marks {
                @let (class, word) = appearance(mark.kind);
                @let x = 1000.0 * share(mark.seq.saturating_sub(1), last - 1);
                @let step = mark.step.as_deref().unwrap_or_default();
                @let label = format!("{}: {} {step}", mark.seq, page.words.t(word));
                a class=(class) href=(view.here.at(Some(mark.seq)).address()) aria-label=(label) tabindex="-1" {
                    title { (label) }
                    rect x=(format!("{:.1}", (x - 1.5).clamp(0.0, 997.0))) y="0" width="3" height="12" {}
                }
            }
            @if let Some(to) = view.here.to {
                @let x = 1000.0 * share(to.saturating_sub(1), last - 1);
                rect.second-at x=(format!("{:.1}", (x - 2.0).clamp(0.0, 996.0))) y="0" width="4" height="12" {}
            }
        }
    }
}

/// Returns the class and the word of a mark.
fn appearance(kind: LogMarkKind) -> (&'static str, &'static str) {
    match kind {
        LogMarkKind::Failure => ("mark bad", "exec.mark_failure"),
        LogMarkKind::Retry => ("mark warning", "exec.mark_retry"),
        LogMarkKind::Takeover => ("mark warning", "exec.mark_takeover"),
        LogMarkKind::Fork => ("mark active", "exec.mark_fork"),
        LogMarkKind::Cancellation => ("mark quiet", "exec.mark_cancellation"),
        LogMarkKind::Trouble => ("mark bad", "exec.mark_trouble"),
        LogMarkKind::SavedState => ("mark quiet", "exec.mark_saved"),
    }
}

/// Draws the event at the position in words.
fn says(page: &PageRequest, view: &ExecutionView) -> Markup {
    let (position, last) = (view.state.position, view.state.last);
    let count = page.words.fill(
        "exec.event_of",
        &[("seq", &page.words.number(position)), ("last", &page.words.number(last))],
    );
    let passed = view.state.at.since(view.state.started_at);
    html! {
        p.says-event {
            strong { (count) }
            @if let Some(recorded) = &view.event {
                " " code { (recorded.event.tag().as_str()) }
                @if let Some(step) = recorded.event.step() { " " code { (step.as_str()) } }
            }
            span.soft { " +" (short(page.words, passed)) }
            @if view.is_live() { " " span.live { "● " (page.t("exec.live")) } }
            @else if position < last {
                " " a.button href=(view.here.at(None).address()) { (page.t("exec.go_live")) }
            }
        }
    }
}

/// Draws the second position: set it here, move on, and see what changed in between.
fn second(page: &PageRequest, view: &ExecutionView) -> Markup {
    html! {
        p.second {
            @match view.here.to {
                None => a href=(view.here.to(Some(view.state.position)).tab(Tab::Variables).address()) {
                    (page.t("exec.compare_from"))
                },
                Some(to) => {
                    (page.words.fill("exec.compared_with", &[("seq", &page.words.number(to))])) " "
                    a href=(view.here.tab(Tab::Variables).address()) { (page.t("exec.show_difference")) } " "
                    a href=(view.here.to(None).address()) { (page.t("exec.end_compare")) }
                },
            }
        }
    }
}
