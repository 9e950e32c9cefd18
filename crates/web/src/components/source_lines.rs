//! The lines of the steps in the text of a playbook.

use std::collections::BTreeMap;
use std::ops::Range;

/// The lines of each step, counted from 0: from its name to the next entry of the same list. The
/// text is read once, however many steps it has.
#[derive(Debug, Default)]
pub(crate) struct StepLines<'a>(BTreeMap<&'a str, Range<usize>>);

impl<'a> StepLines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let mut found = Self::default();
        let mut open: Option<(&str, usize, usize)> = None;
        let mut count = 0;
        for (index, line) in text.lines().enumerate() {
            count = index + 1;
            let indent = line.len() - line.trim_start().len();
            if line.trim().is_empty() {
                continue;
            }
            if let Some((step, from, _)) = open.take_if(|(_, _, at)| indent <= *at) {
                found.add(step, from..index);
            }
            if open.is_none() {
                open = step_of(line).map(|step| (step, index, indent));
            }
        }
        if let Some((step, from, _)) = open {
            found.add(step, from..count);
        }
        found
    }

    /// Adds the lines of a step; the first step of a name counts.
    fn add(&mut self, step: &'a str, lines: Range<usize>) {
        self.0.entry(step).or_insert(lines);
    }

    pub(crate) fn get(&self, step: &str) -> Option<Range<usize>> {
        self.0.get(step).cloned()
    }

    /// Returns the line on which a step begins, counted from 1.
    pub(crate) fn first_line(&self, step: &str) -> Option<usize> {
        self.0.get(step).map(|lines| lines.start + 1)
    }
}

/// Returns the name of the step that a line begins.
fn step_of(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("- ")?.trim_start();
    let value = text.strip_prefix("step:")?.split('#').next()?.trim();
    Some(value.trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_ends_where_the_next_entry_begins() {
        let text = "workflow:\n  - step: a\n    tool: {kind: noop}\n    next:\n      - step: b\n\n  \
                    - step: \"b\" # last\n    next: a\nend: 1\n";
        let lines = StepLines::of(text);
        assert_eq!(lines.get("a"), Some(1..6));
        assert_eq!(lines.get("b"), Some(6..8));
        assert_eq!(lines.get("c"), None);
        assert_eq!(lines.first_line("b"), Some(7));
        assert_eq!(StepLines::of("- step: z").get("z"), Some(0..1));
    }
}
