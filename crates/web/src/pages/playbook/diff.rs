//! The difference of two versions, line by line.

use similar::{ChangeTag, TextDiff};

/// Lines without a change around each change.
const CONTEXT: usize = 3;

/// A line of a difference.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DiffLine {
    pub(super) change: LineChange,
    /// Line number in the old and in the new text.
    pub(super) old: Option<usize>,
    pub(super) new: Option<usize>,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineChange {
    Same,
    Removed,
    Added,
    /// Lines that both texts have are left out here.
    Gap,
}

/// Compares two texts; empty if they are the same.
pub(super) fn diff(old: &str, new: &str) -> Vec<DiffLine> {
    let compared = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for (index, group) in compared.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            lines.push(DiffLine {
                change: LineChange::Gap,
                old: None,
                new: None,
                text: String::new(),
            });
        }
        for change in group.iter().flat_map(|op| compared.iter_changes(op)) {
            lines.push(DiffLine {
                change: match change.tag() {
                    ChangeTag::Equal => LineChange::Same,
                    ChangeTag::Delete => LineChange::Removed,
                    ChangeTag::Insert => LineChange::Added,
                },
                old: change.old_index().map(|index| index + 1),
                new: change.new_index().map(|index| index + 1),
                text: change.value().trim_end_matches('\n').to_owned(),
            });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_stand_among_a_few_others() {
        let old: String = (1..=20).map(|it| format!("{it}\n")).collect();
        let new = old.replace("\n10\n", "\nten\n");
        let told: Vec<String> = diff(&old, &new)
            .iter()
            .map(|line| format!("{:?} {}", line.change, line.text))
            .collect();
        assert_eq!(
            told,
            [
                "Same 7",
                "Same 8",
                "Same 9",
                "Removed 10",
                "Added ten",
                "Same 11",
                "Same 12",
                "Same 13"
            ]
        );
        assert_eq!(diff(&old, &old), []);
    }
}
