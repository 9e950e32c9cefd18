//! An instant: UTC from the server; local or relative by a script, as the visitor has chosen.

use maud::{Markup, html};
use noetl_model::Timestamp;

/// Draws an instant.
pub(crate) fn time(at: Timestamp) -> Markup {
    let exact = at.to_string();
    html! { time datetime=(exact) title=(exact) { (utc(&exact)) } }
}

/// Draws an instant that an answer of the API holds as text.
pub(crate) fn time_text(at: &str) -> Markup {
    match at.parse() {
        Ok(at) => time(at),
        Err(_) => html! { (at) },
    }
}

/// Draws an instant in the future, which is never shown relative to now.
pub(crate) fn planned_time(at: &str) -> Markup {
    html! { time datetime=(at) title=(at) data-exact { (utc(at)) } }
}

/// Returns an instant for a sentence, to the second.
pub(crate) fn utc_text(at: Timestamp) -> String {
    utc(&at.to_string())
}

/// Returns an instant to the second, such as `2026-11-15 11:26:06 UTC`.
fn utc(exact: &str) -> String {
    match exact.get(..19) {
        Some(second) => format!("{} UTC", second.replace('T', " ")),
        None => exact.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_shown_to_the_second_and_kept_exactly() {
        let drawn = time(Timestamp::from_micros(1_794_741_966_505_656)).into_string();
        assert_eq!(
            drawn,
            "<time datetime=\"2026-11-15T11:26:06.505656Z\" title=\"2026-11-15T11:26:06.505656Z\">\
             2026-11-15 11:26:06 UTC</time>"
        );
    }
}
