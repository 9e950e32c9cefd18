//! Checks that every row of docs/compatibility.md names tests that exist, and that rows about
//! requests of other programs name a test that runs on every store.

use super::TidyFault;
use super::tree::SourceTree;

const COMPATIBILITY: &str = "docs/compatibility.md";
/// The number of numbered rules in the list.
const RULES: usize = 63;
/// The column that names the tests of a row; the last one of its table.
const TESTS: &str = "Tests";
/// The tables whose rows are not behaviour, by the heading of their first column.
const WITHOUT_TESTS: &[&str] = &["Program", "Fixture", "View"];
/// The sections whose rows hold on every store.
const ON_EVERY_STORE: &[&str] = &[
    "How are commands prepared for existing workers?",
    "Requests of the existing command line and web interface",
    "Which requests are answered differently?",
];
/// The list of the cases that run on every store.
const CONTRACT: &str = "crates/server/src/tests/contract.rs";

/// A row of a table with a column of tests.
struct CompatibilityRow<'a> {
    line: usize,
    section: &'a str,
    cells: Vec<&'a str>,
}

/// A test as a row names it: `server` and `it_is_so`.
struct NamedTest<'a> {
    of_crate: Option<&'a str>,
    name: &'a str,
}

/// Checks that every row names tests that exist, and that the numbered rules are complete.
pub(super) fn every_rule_is_held_up_by_a_test(tree: &SourceTree) -> Vec<TidyFault> {
    let Some(text) = tree.get(COMPATIBILITY) else { return Vec::new() };
    let (rows, mut faults) = rows(text);
    let mut numbers = Vec::new();
    for row in rows {
        numbers.extend(row.cells.first().and_then(|cell| cell.parse::<usize>().ok()));
        let found = row_faults(tree, &row);
        faults.extend(found.into_iter().map(|what| TidyFault::at(COMPATIBILITY, row.line, what)));
    }
    if numbers != (1..=RULES).collect::<Vec<usize>>() {
        faults.push(TidyFault::of(
            COMPATIBILITY,
            format!("has not the rules 1 to {RULES}, each once"),
        ));
    }
    faults
}

/// Returns the rows of the tables with tests, and a fault for each table that lacks the column.
fn rows(text: &str) -> (Vec<CompatibilityRow<'_>>, Vec<TidyFault>) {
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    let mut section = "";
    // The table that the lines belong to: true if its rows name tests.
    let mut table: Option<bool> = None;
    for (index, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.trim();
        }
        if !line.starts_with('|') {
            table = None;
            continue;
        }
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        match table {
            None => {
                let has_tests = cells.last() == Some(&TESTS);
                table = Some(has_tests);
                if !has_tests && !cells.first().is_some_and(|it| WITHOUT_TESTS.contains(it)) {
                    let what = format!("the table has no column `{TESTS}`");
                    faults.push(TidyFault::at(COMPATIBILITY, index + 1, what));
                }
            }
            Some(true) if cells.iter().all(|cell| cell.chars().all(|it| it == '-')) => {}
            Some(true) => rows.push(CompatibilityRow { line: index + 1, section, cells }),
            Some(false) => {}
        }
    }
    (rows, faults)
}

fn row_faults(tree: &SourceTree, row: &CompatibilityRow<'_>) -> Vec<String> {
    let tests = tests(row.cells.last().copied().unwrap_or_default());
    if tests.is_empty() {
        return vec!["the row names no test".to_owned()];
    }
    let mut faults: Vec<String> = tests.iter().filter_map(|test| missing(tree, test)).collect();
    if ON_EVERY_STORE.contains(&row.section) && !is_on_every_store(tree, &tests) {
        faults.push(format!("no test of the row runs on every store ({CONTRACT})"));
    }
    faults
}

/// Returns the tests that a cell names, each with the crate that stands before it.
fn tests(cell: &str) -> Vec<NamedTest<'_>> {
    let mut of_crate = None;
    let mut tests = Vec::new();
    for (index, part) in cell.split('`').enumerate() {
        if index % 2 == 1 {
            if is_test(part) {
                tests.push(NamedTest { of_crate, name: part });
            }
        } else if let Some(word) = part.split_whitespace().next_back().filter(|it| is_word(it)) {
            of_crate = Some(word);
        }
    }
    tests
}

/// True if a text can be the name of a crate.
fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

/// True if a name looks like a test's, perhaps with its module: lower case, two or more
/// underscores.
fn is_test(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == ':';
    text.chars().all(plain) && text.matches('_').count() > 1
}

/// Returns the fault of a test that is not in the crate that the row names.
fn missing(tree: &SourceTree, test: &NamedTest<'_>) -> Option<String> {
    let Some(of_crate) = test.of_crate else {
        return Some(format!("`{}` stands without its crate", test.name));
    };
    let name = test.name.rsplit("::").next().unwrap_or(test.name);
    let function = format!("fn {name}(");
    let is_there =
        tree.rust(&format!("crates/{of_crate}")).any(|(_, text)| text.contains(&function));
    (!is_there).then(|| format!("no test of {of_crate} is called `{}`", test.name))
}

/// True if one of the tests is a case of the contract, or if there is one for each database.
fn is_on_every_store(tree: &SourceTree, tests: &[NamedTest<'_>]) -> bool {
    let contract = tree.get(CONTRACT).unwrap_or_default();
    let is_case = |test: &NamedTest<'_>| {
        test.of_crate == Some("server") && contract.contains(&format!("::{},", test.name))
    };
    let ends = |end: &str| tests.iter().any(|test| test.name.ends_with(end));
    tests.iter().any(is_case) || ends("_on_sqlite") && ends("_on_postgresql")
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    const HEAD: &str = "| # | a | Tests |\n|---|---|---|\n";

    fn rules() -> String {
        let rows = (1..=RULES).map(|number| format!("| {number} | b | x `rows_are_kept_here` |\n"));
        format!("{HEAD}{}", rows.collect::<String>())
    }

    #[track_caller]
    fn checked(more: &str, expected: &[&str]) {
        let text = format!("{}{more}", rules());
        check(
            every_rule_is_held_up_by_a_test,
            &[
                (COMPATIBILITY, &text),
                ("crates/x/src/a.rs", "fn rows_are_kept_here() {}\n"),
                (
                    "crates/server/src/b.rs",
                    "fn rows_are_kept_on_all() {}\nfn rows_are_kept_in_memory() {}\n",
                ),
                (CONTRACT, "contract! {\n    b::rows_are_kept_on_all,\n}\n"),
            ],
            expected,
        );
    }

    #[test]
    fn a_row_without_a_test_and_a_test_that_is_not_there_are_found() {
        checked("", &[]);
        checked(
            "| 64 | b | x `log::it_is_not_so` |\n| c | b | by choice |\n",
            &[
                "docs/compatibility.md:66: no test of x is called `log::it_is_not_so`",
                "docs/compatibility.md:67: the row names no test",
                "docs/compatibility.md: has not the rules 1 to 63, each once",
            ],
        );
    }

    #[test]
    fn a_test_is_looked_for_in_its_crate() {
        checked(
            "| c | b | server `rows_are_kept_here`; x `rows_are_kept_here` |\n",
            &["docs/compatibility.md:66: no test of server is called `rows_are_kept_here`"],
        );
        checked(
            "| c | b | `rows_are_kept_here` |\n",
            &["docs/compatibility.md:66: `rows_are_kept_here` stands without its crate"],
        );
    }

    #[test]
    fn a_table_has_a_column_of_tests_unless_it_is_listed() {
        checked(
            "\n| View | Rows |\n|---|---|\n| a | b |\n\n| Part | Rule |\n|---|---|\n",
            &["docs/compatibility.md:71: the table has no column `Tests`"],
        );
    }

    #[test]
    fn rows_about_requests_name_a_test_that_runs_on_every_store() {
        let section = format!("\n## {}\n\n{HEAD}", ON_EVERY_STORE[0]);
        checked(
            &format!(
                "{section}| c | b | server `rows_are_kept_in_memory`, `rows_are_kept_on_all` |\n\
                 | d | b | server `rows_are_kept_in_memory` |\n"
            ),
            &["docs/compatibility.md:72: no test of the row runs on every store \
               (crates/server/src/tests/contract.rs)"],
        );
    }
}
