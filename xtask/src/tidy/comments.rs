//! Checks that comments do not tell history: no issues, no stages of the work, no postponed work.

use super::Fault;
use super::rust::Scan;
use super::tree::{Tree, file_name};

pub(super) fn comments_tell_no_history(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.files() {
        for (line, comment) in comments(path, text) {
            if let Some(what) = history(&comment) {
                faults.push(Fault::at(path, line, what));
            }
        }
    }
    faults
}

/// Returns the comments of a file with their line numbers, counted from 1.
fn comments(path: &str, text: &str) -> Vec<(usize, String)> {
    let starting_with = |mark: &str| {
        let lines = text.lines().enumerate();
        lines
            .filter_map(|(index, line)| Some((index + 1, line.split_once(mark)?.1.to_owned())))
            .collect()
    };
    match file_name(path).rsplit_once('.') {
        Some((_, "rs")) => Scan::of(text).comments,
        Some((_, "sql")) => starting_with("--"),
        Some((_, "toml" | "yaml" | "yml" | "py")) => starting_with("#"),
        _ if path.starts_with(".ci/") => starting_with("#"),
        _ => Vec::new(),
    }
}

/// Returns the complaint about a comment, if there is one.
fn history(comment: &str) -> Option<&'static str> {
    // A regression test may link the thread it comes from.
    if comment.trim_start_matches(['/', ' ']).starts_with("See: ") {
        return None;
    }
    let words: Vec<&str> = comment.split(|c: char| !c.is_alphanumeric()).collect();
    if words.iter().any(|word| matches!(*word, "TODO" | "FIXME")) {
        return Some("a comment puts work off: do it or open an issue");
    }
    let is_stage = |pair: &[&str]| {
        matches!(pair[0], "Phase" | "Round" | "phase" | "round")
            && pair[1].starts_with(|c: char| c.is_ascii_digit())
    };
    if words.windows(2).any(is_stage) {
        return Some("a comment names a stage of the work");
    }
    let names_issue =
        comment.split('#').skip(1).any(|after| after.starts_with(|c: char| c.is_ascii_digit()));
    let links_issue = ["/issues/", "/pull/"].iter().any(|part| comment.contains(part));
    (names_issue || links_issue).then_some("a comment names an issue: that is for the commit")
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn issues_stages_and_postponed_work_are_found() {
        check(
            comments_tell_no_history,
            &[(
                "crates/x/src/lib.rs",
                "// as of noetl#85\n/* Phase 2 */\n/// TODO: more\nfn f() {} // FIXME\n// round 3\n// example.org/issues/9\n",
            )],
            &[
                "crates/x/src/lib.rs:1: a comment names an issue: that is for the commit",
                "crates/x/src/lib.rs:2: a comment names a stage of the work",
                "crates/x/src/lib.rs:3: a comment puts work off: do it or open an issue",
                "crates/x/src/lib.rs:4: a comment puts work off: do it or open an issue",
                "crates/x/src/lib.rs:5: a comment names a stage of the work",
                "crates/x/src/lib.rs:6: a comment names an issue: that is for the commit",
            ],
        );
    }

    #[test]
    fn comments_of_other_languages_are_read_too() {
        check(
            comments_tell_no_history,
            &[
                (".ci/run", "true # TODO\n"),
                ("crates/s/sql/a.sql", "SELECT 1 -- Round 4\n"),
                ("examples/a.yaml", "# Phase 1\n"),
            ],
            &[
                ".ci/run:1: a comment puts work off: do it or open an issue",
                "crates/s/sql/a.sql:1: a comment names a stage of the work",
                "examples/a.yaml:1: a comment names a stage of the work",
            ],
        );
    }

    #[test]
    fn code_links_and_plain_words_pass() {
        check(
            comments_tell_no_history,
            &[(
                "a.rs",
                "let s = \"TODO #1 Phase 2\"; // in two phases, round and round\n#[test] // See: https://example.org/issues/9\n",
            )],
            &[],
        );
    }
}
