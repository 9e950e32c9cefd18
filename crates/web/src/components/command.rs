//! A command line to copy.

use maud::{Markup, html};

use crate::layout::{Icon, icon};

/// Draws a command line; a script makes it copyable.
pub(crate) fn command(line: &str) -> Markup {
    html! {
        div.command {
            code { (line) }
            button.plain type="button" data-copy=(line) hidden aria-labelledby="copy-word" { (icon(Icon::Copy)) }
        }
    }
}
