//! An empty list: its meaning, and the command that fills it.

use maud::{Markup, html};

use super::command::command;
use super::prose::prose;

/// Draws the explanation of an empty list, with a command.
pub(crate) fn empty(title: &str, more: &str, command_line: Option<&str>) -> Markup {
    html! {
        div.empty {
            p.title { (title) }
            p { (prose(more)) }
            @if let Some(line) = command_line { (command(line)) }
        }
    }
}
