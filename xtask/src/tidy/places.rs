//! Checks of the repository layout: root entries, examples, links, and the tests named in
//! documents.

use std::collections::BTreeSet;

use super::TidyFault;
use super::tree::SourceTree;

/// The entries allowed at the root.
const ROOT_ENTRIES: &[&str] = &[
    ".cargo",
    ".ci",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "clippy.toml",
    "deny.toml",
    "crates",
    "docs",
    "editors",
    "examples",
    "rustfmt.toml",
    "xtask",
];

pub(super) fn files_are_in_known_places(tree: &SourceTree) -> Vec<TidyFault> {
    let entries: BTreeSet<&str> =
        tree.files().map(|(path, _)| path.split('/').next().unwrap_or(path)).collect();
    entries
        .into_iter()
        .filter(|entry| !ROOT_ENTRIES.contains(entry))
        .map(|entry| TidyFault::of(entry, "does not belong at the root"))
        .collect()
}

pub(super) fn examples_say_what_they_show(tree: &SourceTree) -> Vec<TidyFault> {
    let says = |text: &str| {
        let first = text.lines().next().unwrap_or_default();
        first.strip_prefix("# ").is_some_and(|comment| !comment.trim().is_empty())
    };
    tree.below("examples")
        .filter(|(path, text)| path.ends_with(".yaml") && !says(text))
        .map(|(path, _)| TidyFault::at(path, 1, "begins without a comment that says what it shows"))
        .collect()
}

pub(super) fn links_lead_somewhere(tree: &SourceTree) -> Vec<TidyFault> {
    let mut faults = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".md")) {
        for (index, line) in text.lines().enumerate() {
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if !link.contains("://") && !leads_somewhere(tree, path, link) {
                    faults.push(TidyFault::at(path, index + 1, format!("`{link}` leads nowhere")));
                }
            }
        }
    }
    faults
}

/// True if a link in a file leads to another file, or to a directory with files.
fn leads_somewhere(tree: &SourceTree, from: &str, link: &str) -> bool {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('#').next().unwrap_or_default().trim_end_matches('/').split('/') {
        match part {
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let target = parts.join("/");
    tree.get(&target).is_some() || tree.below(&target).next().is_some()
}

/// The histories that each version of noetl has written, a directory for each version.
const HISTORIES: &str = "crates/playtest/tests/histories";
/// The databases that each version of noetl has written.
const DATABASES: &str = "crates/cli/tests/databases";

/// Checks that every released version has histories and a database, which the tests open and replay.
pub(super) fn released_versions_have_histories(tree: &SourceTree) -> Vec<TidyFault> {
    let lines = tree.get("CHANGELOG.md").unwrap_or_default().lines().enumerate();
    let released = lines.filter_map(|(index, line)| {
        let version = line.strip_prefix("## [")?.split(']').next()?;
        (version != "Unreleased").then_some((index, version))
    });
    let mut faults = Vec::new();
    for (index, version) in released {
        let mut add = |what| faults.push(TidyFault::at("CHANGELOG.md", index + 1, what));
        if tree.below(&format!("{HISTORIES}/{version}")).next().is_none() {
            add(format!("version {version} has no directory in {HISTORIES}"));
        }
        if tree.get(&format!("{DATABASES}/{version}.db")).is_none() {
            add(format!("version {version} has no database in {DATABASES}"));
        }
    }
    faults
}

/// Checks that every test named in `docs/guarantees.md` exists.
pub(super) fn guarantees_name_tests_that_exist(tree: &SourceTree) -> Vec<TidyFault> {
    missing_tests(tree, "docs/guarantees.md")
}

/// Returns a fault for every test that a page names and that does not exist.
pub(super) fn missing_tests(tree: &SourceTree, page: &str) -> Vec<TidyFault> {
    let functions: BTreeSet<&str> = tree
        .rust("")
        .flat_map(|(_, text)| text.split("fn ").skip(1))
        .filter_map(|rest| Some(rest.split_once('(')?.0))
        .collect();
    let mut faults = Vec::new();
    for (index, line) in tree.get(page).unwrap_or_default().lines().enumerate() {
        for name in line.split('`').skip(1).step_by(2).filter(|name| is_test_name(name)) {
            if !functions.contains(name) {
                faults.push(TidyFault::at(page, index + 1, format!("no test is called `{name}`")));
            }
        }
    }
    faults
}

/// True if a name looks like a test's: lower case, with at least two underscores.
pub(super) fn is_test_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && text.matches('_').count() > 1
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn strangers_at_the_root_are_found() {
        check(
            files_are_in_known_places,
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

    #[test]
    fn a_link_to_nothing_is_found() {
        let text = "[a](docs/a.md) [b](b.md#x)\n[c](https://example.org/c) [docs](docs/)\n";
        check(
            links_lead_somewhere,
            &[("README.md", text), ("docs/a.md", "[up](../README.md) [no](../no.md)\n")],
            &["README.md:1: `b.md#x` leads nowhere", "docs/a.md:1: `../no.md` leads nowhere"],
        );
    }

    #[test]
    fn a_released_version_without_histories_is_found() {
        check(
            released_versions_have_histories,
            &[
                ("CHANGELOG.md", "## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n## [0.1.0]\n"),
                ("crates/playtest/tests/histories/0.1.0/a.1.jsonl", "{}\n"),
                ("crates/cli/tests/databases/0.1.0.db", ""),
            ],
            &[
                "CHANGELOG.md:3: version 0.2.0 has no directory in crates/playtest/tests/histories",
                "CHANGELOG.md:3: version 0.2.0 has no database in crates/cli/tests/databases",
            ],
        );
    }

    #[test]
    fn a_promise_without_its_test_is_found() {
        let promises = "* `control`: `one_thing_holds`, `another_thing_holds` in `some_crate`\n";
        check(
            guarantees_name_tests_that_exist,
            &[("docs/guarantees.md", promises), ("a.rs", "fn one_thing_holds() {}\n")],
            &["docs/guarantees.md:1: no test is called `another_thing_holds`"],
        );
    }
}
