//! Everything lies where one looks for it.

use std::collections::BTreeSet;

use super::Fault;
use super::tree::Tree;

/// What the root may hold.
const ROOT_ENTRIES: &[&str] = &[
    ".cargo",
    ".ci",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "clippy.toml",
    "crates",
    "docs",
    "examples",
    "rustfmt.toml",
    "xtask",
];

pub(super) fn everything_has_its_place(tree: &Tree) -> Vec<Fault> {
    let entries: BTreeSet<&str> =
        tree.files().map(|(path, _)| path.split('/').next().unwrap_or(path)).collect();
    entries
        .into_iter()
        .filter(|entry| !ROOT_ENTRIES.contains(entry))
        .map(|entry| Fault::of(entry, "does not belong at the root"))
        .collect()
}

pub(super) fn examples_say_what_they_show(tree: &Tree) -> Vec<Fault> {
    let says = |text: &str| {
        let first = text.lines().next().unwrap_or_default();
        first.strip_prefix("# ").is_some_and(|comment| !comment.trim().is_empty())
    };
    tree.below("examples")
        .filter(|(path, text)| path.ends_with(".yaml") && !says(text))
        .map(|(path, _)| Fault::at(path, 1, "begins without a comment that says what it shows"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn strangers_at_the_root_are_found() {
        check(
            everything_has_its_place,
            &[("README.md", ""), ("crates/x/a", ""), ("notes.txt", ""), ("src/main.rs", "")],
            &["notes.txt: does not belong at the root", "src: does not belong at the root"],
        );
    }

    #[test]
    fn an_example_without_a_header_is_found() {
        check(
            examples_say_what_they_show,
            &[
                ("examples/a.yaml", "# Shows a.\nkind: Playbook\n"),
                ("examples/b.yaml", "kind: x\n"),
            ],
            &["examples/b.yaml:1: begins without a comment that says what it shows"],
        );
    }
}
