//! The scrubber: the position in the log and a second one to compare with, along an axis of events
//! or of time, with the density of events and marks; and links that move the position.

use maud::{Markup, html};
use noetl_api::wire::{LogAxis, LogMark, LogMarkKind};
use noetl_model::{ExecutionStatus, Timestamp};

use super::address::{Here, Tab};
use super::graph::share;
use super::seek::SoughtPlace;
use super::view::{ExecutionView, NextStep};
use crate::components::duration::short;
use crate::components::id::execution_address;
use crate::request::PageRequest;

/// Height of the drawing of density and marks.
const HEIGHT: f64 = 22.0;
/// Number of steps of a handle on an axis of time.
const TIME_STEPS: u64 = 1000;

/// Speeds of playing: a factor and its text.
const SPEEDS: [(&str, &str); 4] = [("0.5", "½×"), ("1", "1×"), ("2", "2×"), ("5", "5×")];

/// The axis along which the handles move.
struct ScrubAxis<'a> {
    view: &'a ExecutionView,
    axis: LogAxis,
    end: Timestamp,
}

impl<'a> ScrubAxis<'a> {
    fn of(view: &'a ExecutionView) -> Self {
        let end = view.facts.marks.buckets.last().map_or(view.state.at, |bucket| bucket.to_at);
        Self { view, axis: view.here.axis, end }
    }

    fn millis(&self, at: Timestamp) -> u64 {
        let passed = at.since(self.view.state.started_at).as_millis();
        u64::try_from(passed).unwrap_or(u64::MAX)
    }

    /// Returns the place of an event in percent of the axis.
    fn percent(&self, seq: u64, at: Timestamp) -> f64 {
        100.0
            * match self.axis {
                LogAxis::Seq => share(seq.saturating_sub(1), self.view.state.last.max(2) - 1),
                LogAxis::Time => share(self.millis(at), self.millis(self.end).max(1)),
            }
    }

    /// Returns the time of an event, by the buckets if its own is not known.
    fn time_of(&self, seq: u64) -> Timestamp {
        let buckets = &self.view.facts.marks.buckets;
        let bucket = buckets.iter().find(|bucket| seq <= bucket.until);
        bucket.map_or(self.end, |bucket| bucket.from_at)
    }
}

pub(super) fn scrubber(page: &PageRequest, view: &ExecutionView) -> Markup {
    let (position, last) = (view.state.position, view.state.last);
    let to = |at: u64| view.here.at(Some(at).filter(|it| *it < last)).address();
    let axis = ScrubAxis::of(view);
    let steps = view.neighbours;
    let next_step = match steps.next {
        NextStep::None => None,
        NextStep::Known(seq) => Some(to(seq)),
        NextStep::Far => Some(view.here.at(Some(position)).seeking(SoughtPlace::NextStep)),
    };
    html! {
        section.scrubber #scrubber aria-label=(page.t("exec.position")) data-scrubber
            data-position=(position) data-last=(last) {
            nav.moves aria-label=(page.t("exec.move")) {
                (step(page, "exec.first", "|◀", (position > 1).then(|| to(1)), "Home"))
                (step(page, "exec.previous_step", "◀◀", steps.previous.map(to), "Shift+ArrowLeft"))
                (step(page, "exec.previous", "◀", (position > 1).then(|| to(position - 1)), "ArrowLeft"))
                button type="button" data-play data-keep="hidden aria-pressed" hidden { (page.t("exec.play")) }
                select data-speed data-own hidden aria-label=(page.t("exec.speed")) {
                    @for (factor, text) in SPEEDS {
                        option value=(factor) selected[factor == "1"] { (text) }
                    }
                }
                (step(page, "exec.next", "▶", (position < last).then(|| to(position + 1)), "ArrowRight"))
                (step(page, "exec.next_step", "▶▶", next_step, "Shift+ArrowRight"))
                (step(page, "exec.last", "▶|", (position < last).then(|| to(last)), "End"))
            }
            form method="get" action=(execution_address(view.here.execution)) {
                (hidden_fields(&view.here))
                div.track {
                    (drawing(page, view, &axis))
                    (handle(page, &axis, ScrubHandle::Position, position, view.state.at))
                    @if let Some(to) = view.here.to {
                        (handle(page, &axis, ScrubHandle::Second, to, axis.time_of(to)))
                    }
                }
                button type="submit" data-keep="hidden" { (page.t("exec.show")) }
            }
            (says(page, view))
            (second(page, view))
        }
    }
}

/// Draws the fields of a form that keep the place, except for the positions.
fn hidden_fields(here: &Here) -> Markup {
    let others = here.pairs();
    let others =
        others.iter().filter(|(name, value)| !["at", "to"].contains(name) && !value.is_empty());
    html! { @for (name, value) in others { input type="hidden" name=(name) value=(value); } }
}

/// A handle of the scrubber.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScrubHandle {
    Position,
    Second,
}

fn handle(
    page: &PageRequest,
    axis: &ScrubAxis<'_>,
    handle: ScrubHandle,
    seq: u64,
    at: Timestamp,
) -> Markup {
    let (id, class, word) = match handle {
        ScrubHandle::Position => ("scrub-at", "handle", "exec.position"),
        ScrubHandle::Second => ("scrub-to", "handle second-handle", "exec.second_position"),
    };
    let name = match (handle, axis.axis) {
        (ScrubHandle::Position, LogAxis::Seq) => "at",
        (ScrubHandle::Position, LogAxis::Time) => "when",
        (ScrubHandle::Second, LogAxis::Seq) => "to",
        (ScrubHandle::Second, LogAxis::Time) => "to_when",
    };
    let (min, max, value, step) = match axis.axis {
        LogAxis::Seq => (1, axis.view.state.last, seq, 1),
        LogAxis::Time => {
            let length = axis.millis(axis.end);
            (0, length, axis.millis(at).min(length), (length / TIME_STEPS).max(1))
        }
    };
    let text = event_text(page, axis.view, seq, at);
    html! {
        label.hidden for=(id) { (page.words.t(word)) }
        input id=(id) class=(class) type="range" name=(name) min=(min) max=(max) step=(step)
            value=(value) aria-valuetext=(text);
    }
}

fn event_text(page: &PageRequest, view: &ExecutionView, seq: u64, at: Timestamp) -> String {
    let words = page.words;
    let (seq, last) = (words.number(seq), words.number(view.state.last));
    let text = words.fill("exec.event_of", &[("seq", &seq), ("last", &last)]);
    format!("{text}, +{}", short(words, at.since(view.state.started_at)))
}

fn step(page: &PageRequest, word: &str, mark: &str, address: Option<String>, key: &str) -> Markup {
    let label = page.words.t(word);
    html! {
        @match address {
            Some(address) => a.button href=(address) data-key=(key) aria-label=(label) title={ (label) " (" (key) ")" } { (mark) },
            None => span.button.off aria-hidden="true" { (mark) },
        }
    }
}

/// Draws the density of events and the marks of the log, each mark a link to its event.
fn drawing(page: &PageRequest, view: &ExecutionView, axis: &ScrubAxis<'_>) -> Markup {
    let buckets = &view.facts.marks.buckets;
    // Along an axis of events every bucket has the same number, so its height is the rate.
    let weight = |events: u64, from: Timestamp, to: Timestamp| match axis.axis {
        LogAxis::Time => events.saturating_mul(1000),
        LogAxis::Seq => {
            events.saturating_mul(1_000_000)
                / axis.millis(to).saturating_sub(axis.millis(from)).max(1)
        }
    };
    let weights = buckets.iter().map(|it| weight(it.events, it.from_at, it.to_at));
    let weights: Vec<u64> = weights.collect();
    let most = weights.iter().copied().max().unwrap_or(0).max(1);
    html! {
        svg.marks role="group" aria-label=(page.t("exec.marks")) {
            @for (bucket, weight) in buckets.iter().zip(&weights) {
                @if bucket.events > 0 {
                    @let height = (HEIGHT * share(*weight, most).sqrt()).max(1.0);
                    @let left = axis.percent(bucket.after + 1, bucket.from_at);
                    @let width = (axis.percent(bucket.until + 1, bucket.to_at) - left).max(0.2);
                    rect.density x=(percent(left)) width=(percent(width))
                        y=(format!("{:.1}", HEIGHT - height)) height=(format!("{height:.1}")) {}
                }
            }
            @for mark in &view.facts.marks.marks { (drawn_mark(page, view, axis, mark)) }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share.clamp(0.0, 100.0))
}

fn drawn_mark(
    page: &PageRequest,
    view: &ExecutionView,
    axis: &ScrubAxis<'_>,
    mark: &LogMark,
) -> Markup {
    let (class, word, height) = appearance(mark.kind);
    let at = mark.at.unwrap_or_else(|| axis.time_of(mark.seq));
    let step = mark.step.as_deref().unwrap_or_default();
    let label = format!("{}: {} {step}", page.words.number(mark.seq), page.words.t(word));
    html! {
        a class=(class) href=(view.here.at(Some(mark.seq)).address()) aria-label=(label) tabindex="-1" {
            title { (label) }
            rect x=(percent(axis.percent(mark.seq, at).min(99.6))) y=(HEIGHT - height) width="3" height=(height) {}
        }
    }
}

/// Returns the class, the word and the height of a mark.
fn appearance(kind: LogMarkKind) -> (&'static str, &'static str, f64) {
    match kind {
        LogMarkKind::Failure => ("mark bad", "exec.mark_failure", HEIGHT),
        LogMarkKind::Retry => ("mark warning", "exec.mark_retry", 14.0),
        LogMarkKind::Takeover => ("mark warning", "exec.mark_takeover", 14.0),
        LogMarkKind::Fork => ("mark active", "exec.mark_fork", HEIGHT),
        LogMarkKind::Cancellation => ("mark quiet", "exec.mark_cancellation", 14.0),
        LogMarkKind::Trouble => ("mark bad", "exec.mark_trouble", 14.0),
        LogMarkKind::SavedState => ("mark quiet", "exec.mark_saved", 6.0),
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
    let is_running = view.summary.status == ExecutionStatus::Running;
    html! {
        p.says-event {
            @if view.is_live() {
                span.live { "● " (page.t("exec.live")) }
                span.lost role="status" { "○ " (page.t("exec.lost")) }
                " "
            }
            strong { (count) }
            @if let Some(recorded) = &view.event {
                " " code { (recorded.event.tag().as_str()) }
                @if let Some(step) = recorded.event.step() { " " code { (step.as_str()) } }
            }
            span.soft { " +" (short(page.words, passed)) }
            @if !view.is_live() && (is_running || position < last) {
                " " a.button href=(view.here.at(None).address()) {
                    (page.t(if is_running { "exec.go_live" } else { "exec.go_end" }))
                }
            }
        }
    }
}

/// Draws the choice of the axis, and the second position: set it here, move on, and see what changed
/// in between.
fn second(page: &PageRequest, view: &ExecutionView) -> Markup {
    let axes = [(LogAxis::Seq, "exec.axis_events"), (LogAxis::Time, "exec.axis_time")];
    html! {
        p.second {
            span.axes role="group" aria-label=(page.t("exec.axis")) {
                @for (axis, word) in axes {
                    a href=(view.here.axis(axis).address()) aria-current=[(axis == view.here.axis).then_some("true")] {
                        (page.words.t(word))
                    }
                }
            }
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
