//! Errors: of a page, and of a part of a page.

use maud::{Markup, html};

use crate::layout::{Icon, icon};

/// Draws the content of a page that shows an error.
pub(crate) fn error_panel(title: &str, message: Option<Markup>, more: &str) -> Markup {
    html! {
        section.error-page {
            h1 { (icon(Icon::Warning)) (title) }
            @if let Some(message) = message { p.message { (message) } }
            p { (more) }
        }
    }
}

/// Draws an error inside a page; messages of the engine are in English.
pub(crate) fn error_line(message: &str) -> Markup {
    html! { p.error-line { (icon(Icon::Failed)) span lang="en" { (message) } } }
}

/// Draws a message that asks for attention.
pub(crate) fn hint(message: &Markup) -> Markup {
    html! { div.hint { (icon(Icon::Warning)) div { (message) } } }
}
