//! The output of steps as lines of text, each with the name of its step.

use std::collections::BTreeMap;

use noetl_api::wire::LogEntry;
use noetl_model::{LogStream, Timestamp};

/// The length from which a line without an end is shown in parts, in bytes.
const LINE_MAX: usize = 64 * 1024;

/// A line of the output of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub at: Timestamp,
    /// The step with its task, item and attempt: `load/fetch[3] attempt 2`.
    pub name: String,
    pub stream: LogStream,
    /// The text without its line break.
    pub text: String,
    /// True for a note about the output, such as lines that were dropped.
    pub is_note: bool,
}

impl LogLine {
    /// Returns the line as plain text, without its end: `load | text`.
    pub fn plain(&self) -> String {
        format!("{} | {}", self.name, self.text)
    }
}

/// Joins the entries of a log to lines: an entry may end in the middle of a line.
#[derive(Debug, Default)]
pub struct LogLines {
    /// The beginnings of lines, by command, attempt and stream.
    begun: BTreeMap<(u64, u32, LogStream), LogLine>,
}

/// Returns the name of the attempt that printed an entry.
pub fn log_name(entry: &LogEntry) -> String {
    let mut name = entry.step.clone();
    if let Some(task) = &entry.task {
        name.push('/');
        name.push_str(task);
    }
    if let Some(item) = entry.item {
        name.push_str(&format!("[{item}]"));
    }
    if entry.attempt > 1 {
        name.push_str(&format!(" attempt {}", entry.attempt));
    }
    name
}

/// Returns the note about output that was dropped before an entry.
pub fn omitted_note(entry: &LogEntry) -> Option<String> {
    let LogEntry { omitted_lines: lines, omitted_bytes: bytes, .. } = *entry;
    match (lines, bytes) {
        (_, 0) => None,
        (0, bytes) => Some(format!("… {} bytes omitted", grouped(bytes))),
        (1, bytes) => Some(format!("… 1 line omitted ({} bytes)", grouped(bytes))),
        (lines, bytes) => {
            Some(format!("… {} lines omitted ({} bytes)", grouped(lines), grouped(bytes)))
        }
    }
}

/// Returns a number with commas: 1,204.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl LogLines {
    /// Adds an entry and returns the lines that end with it.
    pub fn push(&mut self, entry: &LogEntry) -> Vec<LogLine> {
        let key = (entry.command, entry.attempt, entry.stream);
        let line = |text: &str, is_note| LogLine {
            at: entry.at,
            name: log_name(entry),
            stream: entry.stream,
            text: text.to_owned(),
            is_note,
        };
        let mut lines = Vec::new();
        if let Some(note) = omitted_note(entry) {
            lines.extend(self.begun.remove(&key));
            lines.push(line(&note, true));
        }
        for part in entry.text.split_inclusive('\n') {
            let (text, is_whole) = match part.strip_suffix('\n') {
                Some(text) => (text.strip_suffix('\r').unwrap_or(text), true),
                None => (part, false),
            };
            let mut joined = self.begun.remove(&key).unwrap_or_else(|| line("", false));
            joined.text.push_str(text);
            if is_whole || joined.text.len() >= LINE_MAX {
                lines.push(joined);
            } else {
                self.begun.insert(key, joined);
            }
        }
        // A report is complete.
        if entry.from_report {
            lines.extend(self.begun.remove(&key));
        }
        lines
    }

    /// Returns the lines that were begun and not ended.
    pub fn finish(self) -> Vec<LogLine> {
        self.begun.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> LogEntry {
        LogEntry {
            position: String::new(),
            at: Timestamp::from_millis(0),
            step: "load".into(),
            task: None,
            item: None,
            attempt: 1,
            command: 1,
            stream: LogStream::Stdout,
            text: text.into(),
            omitted_lines: 0,
            omitted_bytes: 0,
            is_late: false,
            from_report: false,
        }
    }

    fn check(entries: &[LogEntry], expected: &[&str]) {
        let mut lines = LogLines::default();
        let mut shown: Vec<String> = Vec::new();
        for entry in entries {
            shown.extend(lines.push(entry).iter().map(LogLine::plain));
        }
        shown.extend(lines.finish().iter().map(LogLine::plain));
        assert_eq!(shown, expected);
    }

    #[test]
    fn lines_are_joined_by_attempt_and_stream() {
        let other = LogEntry { stream: LogStream::Stderr, ..entry("oh") };
        check(
            &[entry("a\nb"), other, entry("c\r\n\nd")],
            &["load | a", "load | bc", "load | ", "load | d", "load | oh"],
        );
    }

    #[test]
    fn a_name_has_task_item_and_attempt() {
        let task = Some("fetch".to_owned());
        let named = LogEntry { task, item: Some(3), attempt: 2, ..entry("x\n") };
        check(&[named], &["load/fetch[3] attempt 2 | x"]);
    }

    #[test]
    fn dropped_lines_are_told() {
        let dropped = LogEntry { omitted_lines: 1204, omitted_bytes: 98_765, ..entry("b\n") };
        let bytes = LogEntry { omitted_bytes: 7, ..entry("") };
        check(
            &[entry("a"), dropped, bytes],
            &[
                "load | a",
                "load | … 1,204 lines omitted (98,765 bytes)",
                "load | b",
                "load | … 7 bytes omitted",
            ],
        );
    }

    #[test]
    fn a_line_without_an_end_is_shown_in_parts() {
        let mut lines = LogLines::default();
        assert_eq!(lines.push(&entry(&"x".repeat(LINE_MAX - 1))), []);
        assert_eq!(lines.push(&entry("x")).len(), 1);
    }
}
