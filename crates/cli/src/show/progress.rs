//! Live progress on standard error: a line per ended step and, on a terminal, the running steps.

mod bars;

use std::io::{self, Write as _};

use noetl_model::{StepStatus, Timestamp};

use crate::show::output::table::line;
use crate::show::output::time::{clock, took};
use crate::show::overview::{Items, Overview, OverviewChange, StepView};
use crate::show::terminal::{BAD, CAREFUL, FAINT, GOOD, Terminal, paint, shown};
use bars::Bars;

/// The width to which names are padded, so that columns are aligned.
const NAME_WIDTH: usize = 20;
/// The most characters of an error on a line.
const ERROR_CHARS_MAX: usize = 100;

/// The progress of one or more executions.
pub(crate) struct LiveProgress {
    mode: Mode,
    /// True if lines name their playbook.
    several: bool,
}

/// The form of the progress display.
enum Mode {
    Quiet,
    Lines { color: bool },
    Bars(Bars),
}

impl LiveProgress {
    pub(crate) fn new(is_quiet: bool, several: bool, terminal: &Terminal) -> Self {
        let color = terminal.stderr_color;
        let mode = match (is_quiet, terminal.is_watched) {
            (true, _) => Mode::Quiet,
            (false, false) => Mode::Lines { color },
            (false, true) => Mode::Bars(Bars::new(color)),
        };
        Self { mode, several }
    }

    /// Shows the change made by an event.
    pub(crate) fn show(&mut self, overview: &Overview, change: OverviewChange, at: Timestamp) {
        if let Mode::Bars(bars) = &mut self.mode {
            bars.update(overview, change);
        }
        let text = match change {
            OverviewChange::Nothing
            | OverviewChange::StepEntered(_)
            | OverviewChange::ItemsEnded(_)
            | OverviewChange::ExecutionEnded => return,
            OverviewChange::StepEnded(step) => ended(&overview.steps[step]),
            OverviewChange::Retrying(step, due_at) => retrying(&overview.steps[step], due_at, at),
        };
        let time = paint(FAINT, clock(at));
        if self.several {
            self.say(&format!("{time} {}: {text}", overview.playbook.path));
        } else {
            self.say(&format!("{time} {text}"));
        }
    }

    /// Prints a line above the moving bars.
    pub(crate) fn say(&self, text: &str) {
        match &self.mode {
            Mode::Quiet => {}
            Mode::Lines { color } => write_line(*color, text),
            Mode::Bars(bars) => bars.say(text),
        }
    }

    /// Removes the moving bars.
    pub(crate) fn finish(self) {
        match self.mode {
            Mode::Quiet | Mode::Lines { .. } => {}
            Mode::Bars(bars) => bars.finish(),
        }
    }
}

/// Writes a line, without styles unless `color`.
fn write_line(color: bool, text: &str) {
    // Progress is optional: a closed standard error is ignored.
    let _unread = writeln!(io::stderr(), "{}", shown(text, color));
}

/// Describes on one line how a step has ended.
fn ended(view: &StepView) -> String {
    let (style, word) = match view.status {
        StepStatus::Running => (FAINT, "running"),
        StepStatus::Completed => (GOOD, "completed"),
        StepStatus::Failed => (BAD, "failed"),
        StepStatus::Skipped => (FAINT, "skipped"),
        StepStatus::Cancelled => (CAREFUL, "cancelled"),
    };
    let name = format!("{:NAME_WIDTH$}", view.step.as_str());
    let mut text = format!("step {name}  {}", paint(style, format!("{word:9}")));
    if view.status != StepStatus::Skipped {
        text.push_str(&format!("  {:>9}", took(view.run_took)));
    }
    if view.runs > 1 {
        text.push_str(&format!("  run {}", view.runs));
    }
    if let Some(items) = view.items {
        text.push_str(&format!("  {}", count(items)));
    }
    if let Some(error) = &view.error {
        text.push_str(&format!("  {}", line(&error.message, ERROR_CHARS_MAX)));
    }
    text
}

fn count(items: Items) -> String {
    let ended = items.ended();
    let mut text = match items.total {
        Some(total) if total != ended => format!("{ended} of {total} items"),
        Some(1) => "1 item".to_owned(),
        Some(_) | None => format!("{ended} items"),
    };
    if items.failed > 0 {
        text.push_str(&format!(", {} failed", items.failed));
    }
    text
}

fn retrying(view: &StepView, due_at: Timestamp, now: Timestamp) -> String {
    let why = view.failure.as_ref().map(|failure| line(&failure.error.message, ERROR_CHARS_MAX));
    let name = format!("{:NAME_WIDTH$}", view.step.as_str());
    let retry = paint(CAREFUL, "retry    ");
    let why = why.unwrap_or_default();
    format!("step {name}  {retry}  {:>9}  {why}", format!("in {}", took(due_at.since(now))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(total: Option<u64>, completed: u64, failed: u64, expected: &str) {
        assert_eq!(count(Items { total, completed, failed }), expected);
    }

    #[test]
    fn a_line_has_the_duration_of_the_latest_run_and_not_of_all() {
        let seconds = std::time::Duration::from_secs;
        let view = StepView {
            step: noetl_model::StepName::new("poll"),
            status: StepStatus::Completed,
            runs: 3,
            since: Timestamp::from_millis(0),
            took: seconds(47),
            run_took: seconds(15),
            items: None,
            error: None,
            failure: None,
        };
        let line = shown(&ended(&view), false);
        assert!(line.contains(&took(seconds(15))) && line.contains("run 3"), "{line}");
        assert!(!line.contains(&took(seconds(47))), "{line}");
    }

    #[test]
    fn items_are_counted_in_few_words() {
        check(Some(1), 1, 0, "1 item");
        check(Some(12), 12, 0, "12 items");
        check(Some(12), 3, 1, "4 of 12 items, 1 failed");
        check(None, 7, 0, "7 items");
    }
}
