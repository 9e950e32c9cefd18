//! Runs all tests and counts them.

use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo::{cargo, describe, succeeds};
use crate::provision;

/// The number of tests that passed and that failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TestCounts {
    passed: u64,
    failed: u64,
}

/// The program that runs the tests; determines how the counts are parsed from its output.
#[derive(Debug, Clone, Copy)]
enum Runner {
    Nextest,
    CargoTest,
}

/// Runs every test of the workspace. The last line printed is `N passed, N failed`.
pub(crate) fn run(args: &[String]) -> Result<()> {
    provision::programs()?;
    let runner = if succeeds(cargo().args(["nextest", "--version"])) {
        Runner::Nextest
    } else {
        Runner::CargoTest
    };
    let mut command = runner.command();
    command.args(args);
    let shown = describe(&command);
    eprintln!("+ {shown}");
    let mut child = command.spawn().with_context(|| format!("start `{shown}`"))?;
    let tally = match runner {
        Runner::Nextest => {
            let output = child.stderr.take().expect("nextest talks on a piped stderr");
            follow(output, std::io::stderr(), nextest_tally)?
        }
        Runner::CargoTest => {
            let output = child.stdout.take().expect("the harness talks on a piped stdout");
            follow(output, std::io::stdout(), harness_tally)?
        }
    };
    let status = child.wait().with_context(|| format!("wait for `{shown}`"))?;
    let Some(tally) = tally else {
        bail!("`{shown}` ran no tests and ended with {status}");
    };
    println!("{} passed, {} failed", tally.passed, tally.failed);
    if !status.success() || tally.failed > 0 {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

impl Runner {
    fn command(self) -> Command {
        let mut command = cargo();
        match self {
            Runner::Nextest => {
                let color = if std::io::stderr().is_terminal() { "always" } else { "never" };
                command.args(["nextest", "run", "--config-file", "xtask/nextest.toml"]);
                command.args(["--workspace", "--no-fail-fast", "--color", color]);
                command.stderr(Stdio::piped());
            }
            Runner::CargoTest => {
                command.args(["test", "--workspace", "--no-fail-fast"]).stdout(Stdio::piped());
            }
        }
        command
    }
}

/// Copies every line to `to` and adds up the counts that `tally` finds.
fn follow(
    output: impl Read,
    mut to: impl Write,
    tally: fn(&str) -> Option<TestCounts>,
) -> Result<Option<TestCounts>> {
    let mut sum: Option<TestCounts> = None;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("read what the tests print")?;
        to.write_all(&line).and_then(|()| to.write_all(b"\n")).context("show what tests print")?;
        if let Some(part) = tally(&without_color(&String::from_utf8_lossy(&line))) {
            let so_far = sum.unwrap_or_default();
            sum = Some(TestCounts {
                passed: so_far.passed + part.passed,
                failed: so_far.failed + part.failed,
            });
        }
    }
    Ok(sum)
}

/// Parses `Summary [   0.012s] 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 0 skipped`.
fn nextest_tally(line: &str) -> Option<TestCounts> {
    let (_, counts) = line.trim().strip_prefix("Summary [")?.split_once(" run: ")?;
    let mut tally = TestCounts::default();
    for count in counts.split(", ") {
        let mut words = count.split_whitespace();
        let number: u64 = words.next()?.parse().ok()?;
        match words.next()? {
            "passed" => tally.passed += number,
            "failed" | "timed" | "exec" => tally.failed += number,
            _ => {}
        }
    }
    Some(tally)
}

/// Parses
/// `test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s`.
fn harness_tally(line: &str) -> Option<TestCounts> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut counts = counts.split("; ");
    let passed = counts.next()?.strip_suffix(" passed")?.parse().ok()?;
    let failed = counts.next()?.strip_suffix(" failed")?.parse().ok()?;
    Some(TestCounts { passed, failed })
}

fn without_color(line: &str) -> String {
    let mut pieces = line.split('\x1b');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(piece.split_once('m').map_or("", |(_, text)| text));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tally: fn(&str) -> Option<TestCounts>, printed: &str, expected: Option<(u64, u64)>) {
        let mut shown = Vec::new();
        let actual = follow(printed.as_bytes(), &mut shown, tally).expect("a string can be read");
        assert_eq!(actual, expected.map(|(passed, failed)| TestCounts { passed, failed }));
        assert_eq!(String::from_utf8_lossy(&shown).trim_end(), printed.trim_end());
    }

    #[test]
    fn nextest_counts_every_way_to_fail() {
        let line = "     Summary [   1.1s] 9 tests run: 5 passed (1 slow), 2 failed, 1 timed out, 1 exec failed, 3 skipped\n";
        check(nextest_tally, line, Some((5, 4)));
    }

    #[test]
    fn nextest_in_color_counts_the_same() {
        let line = "\x1b[32;1m     Summary\x1b[0m [   0.0s] \x1b[1m2\x1b[0m tests run: \x1b[1m2\x1b[0m \x1b[32;1mpassed\x1b[0m, \x1b[1m0\x1b[0m skipped\n";
        check(nextest_tally, line, Some((2, 0)));
    }

    #[test]
    fn harness_counts_are_added_up_over_crates() {
        let printed = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
            noise\n\
            test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        check(harness_tally, printed, Some((4, 2)));
    }

    #[test]
    fn a_build_that_fails_counts_nothing() {
        check(nextest_tally, "error: could not compile `x`\n", None);
    }
}
