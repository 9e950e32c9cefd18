//! Checks the lengths of functions and files.

use super::TidyFault;
use super::rust::RustScan;
use super::tree::{SourceTree, is_test_file};

/// The most lines of code in a function's body.
const FUNCTION_LINES_MAX: usize = 70;
/// The most lines in a file, the tests at its end aside.
const FILE_LINES_MAX: usize = 800;

pub(super) fn functions_and_files_are_short(tree: &SourceTree) -> Vec<TidyFault> {
    let mut faults = Vec::new();
    for (path, text) in tree.rust("").filter(|(path, _)| !is_test_file(path)) {
        let scan = RustScan::of(text);
        let code = &scan.code[..scan.lines_before_tests()];
        if code.len() > FILE_LINES_MAX {
            let what = format!("{} lines, at most {FILE_LINES_MAX}", code.len());
            faults.push(TidyFault::of(path, what));
        }
        for (start, lines) in functions(code) {
            if lines > FUNCTION_LINES_MAX && !is_excused(&code[..start]) {
                let what = format!("a function of {lines} lines, at most {FUNCTION_LINES_MAX}");
                faults.push(TidyFault::at(path, start + 1, what));
            }
        }
    }
    faults
}

/// Returns the line where each function with a body begins, and the number of code lines in the
/// body.
///
/// Relies on rustfmt's indentation, so the code must be formatted.
fn functions(code: &[String]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (start, line) in code.iter().enumerate() {
        if !is_function(line) {
            continue;
        }
        let signature_end =
            code[start..].iter().position(|it| it.trim_end().ends_with(['{', ';', '}']));
        let Some(body) = signature_end.map(|at| start + at) else { continue };
        if !code[body].trim_end().ends_with('{') {
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let close = format!("{indent}}}");
        let lines = code[body + 1..].iter().take_while(|it| it.trim_end() != close);
        found.push((start, lines.filter(|it| !it.trim().is_empty()).count()));
    }
    found
}

fn is_function(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| {
        matches!(*word, "pub" | "const" | "async" | "unsafe") || word.starts_with("pub(")
    });
    words.next() == Some("fn")
}

/// True if an attribute above a function expects `clippy::too_many_lines`.
fn is_excused(above: &[String]) -> bool {
    let attributes = above.iter().rev().take_while(|line| {
        let line = line.trim();
        !line.is_empty() && !line.ends_with('}') && !line.ends_with(';') && !line.ends_with('{')
    });
    attributes.into_iter().any(|line| line.contains("clippy::too_many_lines"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    fn function(lines: usize) -> String {
        format!(
            "impl X {{\n    pub(crate) fn f(\n        x: u8,\n    ) -> u8 {{\n{}    }}\n}}\n",
            "        x;\n".repeat(lines)
        )
    }

    #[test]
    fn a_function_over_seventy_lines_is_found() {
        check(functions_and_files_are_short, &[("a.rs", &function(70))], &[]);
        check(
            functions_and_files_are_short,
            &[("a.rs", &function(71))],
            &["a.rs:2: a function of 71 lines, at most 70"],
        );
    }

    #[test]
    fn comments_and_blank_lines_do_not_count() {
        let body = "    // why\n\n".repeat(50);
        check(functions_and_files_are_short, &[("a.rs", &format!("fn f() {{\n{body}}}\n"))], &[]);
    }

    #[test]
    fn a_reason_excuses_a_long_function() {
        let excused = "#[expect(clippy::too_many_lines, reason = \"a table\")]\nfn f() {\n";
        let text = format!("{excused}{}}}\n", "    x;\n".repeat(90));
        check(functions_and_files_are_short, &[("a.rs", &text)], &[]);
    }

    #[test]
    fn functions_without_a_body_are_passed_over() {
        let text = format!(
            "trait X {{\n    fn f();\n    fn g() {{}}\n{}}}\n",
            "    const A: u8;\n".repeat(80)
        );
        check(functions_and_files_are_short, &[("a.rs", &text)], &[]);
    }

    #[test]
    fn a_long_file_is_found_and_its_tests_are_not_counted() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "const A: u8 = 1;\n".repeat(900));
        check(functions_and_files_are_short, &[("a.rs", &tests)], &[]);
        check(functions_and_files_are_short, &[("x/tests/a.rs", &"x\n".repeat(900))], &[]);
        check(
            functions_and_files_are_short,
            &[("a.rs", &"const A: u8 = 1;\n".repeat(900))],
            &["a.rs: 901 lines, at most 800"],
        );
    }
}
