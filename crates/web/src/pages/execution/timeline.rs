//! The timeline up to the position: a row per step, working apart from waiting, under an axis of
//! time. A row opens to its attempts, or to groups of items where there are many.

use std::collections::BTreeMap;

use maud::{Markup, html};
use noetl_api::wire::{TimelineActivity, TimelineAttempt, TimelineItemGroup, TimelineRow};
use noetl_model::Timestamp;

use super::address::{Tab, TimelineChoice};
use super::graph::share;
use super::seek::SoughtPlace;
use super::sentence::look;
use super::ticks::{TickPlaces, ticks};
use super::view::{ExecutionView, ROWS};
use crate::components::duration::{duration, growing, short};
use crate::components::status::Tone;
use crate::preferences::TimeStyle;
use crate::request::PageRequest;

/// Maximum number of ticks of the axis.
const TICKS_MAX: usize = 6;
/// The last place on the axis, in percent, at which a tick has room for its text.
const LABELLED_UNTIL: f64 = 88.0;
/// Maximum number of attempts of a step that have rows; more are shown in groups of items.
const ATTEMPTS_MAX: usize = 40;

/// The time that the timeline spans.
struct TimeAxis {
    from: Timestamp,
    until: Timestamp,
}

impl TimeAxis {
    /// Returns a place in percent.
    fn percent(&self, at: Timestamp) -> f64 {
        let at = at.min(self.until);
        100.0 * share(micros(self.from, at), micros(self.from, self.until).max(1))
    }
}

pub(super) fn timeline(page: &PageRequest, view: &ExecutionView) -> Markup {
    let window = &view.timeline;
    let until = if view.is_live() { page.now } else { window.to_at };
    let axis = TimeAxis { from: window.from_at, until };
    html! {
        section.timeline #exec-timeline aria-label=(page.t("exec.timeline")) {
            (patterns())
            div.section-head {
                h2 { (page.t("exec.timeline")) }
                span.soft { @if view.is_live() { (growing(page.words, until.since(axis.from))) }
                    @else { (short(page.words, until.since(axis.from))) } }
                (choices(page, view))
                span.legend {
                    @for (activity, word) in LEGEND.into_iter().filter(|(it, _)| occurs(&window.rows, *it)) {
                        span { svg.key width="14" height="10" aria-hidden="true" { (bar(activity, false, "0%", "100%", (0, 10))) }
                            (page.words.t(word)) }
                    }
                }
            }
            (critical_path(page, view))
            @if !window.has_segments { p.soft { (page.t("exec.no_segments")) } }
            ol {
                (ticks_row(page, &axis))
                @for row in &window.rows {
                    (step_row(page, view, &axis, row))
                    @if view.here.timeline.expanded.contains(&row.step.name) { (inner_rows(page, view, &axis, row)) }
                }
            }
            (row_pages(page, view))
        }
    }
}

const LEGEND: [(TimelineActivity, &str); 7] = [
    (TimelineActivity::Running, "exec.working"),
    (TimelineActivity::WaitingForWorker, "exec.waits_worker"),
    (TimelineActivity::WaitingForSlot, "exec.waits_slot"),
    (TimelineActivity::WaitingForSignal, "exec.waits_signal"),
    (TimelineActivity::WaitingForApproval, "exec.waits_approval"),
    (TimelineActivity::WaitingForTimer, "exec.waits_timer"),
    (TimelineActivity::Child, "exec.waits_child"),
];

/// True if a row has an activity; work is always explained.
fn occurs(rows: &[TimelineRow], activity: TimelineActivity) -> bool {
    let has = |row: &TimelineRow| {
        row.segments.iter().any(|it| it.activity == activity)
            || row.attempts.iter().any(|it| it.activity == activity)
    };
    activity == TimelineActivity::Running || rows.iter().any(has)
}

/// Draws the patterns of waiting, so that it is not told from working by colour alone.
fn patterns() -> Markup {
    html! {
        svg.patterns width="0" height="0" aria-hidden="true" {
            defs {
                pattern id="waits-worker" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect.ground width="6" height="6" {} rect.line.worker width="2.5" height="6" {}
                }
                pattern id="waits-timer" width="5" height="5" patternUnits="userSpaceOnUse" {
                    rect.ground width="5" height="5" {} circle.line.timer cx="2.5" cy="2.5" r="1.3" {}
                }
                pattern id="waits-signal" width="5" height="5" patternUnits="userSpaceOnUse" {
                    rect.ground width="5" height="5" {} rect.line.signal width="2" height="5" {}
                }
                pattern id="waits-slot" width="5" height="5" patternUnits="userSpaceOnUse" {
                    rect.ground width="5" height="5" {} rect.line.slot width="5" height="1.2" {} rect.line.slot width="1.2" height="5" {}
                }
                pattern id="waits-approval" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)" {
                    rect.ground width="6" height="6" {} rect.line.approval width="2.5" height="6" {}
                }
                pattern id="waits-child" width="4" height="4" patternUnits="userSpaceOnUse" {
                    rect.ground width="4" height="4" {} rect.line.child width="4" height="2" {}
                }
            }
        }
    }
}

/// Draws the choices of what the timeline shows.
fn choices(page: &PageRequest, view: &ExecutionView) -> Markup {
    let chosen = &view.here.timeline;
    let critical = TimelineChoice { is_critical: !chosen.is_critical, ..chosen.clone() };
    let between = TimelineChoice { is_between: !chosen.is_between, ..chosen.clone() };
    html! {
        span.choices {
            a href=(view.here.timeline(critical).address()) aria-current=[chosen.is_critical.then_some("true")] {
                (page.t("exec.critical"))
            }
            @if view.here.to.is_some() {
                a href=(view.here.timeline(between).address()) aria-current=[chosen.is_between.then_some("true")] {
                    (page.t("exec.only_between"))
                }
            }
        }
    }
}

/// Draws the critical path in words: the steps that the end of the execution waited for.
fn critical_path(page: &PageRequest, view: &ExecutionView) -> Markup {
    html! {
        @match &view.critical {
            None if view.here.timeline.is_critical => p.soft { (page.t("exec.no_critical")) },
            None => {},
            Some(path) => p.critical-path { (page.t("exec.critical")) ": "
                @for (index, span) in path.iter().enumerate() {
                    @if index > 0 { " → " }
                    a href=(view.here.step(span.step.as_str()).address()) { code { (span.step.as_str()) } }
                    @if let Some(ended) = span.ended_at {
                        " " span.soft { (short(page.words, ended.since(span.entered_at))) }
                    }
                }
            },
        }
    }
}

fn ticks_row(page: &PageRequest, axis: &TimeAxis) -> Markup {
    let (places, is_clock) = match page.preferences.times {
        TimeStyle::Relative => (TickPlaces::FromStart, false),
        TimeStyle::Utc | TimeStyle::Local => (TickPlaces::Clock, true),
    };
    let (ticks, distance) = ticks(axis.from, axis.until, TICKS_MAX, places);
    let digits = if distance.as_secs() > 0 { 19 } else { 23 };
    html! {
        li.ticks aria-hidden="true" {
            span.soft { @if is_clock { (page.words.t(clock_word(page.preferences.times))) } }
            svg {
                @for at in ticks {
                    @let place = axis.percent(at);
                    line x1=(percent(place)) x2=(percent(place)) y1="0" y2="16" {}
                    // A text at the end would be cut.
                    @if place <= LABELLED_UNTIL {
                        text x=(percent(place)) y="11" dx="3" {
                            @if is_clock {
                                @let exact = at.to_string();
                                tspan data-clock=(exact) { (exact.get(11..digits).unwrap_or(&exact)) }
                            } @else { "+" (short(page.words, at.since(axis.from))) }
                        }
                    }
                }
            }
            span {}
        }
    }
}

fn clock_word(times: TimeStyle) -> &'static str {
    match times {
        TimeStyle::Utc => "choices.utc",
        TimeStyle::Local | TimeStyle::Relative => "choices.local",
    }
}

fn step_row(
    page: &PageRequest,
    view: &ExecutionView,
    axis: &TimeAxis,
    row: &TimelineRow,
) -> Markup {
    let step = &row.step;
    let is_selected = view.here.step.as_deref() == Some(step.name.as_str());
    let is_open = view.here.timeline.expanded.contains(&step.name);
    let latest = step.latest.as_ref();
    let entered = latest.map(|run| run.entered_at).or(step.first_entered_at).unwrap_or(axis.from);
    let ended = latest.and_then(|run| run.ended_at).unwrap_or(axis.until);
    let look = look(&view.state, step);
    let is_failed = look.tone == Tone::Bad;
    let critical: Vec<(Timestamp, Timestamp)> = view
        .critical
        .iter()
        .flatten()
        .filter(|span| span.step.as_str() == step.name)
        .map(|span| (span.entered_at, span.ended_at.unwrap_or(axis.until)))
        .collect();
    let toggle = page.words.t(if is_open { "exec.collapse" } else { "exec.expand" });
    html! {
        li data-same=(step.name) class=[is_selected.then_some("selected")] {
            span.step-cell {
                a.toggle href=(view.here.toggled(&step.name).address()) aria-expanded=(is_open.to_string())
                    aria-label={ (toggle) ": " (step.name) } title=(toggle) { @if is_open { "▾" } @else { "▸" } }
                a.step href=(view.here.step(&step.name).address()) title=(step.name) {
                    span class={ "mark " (look.tone.class()) } aria-hidden="true" { (look.mark) }
                    (step.name)
                    span.hidden { " " (page.words.t(look.word)) }
                    @if !critical.is_empty() { " " span.critical-mark title=(page.t("exec.critical")) { "◆" } }
                }
            }
            svg aria-hidden="true" {
                (plain_span(axis, "whole", step.first_entered_at.unwrap_or(entered), ended, (7, 2)))
                @for segment in &row.segments {
                    (span(axis, segment.activity, is_failed, segment.from_at, segment.to_at.unwrap_or(axis.until)))
                }
                @if row.segments.is_empty() {
                    (plain_span(axis, &format!("fill-{}", look.tone.class()), entered, ended, (3, 10)))
                }
                @for (from, to) in critical { (plain_span(axis, "critical", from, to, (14, 2))) }
            }
            span.took {
                @if view.is_live() && latest.is_some_and(|run| run.ended.is_none()) { (growing(page.words, ended.since(entered))) }
                @else { (duration(page.words, ended.since(entered))) }
                @if step.runs > 1 { span.soft { " ×" (step.runs) } } }
        }
    }
}

/// An attempt of a command with the parts of its time.
struct AttemptRow<'a> {
    run: u64,
    item: Option<u64>,
    /// The number of the attempt at the same work.
    number: usize,
    parts: Vec<&'a TimelineAttempt>,
}

/// Returns the attempts of a row, in order.
fn attempts(row: &TimelineRow) -> Vec<AttemptRow<'_>> {
    let mut numbers: BTreeMap<(u64, Option<u64>), usize> = BTreeMap::new();
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    let mut found: Vec<AttemptRow<'_>> = Vec::new();
    for part in &row.attempts {
        if let Some(place) = places.get(&part.command) {
            found[*place].parts.push(part);
            continue;
        }
        places.insert(part.command, found.len());
        let number = numbers.entry((part.run, part.item)).or_insert(0);
        *number += 1;
        found.push(AttemptRow {
            run: part.run,
            item: part.item,
            number: *number,
            parts: vec![part],
        });
    }
    found
}

/// Draws the rows inside a step: its attempts, or its items in groups.
fn inner_rows(
    page: &PageRequest,
    view: &ExecutionView,
    axis: &TimeAxis,
    row: &TimelineRow,
) -> Markup {
    let attempts = attempts(row);
    let has_groups = attempts.len() > ATTEMPTS_MAX && !row.groups.is_empty();
    let more = attempts.len().saturating_sub(ATTEMPTS_MAX);
    html! {
        @if has_groups {
            @for group in &row.groups { (group_row(page, view, axis, row, group)) }
        } @else {
            @for attempt in attempts.iter().take(ATTEMPTS_MAX) { (attempt_row(page, view, axis, row, attempt)) }
            @if more > 0 { li.inner { span.soft { (page.words.count("exec.more_attempts", u64::try_from(more).unwrap_or(0))) } } }
            @if attempts.is_empty() { li.inner { span.soft { (page.t("exec.no_attempts")) } } }
        }
    }
}

/// Draws a group of items; it leads to its first item, and to the first of them that failed.
fn group_row(
    page: &PageRequest,
    view: &ExecutionView,
    axis: &TimeAxis,
    row: &TimelineRow,
    group: &TimelineItemGroup,
) -> Markup {
    let words = page.words;
    // Only items of the latest run are found by their number.
    let is_latest = row.step.latest.as_ref().is_some_and(|run| run.run == group.run);
    let step = view.here.step(&row.step.name);
    let first = step.item(Some(group.first)).address();
    let before = step.item(group.first.checked_sub(1));
    let items = words.fill(
        "exec.items_of",
        &[("first", &words.number(group.first)), ("last", &words.number(group.last))],
    );
    let class = if group.failed > 0 { "works failed" } else { "works" };
    html! {
        li.inner {
            span.step-cell { @if is_latest { a href=(first) { (items) } } @else { (items) } }
            svg aria-hidden="true" { (plain_span(axis, class, group.from_at, group.to_at, (4, 8))) }
            span.took {
                (words.number(group.completed)) " ✓"
                @if group.failed > 0 {
                    " "
                    @if is_latest {
                        a.mark.bad href=(before.seeking(SoughtPlace::NextFailedItem)) title=(page.t("exec.next_failed")) {
                            (words.number(group.failed)) " ✕" span.hidden { " " (page.t("exec.next_failed")) } }
                    } @else { (words.number(group.failed)) " ✕" }
                }
            }
        }
    }
}

/// Returns the address of an attempt in the inspector. An attempt of an earlier run is shown at the
/// event that ended the attempt, when its run was the latest.
fn attempt_address(view: &ExecutionView, row: &TimelineRow, attempt: &AttemptRow<'_>) -> String {
    let command = attempt.parts.first().map(|part| part.command);
    let here = view.here.step(&row.step.name).tab(Tab::Step).command(command);
    let is_latest = row.step.latest.as_ref().is_some_and(|run| run.run == attempt.run);
    let ended = attempt.parts.last().and_then(|part| part.ended);
    match ended.filter(|_| !is_latest) {
        Some(seq) => here.at(Some(seq)).address(),
        None => here.address(),
    }
}

fn attempt_row(
    page: &PageRequest,
    view: &ExecutionView,
    axis: &TimeAxis,
    row: &TimelineRow,
    attempt: &AttemptRow<'_>,
) -> Markup {
    let words = page.words;
    let mut names = Vec::new();
    if row.step.runs > 1 {
        names.push(words.fill("exec.run_number", &[("run", &words.number(attempt.run))]));
    }
    if let Some(item) = attempt.item {
        names.push(words.fill("exec.failed_item", &[("item", &words.number(item))]));
    }
    let number = attempt.number.to_string();
    names.push(words.fill("exec.failed_attempt", &[("attempt", &number)]));
    let is_failed = attempt.parts.iter().any(|part| part.is_failed);
    let from = attempt.parts.first().map_or(axis.from, |part| part.from_at);
    let to = attempt.parts.last().and_then(|part| part.to_at).unwrap_or(axis.until);
    html! {
        li.inner {
            span.step-cell { a href=(attempt_address(view, row, attempt)) { (names.join(", ")) } @if is_failed { " " span.mark.bad title=(page.t("exec.step_failed")) { "✕" } } }
            svg aria-hidden="true" {
                @for part in &attempt.parts {
                    (span(axis, part.activity, part.is_failed, part.from_at, part.to_at.unwrap_or(axis.until)))
                }
            }
            span.took { (duration(words, to.since(from))) }
        }
    }
}

/// Draws the links to other rows of a long timeline.
fn row_pages(page: &PageRequest, view: &ExecutionView) -> Markup {
    let (window, chosen) = (&view.timeline, &view.here.timeline);
    let shown = chosen.offset.saturating_add(window.rows.len());
    let more = window.total.saturating_sub(u64::try_from(shown).unwrap_or(u64::MAX));
    let from =
        |offset: usize| view.here.timeline(TimelineChoice { offset, ..chosen.clone() }).address();
    html! {
        @if chosen.offset > 0 || more > 0 {
            nav.pages {
                @if chosen.offset > 0 { a href=(from(chosen.offset.saturating_sub(ROWS))) { (page.t("exec.rows_before")) } }
                @if more > 0 { a href=(from(shown)) { (page.words.count("exec.more_steps", more)) } }
            }
        }
    }
}

fn span(
    axis: &TimeAxis,
    activity: TimelineActivity,
    is_failed: bool,
    from: Timestamp,
    to: Timestamp,
) -> Markup {
    let left = axis.percent(from);
    let width = axis.percent(to) - left;
    let place = match activity {
        TimelineActivity::Running => (3, 10),
        TimelineActivity::Child
        | TimelineActivity::WaitingForWorker
        | TimelineActivity::WaitingForSlot
        | TimelineActivity::WaitingForSignal
        | TimelineActivity::WaitingForApproval
        | TimelineActivity::WaitingForTimer => (5, 6),
    };
    bar(activity, is_failed, &percent(left), &percent(width), place)
}

/// Draws a bar of an activity: working is filled, waiting has a pattern.
fn bar(
    activity: TimelineActivity,
    is_failed: bool,
    left: &str,
    width: &str,
    (top, height): (u32, u32),
) -> Markup {
    let (class, fill) = match activity {
        TimelineActivity::Running if is_failed => ("works failed", None),
        TimelineActivity::Running => ("works", None),
        TimelineActivity::Child => ("waits child", Some("url(#waits-child)")),
        TimelineActivity::WaitingForWorker => ("waits worker", Some("url(#waits-worker)")),
        TimelineActivity::WaitingForSlot => ("waits slot", Some("url(#waits-slot)")),
        TimelineActivity::WaitingForSignal => ("waits signal", Some("url(#waits-signal)")),
        TimelineActivity::WaitingForApproval => ("waits approval", Some("url(#waits-approval)")),
        TimelineActivity::WaitingForTimer => ("waits timer", Some("url(#waits-timer)")),
    };
    html! { rect class=(class) fill=[fill] x=(left) y=(top) width=(width) height=(height) {} }
}

fn plain_span(
    axis: &TimeAxis,
    class: &str,
    from: Timestamp,
    to: Timestamp,
    place: (u32, u32),
) -> Markup {
    let left = axis.percent(from);
    html! {
        rect class=(class) x=(percent(left)) y=(place.0) height=(place.1) width=(percent(axis.percent(to) - left)) {}
    }
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share.clamp(0.0, 100.0))
}

fn micros(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_micros()).unwrap_or(u64::MAX)
}
