//! Checks of the fault catalogue in `docs/faults.md` and of the runs of `cargo xtask faults`.

use std::collections::BTreeMap;

use super::TidyFault;
use super::places::{is_test_name, missing_tests};
use super::tree::SourceTree;
use crate::faults::RUNS;

/// The page with the catalogue.
pub(crate) const CATALOGUE: &str = "docs/faults.md";

/// The classes of the catalogue: the beginning of their ids, and the number of entries.
const CLASSES: [(&str, usize); 19] = [
    ("D", 12),
    ("L", 10),
    ("O", 8),
    ("W", 9),
    ("X", 9),
    ("R", 11),
    ("T", 8),
    ("B", 12),
    ("S", 10),
    ("C", 8),
    ("A", 9),
    ("V", 8),
    ("N", 9),
    ("H", 10),
    ("J", 12),
    ("P", 8),
    ("M", 5),
    ("Z", 9),
    ("G-", 5),
];

/// The extent to which an entry is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestedState {
    Yes,
    Partly,
    Open,
}

/// An entry of the catalogue: a row of a table.
pub(crate) struct CatalogueEntry<'a> {
    pub(crate) id: &'a str,
    /// `None` if the word is none of the known ones.
    pub(crate) state: Option<TestedState>,
    /// The tests, or the reason why there are none.
    text: &'a str,
    line: usize,
}

/// Returns the rows of the catalogue's tables.
pub(crate) fn entries(page: &str) -> impl Iterator<Item = CatalogueEntry<'_>> {
    page.lines().enumerate().filter_map(|(index, line)| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.splitn(4, " | ");
        let (id, _fault, state, text) =
            (cells.next()?, cells.next()?, cells.next()?, cells.next()?);
        let state = match state {
            "yes" => Some(TestedState::Yes),
            "partly" => Some(TestedState::Partly),
            "open" => Some(TestedState::Open),
            _ => None,
        };
        (id != "ID").then_some(CatalogueEntry { id, state, text, line: index + 1 })
    })
}

/// Checks that the catalogue has every entry once, each with tests or a reason.
pub(super) fn the_catalogue_is_complete(tree: &SourceTree) -> Vec<TidyFault> {
    let Some(page) = tree.get(CATALOGUE) else { return Vec::new() };
    let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
    let mut faults = missing_tests(tree, CATALOGUE);
    for entry in entries(page) {
        *rows.entry(entry.id).or_default() += 1;
        if let Some(problem) = problem_of(&entry) {
            faults.push(TidyFault::at(CATALOGUE, entry.line, format!("{}: {problem}", entry.id)));
        }
    }
    let ids =
        CLASSES.iter().flat_map(|(class, count)| (1..=*count).map(move |n| format!("{class}{n}")));
    for id in ids {
        match rows.remove(id.as_str()) {
            Some(1) => {}
            Some(count) => {
                faults.push(TidyFault::of(CATALOGUE, format!("{id} is there {count} times")))
            }
            None => faults.push(TidyFault::of(CATALOGUE, format!("{id} is missing"))),
        }
    }
    faults.extend(rows.keys().map(|id| TidyFault::of(CATALOGUE, format!("{id} is no entry"))));
    faults
}

fn problem_of(entry: &CatalogueEntry<'_>) -> Option<&'static str> {
    let names_a_test = entry.text.split('`').skip(1).step_by(2).any(is_test_name);
    let says_why = entry.text.split('`').step_by(2).map(str::trim).any(|text| text.contains(' '));
    match (entry.state, names_a_test, says_why) {
        (None, _, _) => Some("the state is `yes`, `partly` or `open`"),
        (Some(TestedState::Yes | TestedState::Partly), false, _) => Some("no test is named"),
        (Some(TestedState::Partly | TestedState::Open), _, false) => Some("no reason is given"),
        (Some(_), _, _) => None,
    }
}

/// Checks that every run of `cargo xtask faults` is a test, or a module of tests, of its package.
pub(super) fn fault_runs_are_tests(tree: &SourceTree) -> Vec<TidyFault> {
    let is_there = |package: &str, test: &str| {
        let directory = format!("crates/{}", package.strip_prefix("noetl-").unwrap_or(package));
        tree.rust(&directory).any(|(path, source)| match test.strip_suffix("::") {
            Some(module) => path.ends_with(&format!("/{module}.rs")),
            None => source.contains(&format!("fn {test}(")),
        })
    };
    RUNS.iter()
        .filter(|run| !is_there(run.package, run.test))
        .map(|run| {
            let what = format!("`{}` has no test `{}`", run.package, run.test);
            TidyFault::of("xtask/src/faults.rs", what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    /// Returns a page with every entry and no others, of which one is replaced.
    fn page(replaced: &str, row: &str) -> String {
        let ids = CLASSES
            .iter()
            .flat_map(|(class, count)| (1..=*count).map(move |n| format!("{class}{n}")));
        let row_of = |id: String| match id == replaced {
            true => row.to_owned(),
            false => format!("| {id} | A fault | yes | `one_thing_holds` |\n"),
        };
        ids.map(row_of).collect()
    }

    #[test]
    fn an_entry_that_is_missing_or_unknown_is_found() {
        let text = page("D2", "| D13 | A fault | yes | `one_thing_holds` |\n");
        check(
            the_catalogue_is_complete,
            &[(CATALOGUE, &text), ("a.rs", "fn one_thing_holds() {}\n")],
            &["docs/faults.md: D2 is missing", "docs/faults.md: D13 is no entry"],
        );
    }

    #[test]
    fn an_entry_without_a_test_or_a_reason_is_found() {
        for (row, problem) in [
            ("| D1 | A fault | yes | By hand. |\n", "D1: no test is named"),
            ("| D1 | A fault | open | - |\n", "D1: no reason is given"),
            ("| D1 | A fault | partly | `one_thing_holds` |\n", "D1: no reason is given"),
            ("| D1 | A fault | maybe | Not yet. |\n", "D1: the state is `yes`, `partly` or `open`"),
            ("| D1 | A fault | yes | `it_is_not_there` |\n", "no test is called `it_is_not_there`"),
        ] {
            let text = page("D1", row);
            check(
                the_catalogue_is_complete,
                &[(CATALOGUE, &text), ("a.rs", "fn one_thing_holds() {}\n")],
                &[&format!("docs/faults.md:1: {problem}")],
            );
        }
    }

    #[test]
    fn a_run_without_its_test_is_found() {
        let faults = fault_runs_are_tests(&SourceTree::of(&[]));
        assert_eq!(faults.len(), RUNS.len());
    }
}
