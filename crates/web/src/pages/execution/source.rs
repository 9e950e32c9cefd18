//! The source of the playbook, with the lines of the selected step marked.

use maud::{Markup, html};

use super::view::ExecutionView;

/// Maximum number of lines that the page shows.
const LINES_MAX: usize = 3000;

pub(super) fn source(view: &ExecutionView) -> Markup {
    let lines: Vec<&str> = view.drawn.content.lines().take(LINES_MAX).collect();
    let marked = view.here.step.as_deref().and_then(|step| lines_of(&lines, step));
    let is_marked = |index: usize| marked.as_ref().is_some_and(|it| it.contains(&index));
    html! {
        pre.source tabindex="0" {
            @for (index, line) in lines.iter().enumerate() {
                span.line.marked[is_marked(index)] {
                    span.at aria-hidden="true" { (index + 1) }
                    (line) "\n"
                }
            }
        }
    }
}

/// Returns the line on which a step begins, counted from 1.
pub(super) fn line_of(text: &str, step: &str) -> Option<usize> {
    let lines: Vec<&str> = text.lines().collect();
    lines_of(&lines, step).map(|lines| lines.start + 1)
}

/// Returns the lines of a step: from its name to the next entry of the same list.
fn lines_of(lines: &[&str], step: &str) -> Option<std::ops::Range<usize>> {
    let name = |line: &str| {
        let text = line.trim_start().trim_start_matches("- ").trim_start();
        let value = text.strip_prefix("step:")?.split('#').next()?.trim();
        Some(value.trim_matches(['"', '\'']) == step)
    };
    let indent = |line: &str| line.len() - line.trim_start().len();
    let at =
        lines.iter().position(|line| name(line) == Some(true) && line.trim().starts_with('-'))?;
    let ends = |line: &&str| !line.trim().is_empty() && indent(line) <= indent(lines[at]);
    let length = lines[at + 1..].iter().position(ends).unwrap_or(lines.len() - at - 1);
    Some(at..at + 1 + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_ends_where_the_next_entry_begins() {
        let text = "workflow:\n  - step: a\n    tool: {kind: noop}\n\n  - step: \"b\"\n    next: a\nend: 1\n";
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines_of(&lines, "a"), Some(1..4));
        assert_eq!(lines_of(&lines, "b"), Some(4..6));
        assert_eq!(lines_of(&lines, "c"), None);
    }
}
