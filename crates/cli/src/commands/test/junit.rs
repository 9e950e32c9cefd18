//! The results of tests as JUnit XML, which continuous integration systems read.

use std::fmt::Write as _;

use noetl_playbook::PlaybookTest;
use noetl_playtest::{FaultLine, TestFault};

use super::report::problem;
use super::run::{FileResults, FinishedTest, TestSession};

/// Returns the document: a suite for each file, a case for each test. A file that is not valid and a
/// panic are errors, a test that `--filter` leaves out is skipped.
pub(super) fn document(session: &TestSession) -> String {
    let count = |of: fn(&FileResults) -> usize| session.files.iter().map(of).sum::<usize>();
    let invalid = session.invalid();
    let skipped = count(|file| file.left_out().count());
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _infallible = writeln!(
        xml,
        "<testsuites name=\"noetl test\" tests=\"{}\" failures=\"{}\" errors=\"{}\" \
         skipped=\"{skipped}\" time=\"{:.3}\">",
        session.tests() + invalid + skipped,
        count(FileResults::failures),
        count(FileResults::panics) + invalid,
        session.took.as_secs_f64(),
    );
    for file in &session.files {
        xml += &suite(file);
    }
    xml + "</testsuites>\n"
}

fn suite(file: &FileResults) -> String {
    let name = escaped(&file.file.display().to_string());
    if let Err(failure) = &file.loaded {
        let problem = escaped(&problem(failure));
        return format!(
            "  <testsuite name=\"{name}\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\" \
             time=\"0.000\">\n    \
             <testcase classname=\"{name}\" name=\"the file is valid\" time=\"0.000\">\n      \
             <error message=\"the file is not valid\">{problem}</error>\n    </testcase>\n  \
             </testsuite>\n"
        );
    }
    let took: f64 = file.tests.iter().map(|test| test.took.as_secs_f64()).sum();
    let skipped = file.left_out().count();
    let mut xml = String::new();
    let _infallible = writeln!(
        xml,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" \
         skipped=\"{skipped}\" time=\"{took:.3}\">",
        file.tests.len() + skipped,
        file.failures(),
        file.panics(),
    );
    for (test, finished) in file.results() {
        xml += &case(&name, test, finished);
    }
    for test in file.left_out() {
        let (case, line) = (escaped(&test.name), test.line);
        let _infallible = writeln!(
            xml,
            "    <testcase classname=\"{name}\" name=\"{case}\" file=\"{name}\" line=\"{line}\" \
             time=\"0.000\"><skipped message=\"left out by --filter\"/></testcase>",
        );
    }
    xml + "  </testsuite>\n"
}

/// Returns the case of a test that was run. `file` is escaped.
fn case(file: &str, test: &PlaybookTest, finished: &FinishedTest) -> String {
    let (name, line, time) = (escaped(&test.name), test.line, finished.took.as_secs_f64());
    let faults = &finished.outcome.faults;
    let mut xml = format!(
        "    <testcase classname=\"{file}\" name=\"{name}\" file=\"{file}\" line=\"{line}\" \
         time=\"{time:.3}\"",
    );
    match faults.first() {
        None => xml += "/>\n",
        Some(first) => {
            let element = if finished.has_panicked { "error" } else { "failure" };
            let message = escaped(&first.message);
            let text = escaped(&faults.iter().map(plain).collect::<String>());
            let _infallible = writeln!(
                xml,
                ">\n      <{element} message=\"{message}\">{text}</{element}>\n    </testcase>"
            );
        }
    }
    xml
}

/// Returns a fault as plain text.
fn plain(fault: &TestFault) -> String {
    let mut text = format!("{}\n", fault.message);
    for line in &fault.diff {
        text += &match line {
            FaultLine::Place(place) => format!("    {place}\n"),
            FaultLine::Expected(value) => format!("  - {value}\n"),
            FaultLine::Actual(value) => format!("  + {value}\n"),
        };
    }
    if let Some(help) = &fault.help {
        let _infallible = writeln!(text, "help: {help}");
    }
    text
}

/// Escapes a text for XML; characters that XML does not have become spaces.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            // A reader turns a line break in an attribute into a space, but not its number.
            '\n' => escaped += "&#10;",
            '\t' => escaped += "&#9;",
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_escaped() {
        let text = "a <b> \"c\" & \u{1b}[1m\n\u{0}\u{FFFF}]]>";
        assert_eq!(escaped(text), "a &lt;b&gt; &quot;c&quot; &amp;  [1m&#10;  ]]&gt;");
    }
}
