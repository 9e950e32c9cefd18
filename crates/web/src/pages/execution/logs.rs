//! The tab with the output of all steps: the end of it, with a filter by step, stream and text.

use std::time::Duration;

use maud::{Markup, html};
use noetl_api::wire::PositionState;
use noetl_app::{App, LogFilter, LogLine, LogLines, LogTailQuery};
use noetl_model::{LogStream, Logs, StepName};

use super::address::{Here, Tab};
use super::view::ExecutionView;
use crate::components::id::execution_address;
use crate::error::PageError;
use crate::request::PageRequest;

/// Maximum number of bytes of output that the tab shows.
const SHOWN_MAX: usize = 64 * 1024;
/// Maximum number of bytes at the end of the output that a filter by text looks through.
const SEARCHED_MAX: usize = 1024 * 1024;
/// Maximum number of bytes of output of one command that the page shows.
const COMMAND_SHOWN_MAX: usize = 16 * 1024;
/// The parameters of the filter.
const FILTERS: [&str; 3] = ["of", "kind", "text"];

/// The lines that the tab shows.
pub(super) struct LogView {
    lines: Vec<LogLine>,
    /// True if there is output before the part that was read.
    is_cut: bool,
}

impl LogView {
    pub(super) async fn load(
        app: &App,
        here: &Here,
        state: &PositionState,
    ) -> Result<Self, PageError> {
        let filter = LogFilter {
            step: Some(here.filter.of.as_str()).filter(|it| !it.is_empty()).map(StepName::new),
            stream: here.filter.kind.parse().ok(),
            ..LogFilter::default()
        };
        let text = here.filter.text.as_str();
        let bytes_max = if text.is_empty() { SHOWN_MAX } else { SEARCHED_MAX };
        let tail = app.log_tail(here.execution, &query(here, state, filter, bytes_max)).await?;
        let mut joined = LogLines::default();
        let mut lines: Vec<LogLine> =
            tail.entries.iter().flat_map(|entry| joined.push(entry)).collect();
        lines.extend(joined.finish());
        lines.retain(|line| text.is_empty() || line.text.contains(text));
        let is_short = shorten(&mut lines);
        Ok(Self { lines, is_cut: tail.is_cut || is_short })
    }
}

/// Removes the first lines of an output that is longer than the tab shows; true if there were any.
fn shorten(lines: &mut Vec<LogLine>) -> bool {
    let mut bytes = 0;
    let is_shown = |line: &&LogLine| {
        bytes += line.text.len();
        bytes <= SHOWN_MAX
    };
    let shown = lines.iter().rev().take_while(is_shown).count().max(1);
    let left_out = lines.len().saturating_sub(shown);
    lines.drain(..left_out);
    left_out > 0
}

/// Loads the end of what a command has printed until the position, while it runs or after it.
pub(super) async fn printed(
    app: &App,
    here: &Here,
    state: &PositionState,
    command: noetl_model::CommandId,
) -> Result<Logs, PageError> {
    let filter = LogFilter { command: Some(command), ..LogFilter::default() };
    let query = query(here, state, filter, COMMAND_SHOWN_MAX);
    let mut logs = Logs::default();
    for entry in app.log_tail(here.execution, &query).await?.entries {
        match entry.stream {
            LogStream::Stdout => logs.stdout.push_str(&entry.text),
            LogStream::Stderr => logs.stderr.push_str(&entry.text),
        }
    }
    Ok(logs)
}

/// Returns the query of the output until the position: all output at the end of the log.
fn query(here: &Here, state: &PositionState, filter: LogFilter, bytes_max: usize) -> LogTailQuery {
    let is_end = here.at.is_none() || state.position == state.last;
    let until = (!is_end).then_some(state.at);
    LogTailQuery { filter, position: state.position, until, bytes_max }
}

pub(super) fn logs(page: &PageRequest, view: &ExecutionView, logs: &LogView) -> Markup {
    let here = view.here.tab(Tab::Logs);
    let filter = &here.filter;
    html! {
        form.filter method="get" action=(execution_address(here.execution)) {
            @for (name, value) in here.pairs() {
                @if !FILTERS.contains(&name) && !value.is_empty() { input type="hidden" name=(name) value=(value); }
            }
            select name="of" aria-label=(page.t("exec.event_step")) {
                option value="" { (page.t("exec.any_step")) }
                @for step in &view.state.steps {
                    option value=(step.name) selected[step.name == filter.of] { (step.name) }
                }
            }
            select name="kind" aria-label=(page.t("exec.log_stream")) {
                option value="" { (page.t("exec.any_stream")) }
                @for stream in LogStream::ALL {
                    option value=(stream.as_str()) selected[stream.as_str() == filter.kind] { (stream.as_str()) }
                }
            }
            input type="search" name="text" value=(filter.text) aria-label=(page.t("exec.log_text"))
                placeholder=(page.t("exec.log_text"));
            button type="submit" { (page.t("exec.show")) }
            // A script shows it.
            button.plain type="button" data-follow data-keep="hidden aria-pressed" aria-pressed="true" hidden {
                (page.t("exec.follow")) }
        }
        @if logs.is_cut { p.soft { (page.t("exec.logs_cut")) } }
        @if logs.lines.is_empty() {
            p.soft { (page.t(if filter.text.is_empty() { "exec.no_logs" } else { "exec.no_log_lines" })) }
        } @else {
            pre.log.lines tabindex="0" role="region" aria-label=(page.t("exec.tab_logs")) {
                @for line in &logs.lines { (log_line(view, line)) }
            }
        }
    }
}

fn log_line(view: &ExecutionView, line: &LogLine) -> Markup {
    let passed: Duration = line.at.since(view.state.started_at);
    let seconds = format!("+{}.{:03}", passed.as_secs(), passed.subsec_millis());
    let class = match (line.is_note, line.stream) {
        (true, _) => "note",
        (false, LogStream::Stdout) => "out",
        (false, LogStream::Stderr) => "err",
    };
    html! {
        span class=(class) {
            span.when { (seconds) } " " b { (line.name) } " " (line.text) "\n"
        }
    }
}
