//! The timeline up to the position: a row per step, working apart from waiting, over the density of
//! events.

use maud::{Markup, html};
use noetl_api::wire::{TimelineActivity, TimelineRow};
use noetl_model::Timestamp;

use super::graph::share;
use super::sentence::{step_mark, step_word, tone};
use super::view::ExecutionView;
use crate::components::duration::{duration, short};
use crate::components::status::Tone;
use crate::request::PageRequest;

/// Width of the drawing, in its own units.
const WIDTH: f64 = 1000.0;
/// Height of the density, in its own units.
const DENSITY: f64 = 22.0;

/// The time between the start of the execution and the position.
struct Axis {
    from: Timestamp,
    until: Timestamp,
}

impl Axis {
    fn place(&self, at: Timestamp) -> f64 {
        WIDTH * share(micros(self.from, at), micros(self.from, self.until).max(1))
    }
}

pub(super) fn timeline(page: &PageRequest, view: &ExecutionView) -> Markup {
    let until = if view.is_live() { page.now } else { view.state.at };
    let axis = Axis { from: view.state.started_at, until };
    let window = &view.timeline;
    let mut rows: Vec<&TimelineRow> = window.rows.iter().collect();
    rows.sort_by_key(|row| row.step.first_entered_at);
    let more = window.total.saturating_sub(u64::try_from(rows.len()).unwrap_or(u64::MAX));
    html! {
        section.timeline aria-label=(page.t("exec.timeline")) {
            div.section-head {
                h2 { (page.t("exec.timeline")) }
                span.soft { (short(page.words, until.since(axis.from))) }
                span.legend {
                    @for (class, word) in LEGEND { span { span class={ "key " (class) } {} (page.words.t(word)) } }
                }
            }
            ol {
                (density(page, view, &axis))
                @for row in rows { (drawn_row(page, view, &axis, row)) }
            }
            @if more > 0 { p.soft { (page.words.count("exec.more_steps", more)) } }
        }
    }
}

const LEGEND: [(&str, &str); 4] = [
    ("works", "exec.working"),
    ("waits-worker", "exec.waits_worker"),
    ("waits-timer", "exec.waits_timer"),
    ("waits-child", "exec.waits_child"),
];

/// Draws how many events there were at each time.
fn density(page: &PageRequest, view: &ExecutionView, axis: &Axis) -> Markup {
    let most = view.density.buckets.iter().map(|bucket| bucket.events).max().unwrap_or(0).max(1);
    html! {
        li.density {
            span.soft { (page.t("exec.tab_events")) }
            svg viewBox="0 0 1000 22" preserveAspectRatio="none" aria-hidden="true" {
                @for bucket in view.density.buckets.iter().filter(|bucket| bucket.events > 0) {
                    @let height = (DENSITY * share(bucket.events, most)).max(2.0);
                    @let left = axis.place(bucket.from_at);
                    rect class=[(bucket.failures > 0).then_some("fill-bad")] x=(format!("{left:.1}"))
                        y=(format!("{:.1}", DENSITY - height)) height=(format!("{height:.1}"))
                        width=(format!("{:.1}", (axis.place(bucket.to_at) - left - 1.0).max(2.0))) {}
                }
            }
            span {}
        }
    }
}

fn drawn_row(page: &PageRequest, view: &ExecutionView, axis: &Axis, row: &TimelineRow) -> Markup {
    let step = &row.step;
    let is_selected = view.here.step.as_deref() == Some(step.name.as_str());
    let latest = step.latest.as_ref();
    let entered = latest.map(|run| run.entered_at).or(step.first_entered_at).unwrap_or(axis.from);
    let ended = latest.and_then(|run| run.ended_at).unwrap_or(axis.until);
    let failed = if tone(step) == Tone::Bad { " failed" } else { "" };
    html! {
        li class=[is_selected.then_some("selected")] {
            a.step href=(view.here.step(&step.name).address()) {
                span class={ "mark " (tone(step).class()) } aria-hidden="true" { (step_mark(step)) }
                (step.name)
                span.hidden { " " (page.words.t(step_word(step))) }
            }
            svg viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true" {
                (span(axis, "whole", step.first_entered_at.unwrap_or(entered), ended, (7, 2)))
                @for segment in &row.segments {
                    @let (class, place) = appearance(segment.activity);
                    (span(axis, &format!("{class}{failed}"), segment.from_at, segment.to_at.unwrap_or(axis.until), place))
                }
                @if row.segments.is_empty() {
                    (span(axis, &format!("fill-{}", tone(step).class()), entered, ended, (3, 10)))
                }
            }
            span.took { (duration(page.words, ended.since(entered))) @if step.runs > 1 { span.soft { " ×" (step.runs) } } }
        }
    }
}

/// Returns the class of an activity, and its top and height: waiting is thinner than working.
fn appearance(activity: TimelineActivity) -> (&'static str, (u32, u32)) {
    match activity {
        TimelineActivity::Running => ("works", (3, 10)),
        TimelineActivity::Child => ("waits-child", (5, 6)),
        TimelineActivity::WaitingForWorker => ("waits-worker", (5, 6)),
        TimelineActivity::WaitingForTimer => ("waits-timer", (5, 6)),
    }
}

fn span(axis: &Axis, class: &str, from: Timestamp, to: Timestamp, place: (u32, u32)) -> Markup {
    let left = axis.place(from).min(WIDTH - 2.0);
    let width = (axis.place(to) - left).max(2.0);
    html! {
        rect class=(class) x=(format!("{left:.1}")) y=(place.0) height=(place.1)
            width=(format!("{width:.1}")) {}
    }
}

fn micros(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_micros()).unwrap_or(u64::MAX)
}
