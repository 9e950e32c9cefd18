//! The results of tests as JUnit XML, which continuous integration systems read.

use std::fmt::Write as _;

use noetl_playtest::{FaultLine, TestFault};

use super::report::problem;
use super::run::{FileResults, TestSession};

/// Returns the document: a suite for each file.
pub(super) fn document(session: &TestSession) -> String {
    let (tests, failed, invalid) = (session.tests(), session.failed(), session.invalid());
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _infallible = writeln!(
        xml,
        "<testsuites name=\"noetl test\" tests=\"{}\" failures=\"{failed}\" errors=\"{invalid}\" \
         time=\"{:.3}\">",
        tests + invalid,
        session.took.as_secs_f64(),
    );
    for file in &session.files {
        xml += &suite(file);
    }
    xml + "</testsuites>\n"
}

fn suite(file: &FileResults) -> String {
    let name = escaped(&file.file.display().to_string());
    let failed = file.tests.iter().filter(|test| !test.outcome.has_passed()).count();
    if let Err(failure) = &file.loaded {
        let problem = escaped(&problem(failure));
        return format!(
            "  <testsuite name=\"{name}\" tests=\"1\" failures=\"0\" errors=\"1\">\n    \
             <testcase classname=\"{name}\" name=\"the file is valid\">\n      \
             <error message=\"the file is not valid\">{problem}</error>\n    </testcase>\n  \
             </testsuite>\n"
        );
    }
    let took: f64 = file.tests.iter().map(|test| test.took.as_secs_f64()).sum();
    let mut xml = String::new();
    let _infallible = writeln!(
        xml,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" \
         time=\"{took:.3}\">",
        file.tests.len(),
    );
    for (test, finished) in file.results() {
        let (case, time) = (escaped(&test.name), finished.took.as_secs_f64());
        let (line, faults) = (test.line, &finished.outcome.faults);
        let _infallible = write!(
            xml,
            "    <testcase classname=\"{name}\" name=\"{case}\" file=\"{name}\" line=\"{line}\" \
             time=\"{time:.3}\"",
        );
        match faults.first() {
            None => xml += "/>\n",
            Some(first) => {
                let message = escaped(&first.message);
                let text: String = faults.iter().map(plain).collect();
                let text = escaped(&text);
                let _infallible = writeln!(
                    xml,
                    ">\n      <failure message=\"{message}\">{text}</failure>\n    </testcase>"
                );
            }
        }
    }
    xml + "  </testsuite>\n"
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
            '\n' | '\t' => escaped.push(c),
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
        assert_eq!(escaped("a <b> \"c\" & \u{1b}[1m\n"), "a &lt;b&gt; &quot;c&quot; &amp;  [1m\n");
    }
}
