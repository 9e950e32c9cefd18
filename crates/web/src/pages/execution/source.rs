//! The source of the playbook, with the lines of the selected step marked.

use maud::{Markup, html};

use super::view::ExecutionView;
use crate::components::source_lines::StepLines;
use crate::components::source_text::coloured_lines;

/// Maximum number of lines that the page shows.
const LINES_MAX: usize = 3000;

pub(super) fn source(view: &ExecutionView) -> Markup {
    let lines = coloured_lines(&view.drawn.content);
    let marked =
        view.here.step.as_deref().and_then(|step| StepLines::of(&view.drawn.content).get(step));
    let is_marked = |index: usize| marked.as_ref().is_some_and(|it| it.contains(&index));
    html! {
        pre.source tabindex="0" {
            @for (index, line) in lines.iter().take(LINES_MAX).enumerate() {
                span.line.marked[is_marked(index)] {
                    span.at aria-hidden="true" { (index + 1) }
                    (line) "\n"
                }
            }
        }
    }
}
