//! Errors: of a page, and of a part of a page.

use maud::{Markup, html};

use crate::error::ErrorMessage;
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

/// Draws a message of the engine, which is in English, as an error inside a page.
pub(crate) fn error_line(message: &str) -> Markup {
    html! { p.error-line { (icon(Icon::Failed)) span lang="en" { (message) } } }
}

/// Draws a text of the visitor's language as an error inside a page.
pub(crate) fn translated_error_line(message: &str) -> Markup {
    html! { p.error-line { (icon(Icon::Failed)) span { (message) } } }
}

/// Draws the message of an error inside a page.
pub(crate) fn message_line(message: &ErrorMessage) -> Markup {
    match message {
        ErrorMessage::English(text) => error_line(text),
        ErrorMessage::Translated(text) => translated_error_line(text),
    }
}

/// Draws a message that asks for attention.
pub(crate) fn hint(message: &Markup) -> Markup {
    html! { div.hint { (icon(Icon::Warning)) div { (message) } } }
}
