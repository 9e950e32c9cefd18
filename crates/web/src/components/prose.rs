//! Sentences of the application as HTML: names between backticks become code.

use maud::{Markup, html};

/// Draws a sentence.
pub(crate) fn prose(sentence: &str) -> Markup {
    let parts = sentence.split('`').enumerate();
    html! {
        @for (place, part) in parts {
            @if place % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_between_backticks_are_code() {
        assert_eq!(
            prose("No worker for `gpu<`; start one.").into_string(),
            "No worker for <code>gpu&lt;</code>; start one."
        );
    }
}
