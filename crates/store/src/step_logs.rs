//! The rules that every store follows for the output of running tools: which chunks are stored, at
//! which position, and within which limits.

use std::collections::BTreeMap;
use std::time::Duration;

use noetl_model::{
    Attempt, CommandId, ExecutionId, Held, LOG_TAIL_MAX, LogAnswer, LogBatch, LogChunk, LogSource,
    LogStream, StepName, StoredLog, Timestamp,
};

/// The maximum number of chunks that one read returns.
pub const LOG_READ_MAX: usize = 1000;
/// The default of [`LogLimits::command_bytes_max`].
pub const LOG_COMMAND_BYTES_DEFAULT: u64 = 10 * 1024 * 1024;
/// The default of [`LogLimits::execution_bytes_max`].
pub const LOG_EXECUTION_BYTES_DEFAULT: u64 = 100 * 1024 * 1024;

/// The limits of stored output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLimits {
    /// The most bytes of one attempt of a command, without the end of its output.
    pub command_bytes_max: u64,
    /// The most bytes of one execution.
    pub execution_bytes_max: u64,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            command_bytes_max: LOG_COMMAND_BYTES_DEFAULT,
            execution_bytes_max: LOG_EXECUTION_BYTES_DEFAULT,
        }
    }
}

/// The order of chunks in a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogOrder {
    #[default]
    OldestFirst,
    NewestFirst,
}

/// A page of the chunks of an execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogRead {
    /// Chunks after this position.
    pub after: u64,
    /// Chunks before this position.
    pub before: Option<u64>,
    /// Chunks printed until this time.
    pub until: Option<Timestamp>,
    pub step: Option<StepName>,
    pub command: Option<CommandId>,
    /// The number of the attempt among all attempts of its task.
    pub number: Option<u32>,
    pub stream: Option<LogStream>,
    pub order: LogOrder,
    /// At most this many chunks (and at most [`LOG_READ_MAX`]). A page ends early with the chunk that
    /// brings it to `READ_BYTES_MAX`: only an empty page is the end.
    pub limit: usize,
}

impl LogRead {
    pub(crate) fn admits(&self, log: &StoredLog) -> bool {
        let Self { after, before, until, step, command, number, stream, order: _, limit: _ } = self;
        let source = &log.source;
        *after < log.position
            && before.is_none_or(|before| log.position < before)
            && until.is_none_or(|until| log.at <= until)
            && step.as_ref().is_none_or(|step| source.step == *step)
            && command.is_none_or(|command| source.command == command)
            && number.is_none_or(|number| source.number == number)
            && stream.is_none_or(|stream| log.stream == stream)
    }
}

/// The chunks of one execution that are stored: the last position and the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogTotal {
    pub position: u64,
    pub bytes: u64,
}

/// The chunks of one attempt that are stored: the next index and the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogProgress {
    pub next: u64,
    pub bytes: u64,
}

/// The stored rows that a plan depends on.
#[derive(Debug, Clone, Default)]
pub struct StoredLogTotals {
    /// The totals of the executions that exist.
    pub totals: BTreeMap<ExecutionId, LogTotal>,
    pub progress: BTreeMap<Held, LogProgress>,
    /// The latest attempts of the commands that have not ended.
    pub open: BTreeMap<(ExecutionId, CommandId), Attempt>,
}

/// The chunks of a call that are stored, and the rows that change with them.
#[derive(Debug, Clone)]
pub struct LogPlan {
    /// The answers to the batches, in order.
    pub answers: Vec<LogAnswer>,
    /// The chunks to store, with the time of their execution's total.
    pub logs: Vec<StoredLog>,
    pub totals: BTreeMap<ExecutionId, LogTotal>,
    pub sources: Vec<(LogSource, LogProgress)>,
}

impl LogPlan {
    /// Plans a call at the time `now` of the store.
    pub fn of(
        batches: &[LogBatch],
        limits: LogLimits,
        now: Timestamp,
        rows: StoredLogTotals,
    ) -> Self {
        let StoredLogTotals { mut totals, mut progress, open } = rows;
        let mut plan = Self {
            answers: Vec::with_capacity(batches.len()),
            logs: Vec::new(),
            totals: BTreeMap::new(),
            sources: Vec::new(),
        };
        for LogBatch { source, chunks } in batches {
            let held = source.held();
            let Some(total) = totals.get_mut(&held.execution) else {
                plan.answers.push(LogAnswer::Unknown);
                continue;
            };
            let stored = progress.entry(held).or_default();
            let is_late = open.get(&(held.execution, held.command)) != Some(&held.attempt);
            let before = plan.logs.len();
            let answer = plan.add(source, chunks, (limits, now, is_late), (total, stored));
            plan.answers.push(answer);
            if before < plan.logs.len() {
                plan.totals.insert(held.execution, *total);
                plan.sources.retain(|(known, _)| known.held() != held);
                plan.sources.push((source.clone(), *stored));
            }
        }
        plan
    }

    fn add(
        &mut self,
        source: &LogSource,
        chunks: &[LogChunk],
        (limits, now, is_late): (LogLimits, Timestamp, bool),
        (total, stored): (&mut LogTotal, &mut LogProgress),
    ) -> LogAnswer {
        for (kept, chunk) in chunks.iter().enumerate() {
            if chunk.index < stored.next {
                continue;
            }
            let len = chunk.text.len() as u64;
            let tail = if chunk.is_end { LOG_TAIL_MAX as u64 } else { 0 };
            let fits = stored.bytes + len <= limits.command_bytes_max + tail
                && total.bytes + len <= limits.execution_bytes_max;
            if !fits {
                return LogAnswer::Full { kept };
            }
            total.position += 1;
            total.bytes += len;
            *stored = LogProgress { next: chunk.index + 1, bytes: stored.bytes + len };
            self.logs.push(StoredLog {
                position: total.position,
                source: source.clone(),
                stream: chunk.stream,
                at: earlier(now, Duration::from_millis(chunk.age_ms)),
                text: chunk.text.clone(),
                omitted: chunk.omitted,
                is_late,
            });
        }
        LogAnswer::Stored
    }
}

fn earlier(now: Timestamp, age: Duration) -> Timestamp {
    let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(now.as_micros().saturating_sub(age).max(0))
}

/// Returns the executions of some batches, each once, in order.
pub(crate) fn executions_of(batches: &[LogBatch]) -> Vec<i64> {
    let mut executions: Vec<i64> = batches.iter().map(|batch| batch.source.execution.0).collect();
    executions.sort_unstable();
    executions.dedup();
    executions
}
