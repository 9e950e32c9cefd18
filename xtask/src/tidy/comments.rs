//! Checks of comments: no history, no issues, no postponed work; doc comments name the thing first.

use super::TidyFault;
use super::rust::RustScan;
use super::tree::{SourceTree, file_name};

pub(super) fn comments_tell_no_history(tree: &SourceTree) -> Vec<TidyFault> {
    let mut faults = Vec::new();
    for (path, text) in tree.files() {
        for (line, comment) in comments(path, text) {
            if let Some(what) = history(&comment) {
                faults.push(TidyFault::at(path, line, what));
            }
        }
    }
    faults
}

/// Words that a doc comment cannot begin with: such a sentence is understood only together with the
/// item or the comments around it.
const VAGUE: &[&str] = &[
    "What", "Whatever", "Whether", "Who", "Whoever", "Whose", "Whom", "Those", "These", "That",
    "This", "It", "Its", "They", "Their", "How", "Where", "When", "Which", "Why",
];

pub(super) fn doc_comments_name_the_thing_first(tree: &SourceTree) -> Vec<TidyFault> {
    let mut faults = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".rs")) {
        let mut before = None;
        for (index, line) in text.lines().enumerate() {
            let doc = ["///", "//!"]
                .into_iter()
                .find_map(|mark| Some((mark, line.trim_start().strip_prefix(mark)?.trim_start())));
            let mark = doc.map(|(mark, _)| mark);
            let first = doc.filter(|_| mark != before).and_then(|(_, text)| text.split(' ').next());
            before = mark;
            if let Some(word) = first.filter(|word| is_vague(word)) {
                let what = format!("a doc comment begins with \"{word}\": name the thing first");
                faults.push(TidyFault::at(path, index + 1, what));
            }
        }
    }
    faults
}

/// Checks the descriptions of keys, which editors and the schema show: they are read without their
/// neighbours as well.
pub(super) fn descriptions_of_keys_name_the_thing_first(tree: &SourceTree) -> Vec<TidyFault> {
    let is_table = |path: &str| {
        path == "crates/playbook/src/words.rs" || path.starts_with("crates/playbook/src/words/")
    };
    let mut faults = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| is_table(path)) {
        for (index, line) in text.lines().enumerate() {
            let mut texts = line.split('"').skip(1).step_by(2).filter(|text| text.contains(' '));
            let first = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
            if let Some(word) = texts.find_map(|text| Some(first(text)).filter(|it| is_vague(it))) {
                let what = format!("a description begins with \"{word}\": name the thing first");
                faults.push(TidyFault::at(path, index + 1, what));
            }
        }
    }
    faults
}

fn is_vague(word: &str) -> bool {
    VAGUE.contains(&word)
}

/// Beginnings of function names that say no more than the pronouns above.
const VAGUE_NAMES: &[&str] = &[
    "fn what_",
    "fn whatever_",
    "fn whether_",
    "fn who_",
    "fn whoever_",
    "fn whose_",
    "fn whom_",
    "fn those_",
    "fn it_",
    "fn its_",
    "fn they_",
];

pub(super) fn function_names_name_the_thing_first(tree: &SourceTree) -> Vec<TidyFault> {
    let mut faults = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".rs")) {
        for (index, line) in text.lines().enumerate() {
            let mut words = line.trim_start().split(' ');
            let is_function = words.find(|word| !BEFORE_FN.contains(word)) == Some("fn");
            let begins = |start: &&&str| is_function && line.contains(**start);
            if let Some(start) = VAGUE_NAMES.iter().find(begins) {
                let what = format!("the name of a function begins with `{}`", &start[3..]);
                faults.push(TidyFault::at(
                    path,
                    index + 1,
                    format!("{what}: name the thing first"),
                ));
            }
        }
    }
    faults
}

/// The words that may precede `fn`.
const BEFORE_FN: &[&str] = &["pub", "pub(super)", "pub(crate)", "async", "const", "unsafe"];

/// Returns the comments of a file with their line numbers, counted from 1.
fn comments(path: &str, text: &str) -> Vec<(usize, String)> {
    let starting_with = |mark: &str| {
        let lines = text.lines().enumerate();
        lines
            .filter_map(|(index, line)| Some((index + 1, line.split_once(mark)?.1.to_owned())))
            .collect()
    };
    match file_name(path).rsplit_once('.') {
        Some((_, "rs")) => RustScan::of(text).comments,
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
    fn doc_comments_that_begin_with_a_pronoun_are_found() {
        check(
            doc_comments_name_the_thing_first,
            &[(
                "crates/x/src/lib.rs",
                "//! What it is.\n\n/// The lease of a command.\n/// It ends.\nstruct A;\n    /// Whether it ended.\n    a: bool,\n",
            )],
            &[
                "crates/x/src/lib.rs:1: a doc comment begins with \"What\": name the thing first",
                "crates/x/src/lib.rs:6: a doc comment begins with \"Whether\": name the thing first",
            ],
        );
    }

    #[test]
    fn descriptions_that_begin_with_a_question_are_found() {
        check(
            descriptions_of_keys_name_the_thing_first,
            &[
                (
                    "crates/playbook/src/words/limit.rs",
                    "now(\"max\", KeyType::Integer, \"How many run.\"),\nnow(\"per\", \"The period.\"),\n",
                ),
                ("crates/x/src/words.rs", "\"How many run.\""),
            ],
            &[
                "crates/playbook/src/words/limit.rs:1: a description begins with \"How\": name the thing first",
            ],
        );
    }

    #[test]
    fn function_names_that_begin_with_a_pronoun_are_found() {
        check(
            function_names_name_the_thing_first,
            &[(
                "crates/x/src/lib.rs",
                "fn a_lease_ends() {}\n    pub async fn what_ends() {}\n// fn it_ends\nfn whole_logs() {}\n",
            )],
            &[
                "crates/x/src/lib.rs:2: the name of a function begins with `what_`: name the thing first",
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
