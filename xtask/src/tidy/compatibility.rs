//! Checks that every rule of docs/compatibility.md names tests that exist.

use super::TidyFault;
use super::tree::SourceTree;

const COMPATIBILITY: &str = "docs/compatibility.md";
/// The number of rules in the list.
const RULES: usize = 63;

/// Checks that every rule of the list has a row and that each row names tests that exist.
pub(super) fn every_rule_is_held_up_by_a_test(tree: &SourceTree) -> Vec<TidyFault> {
    let Some(text) = tree.get(COMPATIBILITY) else { return Vec::new() };
    let mut faults = Vec::new();
    let mut numbers = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        let Some(number) = cells.first().and_then(|cell| cell.parse::<usize>().ok()) else {
            continue;
        };
        numbers.push(number);
        let held_up = cells.last().copied().unwrap_or_default();
        let tests: Vec<&str> =
            held_up.split('`').skip(1).step_by(2).filter(|it| is_test(it)).collect();
        if tests.is_empty() {
            faults.push(TidyFault::at(
                COMPATIBILITY,
                index + 1,
                format!("no test holds {number} up"),
            ));
        }
        for test in tests {
            let name = test.rsplit("::").next().unwrap_or(test);
            let function = format!("fn {name}(");
            if !tree.rust("").any(|(_, text)| text.contains(&function)) {
                let what = format!("no test is called `{test}`");
                faults.push(TidyFault::at(COMPATIBILITY, index + 1, what));
            }
        }
    }
    if numbers != (1..=RULES).collect::<Vec<usize>>() {
        faults.push(TidyFault::of(
            COMPATIBILITY,
            format!("has not the rules 1 to {RULES}, each once"),
        ));
    }
    faults
}

/// True if a name looks like a test's, perhaps with its module: lower case, two or more
/// underscores.
fn is_test(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == ':';
    text.chars().all(plain) && text.matches('_').count() > 1
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn a_rule_without_a_test_and_a_test_that_is_not_there_are_found() {
        let mut rows: String = (1..=RULES)
            .map(|number| format!("| {number} | a | b | x `it_is_so_here` |\n"))
            .collect();
        let code = ("a.rs", "fn it_is_so_here() {}\n");
        check(every_rule_is_held_up_by_a_test, &[(COMPATIBILITY, &rows), code], &[]);
        rows.push_str("| 64 | a | b | store `log::it_is_not_so` |\n| 65 | a | b | by choice |\n");
        check(
            every_rule_is_held_up_by_a_test,
            &[(COMPATIBILITY, &rows), code],
            &[
                "docs/compatibility.md:64: no test is called `log::it_is_not_so`",
                "docs/compatibility.md:65: no test holds 65 up",
                "docs/compatibility.md: has not the rules 1 to 63, each once",
            ],
        );
    }
}
