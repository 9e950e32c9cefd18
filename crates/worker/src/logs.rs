//! Sends the output of running tools to the control plane: the chunks of all commands in one call, at
//! most every [`FLUSH_INTERVAL`] unless much waits.
//!
//! A command that prints nothing, or that ends with its whole output in its report before anything
//! was sent, costs no call. Output that cannot be sent is dropped and counted; the command goes on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use noetl_api::{ControlError, ControlPlane};
use noetl_model::{
    Held, LOG_BYTES_MAX, Lease, LogAnswer, LogBatch, LogChunk, LogSource, OmittedOutput,
};
use noetl_tools::{LIVE_BYTES_READY, LiveBuffer, LiveLog, LivePiece, LiveTake};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use crate::backoff::Backoff;

/// The time for which output is collected before it is sent.
const FLUSH_INTERVAL: Duration = Duration::from_millis(200);
/// The pause after there was nothing to send.
const EMPTY_PAUSE: Duration = Duration::from_millis(20);
/// The most bytes of output in one call; as JSON it may be six times as long.
const CALL_BYTES_MAX: usize = 512 * 1024;
/// The time for which a call is repeated before its output is dropped.
const REPEAT_MAX: Duration = Duration::from_secs(30);
/// The time for which a report waits for the end of its command's output to be sent.
const END_WAIT: Duration = Duration::from_secs(2);

/// The output of all running commands.
#[derive(Default)]
pub(crate) struct LiveLogs {
    open: Mutex<BTreeMap<Held, Arc<OpenLog>>>,
    ready: Arc<Notify>,
}

struct OpenLog {
    source: LogSource,
    buffer: Arc<LiveBuffer>,
    state: Mutex<Sending>,
    sent: Notify,
}

#[derive(Debug, Default)]
struct Sending {
    next_index: u64,
    phase: Phase,
    has_ended: bool,
    is_over: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    /// A limit is reached: only the end is sent.
    Full,
    /// The control plane does not take the output.
    Refused,
}

/// The end of a command: with a report, or without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterEnd {
    /// The report has the beginning and the end of the output.
    Reported,
    /// The command was lost: there is no report.
    Lost,
}

/// The output of one running command; dropping it ends the output.
pub(crate) struct RunningLog {
    logs: Arc<LiveLogs>,
    log: Arc<OpenLog>,
}

impl OpenLog {
    fn lock(&self) -> MutexGuard<'_, Sending> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if there is something to send.
    fn is_sendable(&self) -> bool {
        let state = self.lock();
        state.has_ended || (state.phase == Phase::Open && self.buffer.waiting() > 0)
    }

    fn take(&self, bytes_max: usize, now: Instant) -> Option<LogBatch> {
        let mut state = self.lock();
        let which = match (state.has_ended, state.phase) {
            (_, Phase::Refused) | (false, Phase::Full) => return None,
            (true, Phase::Open | Phase::Full) => LiveTake::Ended,
            (false, Phase::Open) => LiveTake::Running,
        };
        let pieces = self.buffer.take(which, bytes_max);
        let has_ended = state.has_ended;
        let chunks = pieces.into_iter().map(|piece| {
            let index = state.next_index;
            state.next_index += 1;
            chunk(index, piece, now, has_ended)
        });
        let chunks: Vec<LogChunk> = chunks.collect();
        (!chunks.is_empty()).then(|| LogBatch { source: self.source.clone(), chunks })
    }

    /// True if nothing has to be sent; nothing is sent from then on. A short output of which nothing
    /// was sent is in the report and is not stored twice.
    fn needs_no_call(&self, after: AfterEnd) -> bool {
        let mut state = self.lock();
        let written = self.buffer.written();
        let is_reported = after == AfterEnd::Reported
            && state.next_index == 0
            && state.phase == Phase::Open
            && written <= LOG_BYTES_MAX as u64;
        state.is_over = is_reported || written == 0;
        if state.is_over {
            state.phase = Phase::Refused;
        }
        state.is_over
    }

    fn refuse(&self) {
        self.lock().phase = Phase::Refused;
        self.buffer.keep_end();
    }

    /// Counts chunks that are not stored.
    fn drop_chunks(&self, chunks: &[LogChunk]) {
        let mut dropped = OmittedOutput::default();
        for chunk in chunks {
            dropped.add(chunk.text.as_bytes());
            dropped = dropped.and(chunk.omitted);
        }
        self.buffer.count_omitted(dropped);
    }
}

fn chunk(index: u64, piece: LivePiece, now: Instant, is_end: bool) -> LogChunk {
    let LivePiece { stream, printed_at, text, omitted } = piece;
    let age = now.saturating_duration_since(printed_at);
    let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    LogChunk { index, stream, age_ms, text, omitted, is_end }
}

impl LiveLogs {
    /// Begins the output of a command.
    pub(crate) fn begin(self: &Arc<Self>, lease: &Lease) -> (LiveLog, RunningLog) {
        let buffer = Arc::new(LiveBuffer::new(self.ready.clone()));
        let log = Arc::new(OpenLog {
            source: LogSource::from(lease),
            buffer: buffer.clone(),
            state: Mutex::default(),
            sent: Notify::new(),
        });
        self.lock().insert(Held::from(lease), log.clone());
        (LiveLog::new(buffer), RunningLog { logs: self.clone(), log })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Held, Arc<OpenLog>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn logs(&self) -> Vec<Arc<OpenLog>> {
        self.lock().values().cloned().collect()
    }

    fn is_idle(&self) -> bool {
        !self.lock().values().any(|log| log.is_sendable())
    }

    /// True if output should be sent at once: much waits, or a command has ended.
    fn is_urgent(&self) -> bool {
        let open = self.lock();
        let waiting = |log: &Arc<OpenLog>| match log.lock().phase {
            Phase::Open => log.buffer.waiting(),
            Phase::Full | Phase::Refused => 0,
        };
        open.values().any(|log| log.lock().has_ended)
            || LIVE_BYTES_READY <= open.values().map(waiting).sum::<usize>()
    }

    fn take(&self) -> Vec<LogBatch> {
        let now = Instant::now();
        let mut left = CALL_BYTES_MAX;
        let mut batches = Vec::new();
        for log in self.logs() {
            if left == 0 {
                break;
            }
            if let Some(batch) = log.take(left, now) {
                let taken: usize = batch.chunks.iter().map(|chunk| chunk.text.len()).sum();
                left = left.saturating_sub(taken);
                batches.push(batch);
            }
        }
        batches
    }

    /// Removes the logs of ended commands of which everything was sent or dropped.
    fn remove_ended(&self) {
        self.lock().retain(|_, log| {
            let mut state = log.lock();
            let is_done = state.phase == Phase::Refused || log.buffer.waiting() == 0;
            state.is_over = state.has_ended && is_done;
            if state.is_over {
                log.sent.notify_waiters();
            }
            !state.is_over
        });
    }
}

impl RunningLog {
    /// Ends the output once the tool has ended; waits until the rest is sent, but not for long.
    pub(crate) async fn finish(self, after: AfterEnd) {
        if self.log.needs_no_call(after) {
            self.logs.lock().remove(&self.log.source.held());
            return;
        }
        let sent = self.log.sent.notified();
        tokio::pin!(sent);
        sent.as_mut().enable();
        self.end();
        if !self.log.lock().is_over && timeout(END_WAIT, sent).await.is_err() {
            let (execution, step) = (self.log.source.execution, &self.log.source.step);
            tracing::debug!(%execution, %step, "the end of the output is sent after the report");
        }
    }

    fn end(&self) {
        self.log.lock().has_ended = true;
        self.logs.ready.notify_one();
    }
}

impl Drop for RunningLog {
    fn drop(&mut self) {
        if !self.log.lock().is_over {
            self.end();
        }
    }
}

/// Sends the output of a worker's commands.
pub(crate) struct LogSender {
    control: Arc<dyn ControlPlane>,
    logs: Arc<LiveLogs>,
    /// True while calls fail, so that one warning is logged.
    is_failing: bool,
}

impl LogSender {
    pub(crate) fn new(control: Arc<dyn ControlPlane>, logs: Arc<LiveLogs>) -> Self {
        Self { control, logs, is_failing: false }
    }

    /// Sends output as it is printed, for as long as the future is polled.
    pub(crate) async fn run(mut self) {
        loop {
            if self.logs.is_idle() {
                self.logs.ready.notified().await;
            }
            let until = Instant::now() + FLUSH_INTERVAL;
            while !self.logs.is_urgent() {
                tokio::select! {
                    () = sleep_until(until) => break,
                    () = self.logs.ready.notified() => {}
                }
            }
            let batches = self.logs.take();
            self.deliver(&batches).await;
            self.logs.remove_ended();
            if batches.is_empty() {
                // Only beginnings of lines wait, which are sent a little later.
                tokio::time::sleep(EMPTY_PAUSE).await;
            }
        }
    }

    async fn deliver(&mut self, batches: &[LogBatch]) {
        if batches.is_empty() {
            return;
        }
        let (begun, mut backoff) = (Instant::now(), Backoff::new());
        let answers = loop {
            match self.control.logs(batches).await {
                Ok(answers) => {
                    self.is_failing = false;
                    break answers;
                }
                Err(error @ ControlError::Unavailable(_)) => {
                    self.warn(&error);
                    if REPEAT_MAX <= begun.elapsed() {
                        self.drop_all(batches);
                        return;
                    }
                    backoff.wait().await;
                }
                Err(
                    error @ (ControlError::PayloadMissing(_)
                    | ControlError::CredentialMissing(_)
                    | ControlError::ResultMissing(_)
                    | ControlError::Refused { .. }),
                ) => {
                    self.warn(&error);
                    break vec![LogAnswer::Unknown; batches.len()];
                }
            }
        };
        let open = self.logs.lock();
        for (batch, answer) in batches.iter().zip(answers) {
            let Some(log) = open.get(&batch.source.held()) else { continue };
            match answer {
                LogAnswer::Stored => {}
                LogAnswer::Full { kept } => {
                    log.lock().phase = Phase::Full;
                    log.drop_chunks(batch.chunks.get(kept..).unwrap_or_default());
                    log.buffer.keep_end();
                }
                LogAnswer::Unknown => log.refuse(),
            }
        }
    }

    fn drop_all(&self, batches: &[LogBatch]) {
        let open = self.logs.lock();
        for batch in batches {
            if let Some(log) = open.get(&batch.source.held()) {
                log.drop_chunks(&batch.chunks);
            }
        }
    }

    fn warn(&mut self, error: &ControlError) {
        if !self.is_failing {
            let error: &dyn std::error::Error = error;
            tracing::warn!(error, "cannot send the output of running steps; the steps continue");
        }
        self.is_failing = true;
    }
}

#[cfg(test)]
mod tests;
