//! The timeline at the position: a row per step, from its first run to the end of its latest.

use maud::{Markup, html};
use noetl_api::wire::PositionStep;
use noetl_model::Timestamp;

use super::graph::share;
use super::sentence::{step_mark, step_word, tone};
use super::view::ExecutionView;
use crate::components::duration::{duration, short};
use crate::request::PageRequest;

/// Maximum number of rows.
const ROWS_MAX: usize = 200;
/// Width of the drawing, in its own units.
const WIDTH: f64 = 1000.0;

pub(super) fn timeline(page: &PageRequest, view: &ExecutionView) -> Markup {
    let state = &view.state;
    let until = if view.is_live() { page.now } else { state.at };
    let mut steps: Vec<(Timestamp, &PositionStep)> =
        state.steps.iter().filter_map(|step| Some((step.first_entered_at?, step))).collect();
    steps.sort_by_key(|(entered, _)| *entered);
    let total = until.since(state.started_at);
    html! {
        section.timeline aria-label=(page.t("exec.timeline")) {
            div.section-head {
                h2 { (page.t("exec.timeline")) }
                span.soft { (short(total)) }
            }
            ol {
                @for (entered, step) in steps.iter().take(ROWS_MAX) {
                    (row(page, view, step, *entered, until))
                }
            }
            @if steps.len() > ROWS_MAX {
                p.soft { (page.words.count("exec.more_steps", u64::try_from(steps.len() - ROWS_MAX).unwrap_or(0))) }
            }
        }
    }
}

fn row(
    page: &PageRequest,
    view: &ExecutionView,
    step: &PositionStep,
    entered: Timestamp,
    until: Timestamp,
) -> Markup {
    let start = view.state.started_at;
    let total = micros(start, until).max(1);
    let latest = step.latest.as_ref();
    let ended = latest.and_then(|run| run.ended_at).unwrap_or(until);
    let last_entered = latest.map_or(entered, |run| run.entered_at);
    let place = |at: Timestamp| WIDTH * share(micros(start, at), total);
    let span = |from: Timestamp, to: Timestamp| (place(to) - place(from)).max(3.0);
    let is_selected = view.here.step.as_deref() == Some(step.name.as_str());
    let took = ended.since(last_entered);
    html! {
        li class=[is_selected.then_some("selected")] {
            a.step href=(view.here.step(&step.name).address()) {
                span class={ "mark " (tone(step).class()) } aria-hidden="true" { (step_mark(step)) }
                (step.name)
                span.hidden { " " (page.words.t(step_word(step))) }
            }
            svg viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true" {
                @if last_entered > entered {
                    rect.earlier x=(format!("{:.1}", place(entered))) y="6" height="4"
                        width=(format!("{:.1}", span(entered, last_entered))) {}
                }
                rect class={ "fill-" (tone(step).class()) } x=(format!("{:.1}", place(last_entered).min(WIDTH - 3.0)))
                    y="3" height="10" width=(format!("{:.1}", span(last_entered, ended))) {}
            }
            span.took { (duration(took)) @if step.runs > 1 { span.soft { " ×" (step.runs) } } }
        }
    }
}

fn micros(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_micros()).unwrap_or(u64::MAX)
}
