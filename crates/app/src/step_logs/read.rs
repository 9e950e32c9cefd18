//! Reads the output of an execution: chunks that were stored while tools ran, and for attempts
//! without chunks the output in their reports.
//!
//! Both are merged by time. A position names the last chunk and the last event that were read, so
//! that a reader can go on after it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use noetl_api::wire::LogEntry;
use noetl_model::{
    Attempt, CommandId, Event, ExecutionId, Held, LogStream, Logs, Place, Recorded, RunId, Seq,
    StepName, StoredLog, Timestamp,
};
use noetl_store::{LogRead, READ_EVENTS_MAX, StoreError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::POLL_INTERVAL;
use crate::app::App;
use crate::store_reader::StoreReader;

/// The number of chunks that are read at once.
const CHUNKS_READ: usize = 200;
/// The most bytes of text in one page.
const PAGE_BYTES: usize = 1024 * 1024;
/// The most entries in one page.
pub const LOG_ENTRIES_MAX: usize = 1000;

/// The last chunk and the last event that a reader has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogPosition {
    pub chunk: u64,
    pub seq: u64,
}

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.chunk, self.seq)
    }
}

/// The error of a text that is not a position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a position of a log; a position is the `position` of an entry, such as 12.34"
)]
pub struct NotALogPosition(String);

impl FromStr for LogPosition {
    type Err = NotALogPosition;

    fn from_str(text: &str) -> Result<Self, NotALogPosition> {
        let parsed = text.split_once('.').and_then(|(chunk, seq)| {
            Some(Self { chunk: chunk.parse().ok()?, seq: seq.parse().ok()? })
        });
        match parsed {
            Some(position) if i64::try_from(position.chunk.max(position.seq)).is_ok() => {
                Ok(position)
            }
            Some(_) | None => Err(NotALogPosition(text.to_owned())),
        }
    }
}

/// Selects the output of an execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogFilter {
    pub step: Option<StepName>,
    pub command: Option<CommandId>,
    /// The number of the attempt among all attempts of its task, from 1.
    pub attempt: Option<u32>,
    pub stream: Option<LogStream>,
}

impl LogFilter {
    pub(super) fn read(&self, after: u64, limit: usize) -> LogRead {
        LogRead {
            after,
            step: self.step.clone(),
            command: self.command,
            number: self.attempt,
            stream: self.stream,
            limit,
            ..LogRead::default()
        }
    }

    pub(super) fn admits(&self, entry: &LogEntry) -> bool {
        let Self { step, command, attempt, stream } = self;
        step.as_ref().is_none_or(|step| entry.step == step.as_str())
            && command.is_none_or(|command| entry.command == command.0)
            && attempt.is_none_or(|attempt| entry.attempt == attempt)
            && stream.is_none_or(|stream| entry.stream == stream)
    }
}

/// The names of the commands that are open, from the events of a log.
#[derive(Debug, Default)]
pub(crate) struct CommandNames {
    steps: BTreeMap<RunId, StepName>,
    commands: BTreeMap<CommandId, NamedTask>,
    /// The attempts of each task so far.
    attempts: BTreeMap<(RunId, Place), u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct NamedTask {
    pub(crate) step: StepName,
    pub(crate) item: Option<u64>,
    /// The number of the latest attempt among all attempts of its task.
    pub(crate) number: u32,
    task: (RunId, Place),
}

impl CommandNames {
    /// Learns from the next event.
    pub(crate) fn see(&mut self, event: &Event) {
        if let Event::StepEntered { run, step, .. } = event {
            self.steps.insert(*run, step.clone());
        }
        if let Event::CommandIssued { command, task, .. } = event
            && let Some(step) = self.steps.get(&task.run)
        {
            let (item, task) = (task.place.item(), (task.run, task.place));
            let named = NamedTask { step: step.clone(), item, number: 0, task };
            self.commands.insert(*command, named);
        }
        if let Event::CommandClaimed { command, .. } = event
            && let Some(named) = self.commands.get_mut(command)
        {
            let attempts = self.attempts.entry(named.task).or_default();
            *attempts += 1;
            named.number = *attempts;
        }
        if let Event::StepCompleted { run, .. } | Event::StepFailed { run, .. } = event {
            self.steps.remove(run);
            self.attempts.retain(|(of, _), _| of != run);
            self.commands.retain(|_, named| named.task.0 != *run);
        }
    }

    pub(crate) fn get(&self, command: CommandId) -> Option<&NamedTask> {
        self.commands.get(&command)
    }

    /// Forgets a command that has ended.
    pub(crate) fn forget(&mut self, command: CommandId) {
        self.commands.remove(&command);
    }
}

/// Returns the attempt and the output of a command that ended with an event.
pub(crate) fn reported_logs(event: &Event) -> Option<(CommandId, Attempt, &Logs)> {
    if let Event::CommandCompleted { command, attempt, logs, .. }
    | Event::CommandFailed { command, attempt, logs, .. } = event
    {
        return Some((*command, *attempt, logs));
    }
    None
}

/// True for the last event of an execution.
fn is_terminal(event: &Event) -> bool {
    matches!(
        event,
        Event::ExecutionCompleted { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionCancelled { .. }
    )
}

/// Returns the entries of a report: one for each stream with output.
pub(crate) fn report_entries(
    (command, logs): (CommandId, &Logs),
    named: Option<&NamedTask>,
    recorded: &Recorded,
) -> Vec<LogEntry> {
    let streams = [(LogStream::Stdout, &logs.stdout), (LogStream::Stderr, &logs.stderr)];
    let written = streams.into_iter().filter(|(_, text)| !text.is_empty());
    let entries = written.map(|(stream, text)| LogEntry {
        position: String::new(),
        at: recorded.at,
        step: named.map_or_else(|| format!("command {command}"), |it| it.step.to_string()),
        task: None,
        item: named.and_then(|it| it.item),
        attempt: named.map_or(1, |it| it.number.max(1)),
        command: command.0,
        stream,
        text: text.clone(),
        omitted_lines: 0,
        omitted_bytes: 0,
        is_late: false,
        from_report: true,
    });
    entries.collect()
}

pub(crate) fn chunk_entry(log: StoredLog) -> LogEntry {
    let StoredLog { position: _, source, stream, at, text, omitted, is_late } = log;
    LogEntry {
        position: String::new(),
        at,
        task: (source.label != source.step.as_str()).then_some(source.label),
        step: source.step.to_string(),
        item: source.item,
        attempt: source.number,
        command: source.command.0,
        stream,
        text,
        omitted_lines: omitted.lines,
        omitted_bytes: omitted.bytes,
        is_late,
        from_report: false,
    }
}

/// Reads the output of one execution, a page at a time.
pub struct StepLogReader {
    reader: StoreReader,
    execution: ExecutionId,
    filter: LogFilter,
    position: LogPosition,
    /// The last event that was read.
    seq: Seq,
    names: CommandNames,
    chunks: VecDeque<StoredLog>,
    reports: VecDeque<(u64, LogEntry)>,
    /// The time until which all events were read; `None` if all events were read.
    until: Option<Timestamp>,
    has_ended: bool,
}

impl StoreReader {
    /// Returns a reader of the output of an execution after a position.
    pub async fn step_logs(
        &self,
        execution: ExecutionId,
        filter: LogFilter,
        after: LogPosition,
    ) -> Result<StepLogReader, StoreError> {
        let mut reader = StepLogReader {
            reader: self.clone(),
            execution,
            filter,
            position: after,
            seq: Seq::ZERO,
            names: CommandNames::default(),
            chunks: VecDeque::new(),
            reports: VecDeque::new(),
            until: None,
            has_ended: false,
        };
        // The names of commands are in the events before the position.
        while reader.seq.0 < after.seq {
            let left = usize::try_from(after.seq - reader.seq.0).unwrap_or(usize::MAX);
            let limit = left.min(READ_EVENTS_MAX);
            let page = self.events_after(execution, reader.seq, limit).await?;
            let Some(last) = page.last() else { break };
            reader.seq = last.seq;
            for recorded in &page {
                reader.names.see(&recorded.event);
                reader.has_ended |= is_terminal(&recorded.event);
                if let Some((command, ..)) = reported_logs(&recorded.event) {
                    reader.names.forget(command);
                }
            }
        }
        Ok(reader)
    }
}

impl StepLogReader {
    /// Returns the position after the entries that were returned so far.
    pub fn position(&self) -> LogPosition {
        self.position
    }

    /// True if the execution had ended when the last page was read.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns the next entries, at most `limit` (and [`LOG_ENTRIES_MAX`]); none if there are none yet.
    pub async fn next_page(&mut self, limit: usize) -> Result<Vec<LogEntry>, StoreError> {
        let limit = limit.clamp(1, LOG_ENTRIES_MAX);
        let (mut page, mut bytes) = (Vec::new(), 0);
        loop {
            if self.reports.is_empty() && self.chunks.is_empty() || self.until.is_none() {
                self.read_events().await?;
            }
            if self.chunks.is_empty() {
                let read = self.filter.read(self.position.chunk, CHUNKS_READ);
                self.chunks = self.reader.read_logs(self.execution, &read).await?.into();
            }
            while page.len() < limit && bytes < PAGE_BYTES {
                let Some(entry) = self.next_entry() else { break };
                bytes += entry.text.len();
                page.push(entry);
            }
            let is_full = page.len() == limit || bytes >= PAGE_BYTES;
            let is_at_end = self.until.is_none() && self.chunks.is_empty();
            if is_full || (is_at_end && self.reports.is_empty()) {
                return Ok(page);
            }
            if self.until.is_some() && self.reports.is_empty() {
                // The remaining chunks are later than the events read so far.
                self.read_events().await?;
            }
        }
    }

    /// Returns the next entry by time, if it is not later than the events read so far.
    fn next_entry(&mut self) -> Option<LogEntry> {
        let chunk = self.chunks.front().map(|log| log.at);
        let chunk = chunk.filter(|at| self.until.is_none_or(|until| *at <= until));
        let report = self.reports.front().map(|(_, entry)| entry.at);
        let mut entry = match (chunk, report) {
            (None, None) => return None,
            (Some(chunk), Some(report)) if report < chunk => self.next_report()?,
            (None, Some(_)) => self.next_report()?,
            (Some(_), _) => {
                let log = self.chunks.pop_front()?;
                self.position.chunk = log.position;
                chunk_entry(log)
            }
        };
        entry.position = self.position.to_string();
        Some(entry)
    }

    fn next_report(&mut self) -> Option<LogEntry> {
        let (seq, entry) = self.reports.pop_front()?;
        // The other stream of the same report may follow.
        let next = self.reports.front().map_or(self.seq.0, |(next, _)| next.saturating_sub(1));
        self.position.seq = if self.reports.front().is_some_and(|(next, _)| *next == seq) {
            seq.saturating_sub(1).max(self.position.seq)
        } else {
            next.max(self.position.seq)
        };
        Some(entry)
    }

    /// Reads the next events; `until` is `None` afterwards if there were none.
    async fn read_events(&mut self) -> Result<(), StoreError> {
        let page = self.reader.events_after(self.execution, self.seq, READ_EVENTS_MAX).await?;
        let Some(last) = page.last() else {
            self.until = None;
            return Ok(());
        };
        (self.seq, self.until) = (last.seq, Some(last.at));
        let reported: Vec<(CommandId, Attempt)> = page
            .iter()
            .filter_map(|recorded| reported_logs(&recorded.event))
            .filter(|(_, _, logs)| !logs.is_empty())
            .map(|(command, attempt, _)| (command, attempt))
            .collect();
        let streamed = self.reader.streamed(self.execution, &reported).await?;
        for recorded in &page {
            self.has_ended |= is_terminal(&recorded.event);
            self.names.see(&recorded.event);
            let Some((command, attempt, logs)) = reported_logs(&recorded.event) else { continue };
            let held = Held { execution: self.execution, command, attempt };
            if !streamed.contains(&held) {
                let named = self.names.get(command);
                let entries = report_entries((command, logs), named, recorded);
                let entries = entries.into_iter().filter(|entry| self.filter.admits(entry));
                self.reports.extend(entries.map(|entry| (recorded.seq.0, entry)));
            }
            self.names.forget(command);
        }
        if self.reports.is_empty() {
            self.position.seq = self.position.seq.max(self.seq.0);
        }
        Ok(())
    }
}

impl StoreReader {
    /// Returns the attempts whose output was stored while they ran.
    pub(crate) async fn streamed(
        &self,
        execution: ExecutionId,
        reported: &[(CommandId, Attempt)],
    ) -> Result<BTreeSet<Held>, StoreError> {
        if reported.is_empty() {
            return Ok(BTreeSet::new());
        }
        let commands: Vec<CommandId> = reported.iter().map(|(command, _)| *command).collect();
        Ok(self.log_sources(execution, &commands).await?.into_iter().collect())
    }
}

/// Follows the output of an execution until its end.
pub struct FollowedLogs {
    app: App,
    reader: StepLogReader,
    changed: watch::Receiver<()>,
    end: FollowEnd,
    /// The time of the last read that found nothing.
    read_at: Option<Instant>,
    is_over: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FollowEnd {
    /// Follow until the execution has ended.
    Execution,
    /// Stop where the output ends now.
    Now,
}

impl App {
    /// Follows the output of an execution after a position.
    pub async fn follow_logs(
        &self,
        execution: ExecutionId,
        filter: LogFilter,
        after: LogPosition,
    ) -> Result<FollowedLogs, StoreError> {
        let changed = self.step_log_state().watch(execution);
        let reader = self.reader().step_logs(execution, filter, after).await?;
        let (app, end) = (self.clone(), FollowEnd::Execution);
        Ok(FollowedLogs { app, reader, changed, end, read_at: None, is_over: false })
    }
}

impl FollowedLogs {
    /// Waits for the next entries; `None` once the execution has ended and everything was read.
    /// Cancel safe between two pages: entries that are read are returned.
    pub async fn next(&mut self) -> Result<Option<Vec<LogEntry>>, StoreError> {
        while !self.is_over {
            if let Some(read_at) = self.read_at {
                let pause = self.app.step_log_state().pause(self.reader.execution);
                sleep_until(read_at + pause).await;
            }
            self.changed.mark_unchanged();
            let had_ended = self.reader.has_ended();
            let page = self.reader.next_page(LOG_ENTRIES_MAX).await?;
            if !page.is_empty() {
                return Ok(Some(page));
            }
            self.read_at = Some(Instant::now());
            // Output that was stored before the end is read after the end was seen.
            self.is_over = had_ended || self.end == FollowEnd::Now;
            if !self.is_over && !self.reader.has_ended() {
                // A timeout means that another server may have stored output.
                let _ = timeout(POLL_INTERVAL, self.changed.changed()).await;
            }
        }
        Ok(None)
    }

    /// Stops where the output ends now, instead of following the execution.
    pub fn stop_at_end(&mut self) {
        self.end = FollowEnd::Now;
    }

    /// Returns the position after the entries that were returned so far.
    pub fn position(&self) -> LogPosition {
        self.reader.position()
    }
}

impl Drop for FollowedLogs {
    fn drop(&mut self) {
        self.app.step_log_state().unwatch(self.reader.execution);
    }
}

#[cfg(test)]
mod tests;
