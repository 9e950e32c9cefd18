//! The durations of executions as bars, the oldest first; each bar is a link.

use std::time::Duration;

use maud::{Markup, html};
use noetl_model::{Summary, Timestamp};

use super::duration::short;
use super::id::execution_address;
use super::progress::took;
use super::status::{Tone, status_word};
use crate::request::PageRequest;

/// Width of a bar with its gap, and height of the drawing, in its own units.
const STEP: usize = 10;
const HEIGHT: u128 = 40;
/// Width of a bar with its gap, in pixels.
const WIDTH: usize = 18;
/// Height of the shortest bar.
const LOWEST: u128 = 2;

/// Draws the durations of executions, which are given newest first; nothing if there are fewer than
/// two.
pub(crate) fn duration_bars(page: &PageRequest, title: &str, executions: &[Summary]) -> Markup {
    let longest = executions.iter().map(|it| took(it, page.now)).max().unwrap_or_default();
    html! {
        @if executions.len() > 1 {
            figure.durations {
                figcaption.soft { (title) " " (short(page.words, longest)) }
                svg viewBox={ "0 0 " (executions.len() * STEP) " " (HEIGHT) } width=(executions.len() * WIDTH) preserveAspectRatio="none"
                    role="group" aria-label=(title) {
                    @for (index, summary) in executions.iter().rev().enumerate() {
                        (drawn_bar(page, summary, index * STEP, longest, page.now))
                    }
                }
            }
        }
    }
}

fn drawn_bar(
    page: &PageRequest,
    summary: &Summary,
    left: usize,
    longest: Duration,
    now: Timestamp,
) -> Markup {
    let length = took(summary, now);
    let height = height(length, longest);
    let state = page.words.t(status_word(summary.status));
    let label = format!("{}, {state}, {}", summary.execution, short(page.words, length));
    html! {
        a href=(execution_address(summary.execution)) aria-label=(label) {
            title { (label) }
            rect.reach x=(left) y="0" width=(STEP) height=(HEIGHT) {}
            rect class=(Tone::of(summary.status).class()) x=(left + 1) y=(HEIGHT - height)
                width=(STEP - 2) height=(height) {}
        }
    }
}

/// Returns the height of a bar, in units of the drawing.
fn height(length: Duration, longest: Duration) -> u128 {
    let share = (length.as_micros() * HEIGHT).checked_div(longest.as_micros());
    share.unwrap_or(LOWEST).clamp(LOWEST, HEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_high_as_its_share_and_never_invisible() {
        let seconds = Duration::from_secs;
        assert_eq!(height(seconds(10), seconds(10)), HEIGHT);
        assert_eq!(height(seconds(5), seconds(10)), HEIGHT / 2);
        assert_eq!(height(seconds(0), seconds(10)), LOWEST);
        assert_eq!(height(seconds(0), seconds(0)), LOWEST);
    }
}
