//! A duration, with two units at most.

use std::time::Duration;

use maud::{Markup, html};

use crate::words::Words;

/// Draws a duration; the title is exact.
pub(crate) fn duration(words: &Words, duration: Duration) -> Markup {
    let exact = duration.as_secs_f64().to_string().replace('.', &words.decimal_mark().to_string());
    html! { span.duration title={ (exact) " s" } { (short(words, duration)) } }
}

/// Draws a duration that goes on; a script counts on from the time of the drawing.
pub(crate) fn growing(words: &Words, passed: Duration) -> Markup {
    html! { span.duration data-grows=(passed.as_millis()) { (short(words, passed)) } }
}

/// Draws the time until an instant; a script counts down from the time of the drawing.
pub(crate) fn shrinking(words: &Words, left: Duration) -> Markup {
    html! { span.duration data-shrinks=(left.as_millis()) { (short(words, left)) } }
}

/// Returns a duration as a short text, such as `1 min 20 s`.
pub(crate) fn short(words: &Words, duration: Duration) -> String {
    let millis = duration.as_millis();
    let seconds = duration.as_secs();
    let two = |large: u64, one: &str, small: u64, other: &str| match small {
        0 => format!("{large} {one}"),
        small => format!("{large} {one} {small} {other}"),
    };
    match seconds {
        0 => format!("{millis} ms"),
        1..10 => format!("{seconds}{}{} s", words.decimal_mark(), millis / 100 % 10),
        10..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        3600..86_400 => two(seconds / 3600, "h", seconds / 60 % 60, "min"),
        _ => two(seconds / 86_400, "d", seconds / 3600 % 24, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preferences::Language;

    #[test]
    fn a_duration_has_two_units_at_most() {
        for (millis, expected) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1450, "1.4 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (80_000, "1 min 20 s"),
            (3_600_000, "1 h"),
            (90_000_000, "1 d 1 h"),
        ] {
            let words = Words::of(Language::English);
            assert_eq!(short(words, Duration::from_millis(millis)), expected);
        }
        let german = Words::of(Language::German);
        assert_eq!(short(german, Duration::from_millis(1450)), "1,4 s");
    }
}
