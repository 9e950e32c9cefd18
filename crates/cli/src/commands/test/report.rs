//! The results of tests, for people and as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use noetl_playbook::PlaybookTest;
use noetl_playtest::{CoverageReport, CoveredGuard, FaultLine, TestFault};
use serde_json::{Value, json};

use super::run::{FileResults, FinishedTest, TestSession};
use crate::show::failure::Failure;
use crate::show::terminal::{BAD, CAREFUL, FAINT, GOOD, STRONG, paint};

/// Returns the results as text: a line for each file, and the faults of each test that failed.
pub(super) fn human(session: &TestSession, with_coverage: bool) -> String {
    let mut text = String::new();
    for file in &session.files {
        text += &file_text(file);
    }
    if with_coverage {
        text += &coverage_text(&session.coverage());
    }
    text + totals(session).as_str()
}

fn file_text(file: &FileResults) -> String {
    let name = file.file.display();
    if let Err(failure) = &file.loaded {
        return format!("{} {name}\n{}", paint(BAD, "invalid"), indented(&problem(failure), 4));
    }
    let (count, mut text) = (file.tests.len(), String::new());
    let failed = file.tests.iter().filter(|test| !test.outcome.has_passed()).count();
    if count == 0 {
        return text;
    }
    let counted = if count == 1 { "1 test".to_owned() } else { format!("{count} tests") };
    if failed == 0 {
        let _infallible = writeln!(text, "{} {name} ({counted})", paint(GOOD, "ok"));
        return text;
    }
    let _infallible = writeln!(text, "{} {name} ({failed} of {counted})", paint(BAD, "failed"));
    for (test, finished) in file.results().filter(|(_, it)| !it.outcome.has_passed()) {
        text += &failed_text(file, test, finished);
    }
    text
}

/// Returns a failed test: its name, its place, its faults, and the steps that were entered.
fn failed_text(file: &FileResults, test: &PlaybookTest, finished: &FinishedTest) -> String {
    let place = format!("{}:{}", file.file.display(), test.line);
    let mut text = format!("  {} {}\n", paint(STRONG, &test.name), paint(FAINT, place));
    for fault in &finished.outcome.faults {
        text += &indented(&fault_text(fault), 4);
    }
    let entered: Vec<&str> = finished.outcome.entered.iter().map(|it| it.as_str()).collect();
    if !entered.is_empty() {
        let _infallible = writeln!(text, "    {}", paint(FAINT, steps_line(&entered)));
    }
    text
}

/// The most steps in the line of steps.
const STEPS_SHOWN_MAX: usize = 20;

fn steps_line(entered: &[&str]) -> String {
    let shown = entered.iter().take(STEPS_SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
    match entered.len().saturating_sub(STEPS_SHOWN_MAX) {
        0 => format!("steps: {shown}"),
        more => format!("steps: {shown} and {more} more"),
    }
}

pub(super) fn fault_text(fault: &TestFault) -> String {
    let mut text = format!("{}\n{}", fault.message, diff_text(&fault.diff));
    if let Some(help) = &fault.help {
        let _infallible = writeln!(text, "{} {help}", paint(CAREFUL, " help:"));
    }
    text
}

/// Returns the lines of a diff: `-` is expected, `+` is found.
pub(super) fn diff_text(diff: &[FaultLine]) -> String {
    let line = |line: &FaultLine| match line {
        FaultLine::Place(place) => format!("    {place}\n"),
        FaultLine::Expected(value) => format!("  {}\n", paint(BAD, format!("- {value}"))),
        FaultLine::Actual(value) => format!("  {}\n", paint(GOOD, format!("+ {value}"))),
    };
    diff.iter().map(line).collect()
}

fn indented(text: &str, width: usize) -> String {
    let indent = " ".repeat(width);
    text.lines().map(|line| format!("{indent}{line}\n")).collect()
}

/// Returns the reason why a file cannot be run.
pub(crate) fn problem(failure: &Failure) -> String {
    match failure {
        Failure::Invalid(problems) => problems.to_string(),
        Failure::BadInput(explained) | Failure::Broken(explained) => explained.to_string(),
    }
}

fn totals(session: &TestSession) -> String {
    let (tests, failed, invalid) = (session.tests(), session.failed(), session.invalid());
    let mut parts = vec![format!("{} passed", tests - failed)];
    if failed > 0 {
        parts.push(paint(BAD, format!("{failed} failed")));
    }
    if invalid > 0 {
        let word = if invalid == 1 { "file" } else { "files" };
        parts.push(paint(BAD, format!("{invalid} {word} not valid")));
    }
    format!("{} in {}\n", parts.join(", "), seconds(session.took))
}

fn seconds(took: Duration) -> String {
    format!("{:.2} s", took.as_secs_f64())
}

fn coverage_text(reports: &[CoverageReport]) -> String {
    let mut text = String::from("coverage\n");
    let width = reports.iter().map(|report| report.playbook.len()).max().unwrap_or(0);
    for report in reports {
        let _infallible = writeln!(
            text,
            "  {:width$}  steps {}/{}  arcs {}/{}  guards {}/{}",
            report.playbook,
            report.steps_covered,
            report.steps,
            report.arcs_covered,
            report.arcs,
            report.guards_covered,
            report.guards,
        );
        for step in &report.steps_missed {
            let _infallible = writeln!(text, "    step `{step}` never runs");
        }
        for arc in &report.arcs_missed {
            let _infallible =
                writeln!(text, "    arc `{}` → `{}` is never taken", arc.from, arc.to);
        }
        for guard in &report.guards_missed {
            let _infallible = writeln!(text, "    {}", guard_line(guard));
        }
    }
    text
}

fn guard_line(guard: &CoveredGuard) -> String {
    let place = match &guard.to {
        Some(to) => format!("`{}` → `{to}`", guard.step),
        None => format!("`{}`", guard.step),
    };
    let fact = match (guard.has_held, guard.has_not_held) {
        (false, false) => "is never evaluated",
        (true, _) => "always holds",
        (false, true) => "never holds",
    };
    format!("guard of {place} {fact}: {}", guard.when)
}

/// Returns the results as a document.
pub(super) fn document(session: &TestSession, with_coverage: bool) -> Value {
    let files: Vec<Value> = session.files.iter().map(file_document).collect();
    let (tests, failed) = (session.tests(), session.failed());
    let mut document = json!({
        "passed": tests - failed,
        "failed": failed,
        "invalid_files": session.invalid(),
        "seconds": session.took.as_secs_f64(),
        "files": files,
    });
    if with_coverage {
        document["coverage"] = json!(session.coverage());
    }
    document
}

fn file_document(file: &FileResults) -> Value {
    let name = file.file.display().to_string();
    let loaded = match &file.loaded {
        Err(Failure::Invalid(problems)) => return json!({ "file": name, "problems": problems }),
        Err(failure) => {
            return json!({ "file": name, "problems": [{ "message": problem(failure) }] });
        }
        Ok(loaded) => loaded,
    };
    let test = |(test, finished): (&PlaybookTest, &FinishedTest)| {
        json!({
            "name": test.name,
            "line": test.line,
            "passed": finished.outcome.has_passed(),
            "faults": finished.outcome.faults,
            "steps": finished.outcome.entered,
            "virtual_seconds": finished.outcome.duration.as_secs_f64(),
            "seconds": finished.took.as_secs_f64(),
        })
    };
    let playbook = &loaded.playbook.playbook.metadata.path;
    let tests: Vec<Value> = file.results().map(test).collect();
    json!({ "file": name, "playbook": playbook, "tests": tests })
}
