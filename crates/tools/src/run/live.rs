//! The output of a running tool, buffered until the worker sends it.
//!
//! A tool is never blocked for long: the buffer is bounded, and beyond the bound the oldest output is
//! dropped and counted. Text in the buffer has been searched for secrets.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use noetl_model::{LOG_CHUNK_MAX, LOG_TAIL_MAX, LogStream, OmittedOutput};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The most bytes that wait to be sent.
pub const LIVE_BYTES_MAX: usize = 1024 * 1024;
/// The number of waiting bytes from which they are sent at once.
pub const LIVE_BYTES_READY: usize = 64 * 1024;
/// The longest total time for which the output of one call waits for the buffer to be sent.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// The time after which the beginning of a line is sent without its end.
const PARTIAL_AFTER: Duration = Duration::from_millis(150);
/// The time after which the beginning of a line is sent even if it grows, as a progress bar does.
const PARTIAL_MAX: Duration = Duration::from_secs(1);

/// The receiver of a call's output while it runs; the default one drops it.
#[derive(Debug, Clone, Default)]
pub struct LiveLog(Option<Arc<LiveBuffer>>);

impl LiveLog {
    pub fn new(buffer: Arc<LiveBuffer>) -> Self {
        Self(Some(buffer))
    }

    /// Adds output; never waits.
    pub fn write(&self, stream: LogStream, bytes: &[u8]) {
        if let Some(buffer) = &self.0
            && !bytes.is_empty()
        {
            buffer.write(stream, bytes);
        }
    }

    /// Waits until the buffer has space, but all waits of a call together at most [`WAIT_MAX`].
    pub(crate) async fn has_space(&self) {
        if let Some(buffer) = &self.0 {
            buffer.has_space().await;
        }
    }

    /// Returns the receiver of one stream.
    pub(crate) fn stream(&self, stream: LogStream) -> LiveStream {
        LiveStream { log: self.clone(), stream }
    }
}

/// The receiver of one stream of a call.
#[derive(Debug, Clone)]
pub(crate) struct LiveStream {
    log: LiveLog,
    stream: LogStream,
}

impl LiveStream {
    pub(crate) fn write(&self, bytes: &[u8]) {
        self.log.write(self.stream, bytes);
    }

    pub(crate) async fn has_space(&self) {
        self.log.has_space().await;
    }
}

/// A piece of output that is taken to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LivePiece {
    pub stream: LogStream,
    pub printed_at: Instant,
    pub text: String,
    /// The output that was dropped before this piece.
    pub omitted: OmittedOutput,
}

/// The part of the buffer that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveTake {
    /// Whole lines, and the beginnings of lines that were not continued for a while.
    Running,
    /// Everything: the tool has ended.
    Ended,
}

/// The output of one call that was not sent yet.
#[derive(Debug)]
pub struct LiveBuffer {
    state: Mutex<Buffered>,
    /// Told when output waits, and again when enough waits to be sent at once.
    ready: Arc<Notify>,
    space: Notify,
}

#[derive(Debug)]
struct Buffered {
    pieces: VecDeque<Piece>,
    bytes: usize,
    bytes_max: usize,
    omitted: OmittedOutput,
    /// The bytes written to each stream.
    written: [u64; 2],
    /// The first bytes of a character that was taken before its end was written.
    partial: [Vec<u8>; 2],
    waited: Duration,
}

#[derive(Debug)]
struct Piece {
    stream: LogStream,
    begun_at: Instant,
    last_at: Instant,
    bytes: Vec<u8>,
}

impl LiveBuffer {
    /// Creates a buffer that tells `ready` when it has something to send.
    pub fn new(ready: Arc<Notify>) -> Self {
        let state = Buffered {
            pieces: VecDeque::new(),
            bytes: 0,
            bytes_max: LIVE_BYTES_MAX,
            omitted: OmittedOutput::default(),
            written: [0; 2],
            partial: [Vec::new(), Vec::new()],
            waited: Duration::ZERO,
        };
        Self { state: Mutex::new(state), ready, space: Notify::new() }
    }

    /// Returns the number of waiting bytes.
    pub fn waiting(&self) -> usize {
        self.lock().bytes
    }

    /// Returns the number of bytes written to the larger stream so far.
    pub fn written(&self) -> u64 {
        self.lock().written.into_iter().max().unwrap_or(0)
    }

    /// Keeps only the end of the output from now on, because a limit is reached.
    pub fn keep_end(&self) {
        let mut state = self.lock();
        state.bytes_max = LOG_TAIL_MAX;
        state.waited = WAIT_MAX;
        state.shrink();
        drop(state);
        self.space.notify_waiters();
    }

    /// Counts output as dropped that was taken and could not be sent.
    pub fn count_omitted(&self, omitted: OmittedOutput) {
        let mut state = self.lock();
        state.omitted = state.omitted.and(omitted);
    }

    /// Takes at most about `bytes_max` bytes of output, oldest first, in pieces of at most
    /// [`LOG_CHUNK_MAX`] bytes.
    pub fn take(&self, which: LiveTake, bytes_max: usize) -> Vec<LivePiece> {
        let mut state = self.lock();
        let taken = state.take(which, bytes_max);
        drop(state);
        if !taken.is_empty() {
            self.space.notify_waiters();
        }
        taken
    }

    fn write(&self, stream: LogStream, bytes: &[u8]) {
        let mut state = self.lock();
        let before = state.bytes;
        state.add(stream, bytes);
        let after = state.bytes;
        drop(state);
        if before == 0 || (before < LIVE_BYTES_READY && LIVE_BYTES_READY <= after) {
            self.ready.notify_one();
        }
    }

    async fn has_space(&self) {
        let begun = Instant::now();
        loop {
            let sent = self.space.notified();
            let left = {
                let state = self.lock();
                if state.bytes < state.bytes_max / 2 {
                    break;
                }
                WAIT_MAX.saturating_sub(state.waited + begun.elapsed())
            };
            if left.is_zero() || tokio::time::timeout(left, sent).await.is_err() {
                break;
            }
        }
        let waited = begun.elapsed();
        if !waited.is_zero() {
            self.lock().waited += waited;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Buffered> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buffered {
    fn add(&mut self, stream: LogStream, bytes: &[u8]) {
        let now = Instant::now();
        self.written[stream as usize] += bytes.len() as u64;
        for part in bytes.chunks(LOG_CHUNK_MAX) {
            match self.pieces.back_mut() {
                Some(last)
                    if last.stream == stream && last.bytes.len() + part.len() <= LOG_CHUNK_MAX =>
                {
                    last.bytes.extend_from_slice(part);
                    last.last_at = now;
                }
                Some(_) | None => self.pieces.push_back(Piece {
                    stream,
                    begun_at: now,
                    last_at: now,
                    bytes: part.to_vec(),
                }),
            }
        }
        self.bytes += bytes.len();
        self.shrink();
    }

    /// Drops the oldest output beyond the bound, whole lines if possible.
    fn shrink(&mut self) {
        while self.bytes > self.bytes_max
            && let Some(mut dropped) = self.pieces.pop_front()
        {
            let excess = self.bytes - self.bytes_max;
            let until = match dropped.bytes.len() <= excess {
                true => dropped.bytes.len(),
                false => {
                    let rest = &dropped.bytes[excess..];
                    let line = rest.iter().position(|byte| *byte == b'\n');
                    line.map_or(dropped.bytes.len(), |at| excess + at + 1)
                }
            };
            let partial = std::mem::take(&mut self.partial[dropped.stream as usize]);
            self.omitted.add(&partial);
            self.omitted.add(&dropped.bytes[..until]);
            self.bytes -= until;
            if until < dropped.bytes.len() {
                dropped.bytes.drain(..until);
                self.pieces.push_front(dropped);
            }
        }
    }

    fn take(&mut self, which: LiveTake, bytes_max: usize) -> Vec<LivePiece> {
        let now = Instant::now();
        let (mut taken, mut kept, mut left) = (Vec::new(), VecDeque::new(), bytes_max);
        while let Some(mut piece) = self.pieces.pop_front() {
            // Output of a stream is never taken before its earlier output.
            let is_behind = kept.iter().any(|it: &Piece| it.stream == piece.stream);
            if left == 0 || is_behind {
                kept.push_back(piece);
                continue;
            }
            let is_last = !self.pieces.iter().any(|it| it.stream == piece.stream);
            let is_complete = which == LiveTake::Ended
                || !is_last
                || PARTIAL_AFTER <= now.duration_since(piece.last_at)
                || PARTIAL_MAX <= now.duration_since(piece.begun_at)
                || LOG_CHUNK_MAX <= piece.bytes.len();
            let until = match is_complete {
                true => piece.bytes.len(),
                false => piece.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1),
            };
            if until < piece.bytes.len() {
                let rest = piece.bytes.split_off(until);
                kept.push_back(Piece { bytes: rest, ..piece_at(&piece, piece.last_at) });
            }
            left = left.saturating_sub(until);
            self.bytes -= until;
            self.push_text(&mut taken, piece, which == LiveTake::Ended && is_last);
        }
        self.pieces = kept;
        if which == LiveTake::Ended && self.pieces.is_empty() {
            self.push_partial(&mut taken, now);
        }
        if which == LiveTake::Ended && self.pieces.is_empty() && !self.omitted.is_none() {
            let (stream, omitted) = (LogStream::Stdout, std::mem::take(&mut self.omitted));
            taken.push(LivePiece { stream, printed_at: now, text: String::new(), omitted });
        }
        taken
    }

    /// Adds the beginnings of characters whose end was never written.
    fn push_partial(&mut self, taken: &mut Vec<LivePiece>, now: Instant) {
        for stream in LogStream::ALL {
            let bytes = std::mem::take(&mut self.partial[stream as usize]);
            if !bytes.is_empty() {
                let piece = Piece { stream, begun_at: now, last_at: now, bytes };
                self.push_text(taken, piece, true);
            }
        }
    }

    /// Adds a piece as text. Bytes that are not UTF-8 are replaced; the beginning of a character
    /// waits for its end.
    fn push_text(&mut self, taken: &mut Vec<LivePiece>, piece: Piece, is_end: bool) {
        let partial = &mut self.partial[piece.stream as usize];
        let mut bytes = std::mem::take(partial);
        bytes.extend(piece.bytes);
        if !is_end {
            let incomplete = incomplete_end(&bytes);
            *partial = bytes.split_off(bytes.len() - incomplete);
        }
        if bytes.is_empty() {
            return;
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let omitted = std::mem::take(&mut self.omitted);
        taken.push(LivePiece { stream: piece.stream, printed_at: piece.begun_at, text, omitted });
    }
}

fn piece_at(piece: &Piece, at: Instant) -> Piece {
    Piece { stream: piece.stream, begun_at: at, last_at: at, bytes: Vec::new() }
}

/// Returns the number of bytes at the end that are the beginning of a character.
fn incomplete_end(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    match std::str::from_utf8(tail) {
        Ok(_) => 0,
        Err(_) => (1..=tail.len())
            .find(|len| {
                let end = &tail[tail.len() - len..];
                let is_incomplete =
                    std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none());
                is_incomplete && !is_continuation(end[0])
            })
            .unwrap_or(0),
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests;
