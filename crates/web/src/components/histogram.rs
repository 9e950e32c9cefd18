//! The numbers of executions by time and status, as stacked bars: each bar is a link to its time, and
//! a table says the same. A script lets the visitor choose a time over several bars.

use maud::{Markup, html};
use noetl_api::wire::{ExecutionHistogram, HistogramBucket};
use noetl_model::{ExecutionStatus, Timestamp};

use super::status::{Tone, status_word};
use super::table::{number, table, text};
use super::time::{planned_time, time};
use crate::request::PageRequest;

/// Width of a bucket and height of the drawing, in its own units.
const WIDTH: u64 = 20;
const HEIGHT: u64 = 80;
/// Height of the smallest part, so that one failure among thousands is seen.
const LEAST: u64 = 3;
/// Statuses from the base of a bar upwards.
const STACK: [ExecutionStatus; 4] = [
    ExecutionStatus::Failed,
    ExecutionStatus::Cancelled,
    ExecutionStatus::Running,
    ExecutionStatus::Completed,
];

/// Draws a histogram. `address` is the list for a time, given as the fields of the list have it;
/// for empty fields it is the list without one. A live one is fetched again by `refresh`, in
/// milliseconds.
pub(crate) fn histogram(
    page: &PageRequest,
    counts: &ExecutionHistogram,
    address: impl Fn(&str, &str) -> String,
    refresh: Option<&str>,
) -> Markup {
    let total: u64 = counts.buckets.iter().map(HistogramBucket::total).sum();
    html! {
        figure.histogram #histogram data-histogram data-address=(address("", "")) data-refresh=[refresh] {
            @if total == 0 {
                p.soft { (page.t("histogram.none")) " " (span(counts.from, counts.until)) }
            } @else {
                (legend(page, counts))
                (bars(page, counts, &address))
                p.axis aria-hidden="true" {
                    (planned_time(&counts.from.to_string())) (planned_time(&counts.until.to_string()))
                }
                p.hint-line.soft data-chosen hidden { (page.t("histogram.choose")) }
                details { summary { (page.t("histogram.table")) } (as_table(page, counts)) }
            }
        }
    }
}

/// Returns the text of a field for dates and times, in UTC.
fn field(at: Timestamp) -> String {
    let exact = at.to_string();
    let length = if exact.get(16..19) == Some(":00") { 16 } else { 19 };
    exact.get(..length).unwrap_or_default().to_owned()
}

fn span(from: Timestamp, until: Timestamp) -> Markup {
    html! { (time(from)) " – " (time(until)) }
}

fn count_of(bucket: &HistogramBucket, status: ExecutionStatus) -> u64 {
    match status {
        ExecutionStatus::Running => bucket.running,
        ExecutionStatus::Completed => bucket.completed,
        ExecutionStatus::Failed => bucket.failed,
        ExecutionStatus::Cancelled => bucket.cancelled,
    }
}

/// Returns the reference of the pattern of a status, so that it is known without its colour.
fn pattern(status: ExecutionStatus) -> &'static str {
    match status {
        ExecutionStatus::Running => "url(#bar-running)",
        ExecutionStatus::Completed => "url(#bar-completed)",
        ExecutionStatus::Failed => "url(#bar-failed)",
        ExecutionStatus::Cancelled => "url(#bar-cancelled)",
    }
}

/// Draws the patterns: solid, diagonal lines, dots and horizontal lines.
fn patterns() -> Markup {
    let ground = |status| {
        html! { rect class={ "fill-" (Tone::of(status).class()) } width="8" height="8" {} }
    };
    html! {
        defs {
            pattern id="bar-completed" width="8" height="8" patternUnits="userSpaceOnUse" {
                (ground(ExecutionStatus::Completed))
            }
            pattern id="bar-failed" width="8" height="8" patternUnits="userSpaceOnUse" {
                (ground(ExecutionStatus::Failed))
                path.mark d="M-2 2 2 -2M0 8 8 0M6 10 10 6" {}
            }
            pattern id="bar-running" width="8" height="8" patternUnits="userSpaceOnUse" {
                (ground(ExecutionStatus::Running))
                circle.dot cx="2" cy="2" r="1.2" {}
                circle.dot cx="6" cy="6" r="1.2" {}
            }
            pattern id="bar-cancelled" width="8" height="8" patternUnits="userSpaceOnUse" {
                (ground(ExecutionStatus::Cancelled))
                path.mark d="M0 2H8M0 6H8" {}
            }
        }
    }
}

/// Draws the sum of each status that occurs, beside its pattern and its word.
fn legend(page: &PageRequest, counts: &ExecutionHistogram) -> Markup {
    let sum = |status| counts.buckets.iter().map(|bucket| count_of(bucket, status)).sum::<u64>();
    html! {
        figcaption {
            strong { (page.t("histogram.title")) } " "
            ul {
                @for status in STACK {
                    @let count = sum(status);
                    @if count > 0 {
                        li {
                            svg viewBox="0 0 16 16" aria-hidden="true" {
                                rect width="16" height="16" fill=(pattern(status)) {}
                            }
                            (page.words.t(status_word(status))) " " (number_of(page, counts, count))
                        }
                    }
                }
            }
            @if counts.truncated {
                span.soft { (page.words.fill("histogram.truncated",
                    &[("count", &page.words.number(counts.count_max))])) }
            }
        }
    }
}

/// Returns a number, marked if it may be too low.
fn number_of(page: &PageRequest, counts: &ExecutionHistogram, count: u64) -> String {
    let mark = if counts.truncated { "≥ " } else { "" };
    format!("{mark}{}", page.words.number(count))
}

fn bars(
    page: &PageRequest,
    counts: &ExecutionHistogram,
    address: &impl Fn(&str, &str) -> String,
) -> Markup {
    let highest = counts.buckets.iter().map(HistogramBucket::total).max().unwrap_or(1).max(1);
    let width = WIDTH * counts.buckets.len() as u64;
    html! {
        svg.bars viewBox={ "0 0 " (width) " " (HEIGHT) } preserveAspectRatio="none" role="group"
            aria-label=(page.t("histogram.title")) {
            (patterns())
            @for (index, bucket) in (0u64..).zip(&counts.buckets) {
                @let (from, until) = (field(bucket.from), field(bucket.until));
                @let x = index * WIDTH;
                @if bucket.total() > 0 {
                    @let label = label(page, counts, bucket);
                    a href=(address(&from, &until)) data-from=(from) data-until=(until) aria-label=(label) {
                        title { (label) }
                        rect.ground x=(x) y="0" width=(WIDTH) height=(HEIGHT) {}
                        @for (y, height, status) in stack(bucket, highest) {
                            rect class=(Tone::of(status).class()) x=(x + 2) y=(y) width=(WIDTH - 4)
                                height=(height) fill=(pattern(status)) {}
                        }
                    }
                } @else {
                    g data-from=(from) data-until=(until) {
                        rect.ground x=(x) y="0" width=(WIDTH) height=(HEIGHT) {}
                    }
                }
            }
        }
    }
}

/// Returns the parts of a bar as top, height and status. Small parts are drawn larger, and the whole
/// stays within the drawing.
fn stack(bucket: &HistogramBucket, highest: u64) -> Vec<(u64, u64, ExecutionStatus)> {
    let parts: Vec<(ExecutionStatus, u64)> = STACK
        .into_iter()
        .map(|status| (status, count_of(bucket, status)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let room = HEIGHT - LEAST * parts.len() as u64;
    let mut base = HEIGHT;
    let mut drawn = Vec::with_capacity(parts.len());
    for (status, count) in parts {
        let height = LEAST + count * room / highest;
        base -= height;
        drawn.push((base, height, status));
    }
    drawn
}

/// Returns a bar in words.
fn label(page: &PageRequest, counts: &ExecutionHistogram, bucket: &HistogramBucket) -> String {
    let parts = STACK.into_iter().map(|status| (status, count_of(bucket, status)));
    let parts: Vec<String> = parts
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| {
            format!("{} {}", page.words.t(status_word(status)), number_of(page, counts, count))
        })
        .collect();
    let from = field(bucket.from).replace('T', " ");
    format!("{from} UTC: {}", parts.join(", "))
}

fn as_table(page: &PageRequest, counts: &ExecutionHistogram) -> Markup {
    let mut columns = vec![text(page.t("histogram.time"))];
    columns.extend(STACK.map(|status| number(page.words.t(status_word(status)))));
    let rows: Vec<Vec<Markup>> = counts
        .buckets
        .iter()
        .filter(|bucket| bucket.total() > 0)
        .map(|bucket| {
            let mut row = vec![span(bucket.from, bucket.until)];
            row.extend(STACK.map(|status| {
                html! { (number_of(page, counts, count_of(bucket, status))) }
            }));
            row
        })
        .collect();
    table(page.t("histogram.title"), &columns, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(failed: u64, completed: u64) -> HistogramBucket {
        let at = Timestamp::from_millis(0);
        HistogramBucket { from: at, until: at, running: 0, completed, failed, cancelled: 0 }
    }

    #[test]
    fn one_failure_among_thousands_is_seen_and_a_bar_stays_within_the_drawing() {
        for (bucket, highest) in [(bucket(1, 9_999), 10_000), (bucket(1, 0), 10_000)] {
            let drawn = stack(&bucket, highest);
            assert!(drawn.iter().all(|(_, height, _)| *height >= LEAST), "{drawn:?}");
            assert_eq!(drawn[0].2, ExecutionStatus::Failed);
            assert_eq!(drawn[0].0 + drawn[0].1, HEIGHT);
        }
    }

    #[test]
    fn a_field_has_seconds_only_if_there_are_any() {
        assert_eq!(field("2026-11-17T10:30:00Z".parse().unwrap()), "2026-11-17T10:30");
        assert_eq!(field("2026-11-17T10:30:05Z".parse().unwrap()), "2026-11-17T10:30:05");
    }
}
