//! A sentence with a duration in it, which a script counts on.

use std::time::Duration;

use maud::{Markup, html};

use super::duration::{growing, short, shrinking};
use super::prose::prose;
use crate::words::Words;

/// Stands for the duration in the text of a sentence.
pub(crate) const TIME_PLACE: &str = "\u{1}";

/// A sentence with a duration in it; names between backticks become code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimedSentence {
    /// The text, with [`TIME_PLACE`] at the place of the duration.
    pub(crate) text: String,
    pub(crate) time: SaidTime,
}

/// The duration in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SaidTime {
    None,
    /// The time that has passed.
    Passed(Duration),
    /// The time that is left.
    Left(Duration),
}

impl TimedSentence {
    /// Draws the sentence; in one about now, a script counts the duration on.
    pub(crate) fn drawn(&self, words: &Words, is_now: bool) -> Markup {
        let time = match self.time {
            SaidTime::None => html! {},
            SaidTime::Passed(passed) if is_now => growing(words, passed),
            SaidTime::Left(left) if is_now => shrinking(words, left),
            SaidTime::Passed(time) | SaidTime::Left(time) => html! { (short(words, time)) },
        };
        let (before, after) = self.text.split_once(TIME_PLACE).unwrap_or((&self.text, ""));
        html! { (prose(before)) (time) (prose(after)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preferences::Language;

    #[test]
    fn a_duration_counts_on_in_a_sentence_about_now() {
        let text = format!("Step `a` waits {TIME_PLACE} for `b`.");
        let time = SaidTime::Passed(Duration::from_millis(1500));
        let sentence = TimedSentence { text, time };
        let words = Words::of(Language::English);
        assert_eq!(
            sentence.drawn(words, false).into_string(),
            "Step <code>a</code> waits 1.5 s for <code>b</code>."
        );
        assert!(sentence.drawn(words, true).into_string().contains("data-grows=\"1500\""));
    }
}
