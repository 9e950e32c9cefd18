//! Captures the output of a process with bounded memory: the beginning and the end are kept.

use std::collections::VecDeque;
use std::time::Duration;

use noetl_model::{LogStream, Logs};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::protect::redactor::{Redaction, Redactor};
use crate::run::live::{LiveLog, LiveStream};

/// The maximum number of bytes kept of one output stream; beyond it the middle is dropped.
pub(crate) const CAPTURE_BYTES_MAX: usize = 10 * 1024 * 1024;

const CHUNK_BYTES: usize = 16 * 1024;
/// The wait for the remaining output after the work has ended.
const OUTPUT_WAIT: Duration = Duration::from_secs(1);

/// The beginning and the end of a byte stream, with secrets removed.
#[derive(Debug)]
pub(crate) struct Capture {
    redaction: Redaction,
    /// Redacted bytes that are not yet in `head` or `tail`.
    redacted: Vec<u8>,
    half_max: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
    /// The receiver of the redacted bytes while the tool runs.
    live: Option<LiveStream>,
}

impl Capture {
    pub(crate) fn new(bytes_max: usize, redactor: &Redactor) -> Self {
        Self {
            redaction: redactor.begin(),
            redacted: Vec::new(),
            half_max: bytes_max / 2,
            head: Vec::new(),
            tail: VecDeque::new(),
            left_out: 0,
            live: None,
        }
    }

    /// Passes all later output on while the tool runs.
    pub(crate) fn send_to(&mut self, live: LiveStream) {
        self.live = Some(live);
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut redacted = std::mem::take(&mut self.redacted);
        self.redaction.push(bytes, &mut redacted);
        self.keep(&redacted);
        redacted.clear();
        self.redacted = redacted;
    }

    /// Waits, not for long, until the receiver has space.
    async fn has_space(&self) {
        if let Some(live) = &self.live {
            live.has_space().await;
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(live) = &self.live {
            live.write(bytes);
        }
        let to_head = bytes.len().min(self.half_max - self.head.len());
        let (head, rest) = bytes.split_at(to_head);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        if let Some(excess) = self.tail.len().checked_sub(self.half_max) {
            self.tail.drain(..excess);
            self.left_out += excess as u64;
        }
    }

    /// Returns the captured text and clears the capture; later output is not passed on. Invalid
    /// UTF-8 is replaced.
    pub(crate) fn take_text(&mut self) -> String {
        let mut rest = std::mem::take(&mut self.redacted);
        self.redaction.finish(&mut rest);
        self.keep(&rest);
        self.live = None;
        let mut bytes = std::mem::take(&mut self.head);
        if self.left_out > 0 {
            bytes.extend(format!("\n… {} bytes left out …\n", self.left_out).into_bytes());
        }
        bytes.extend(std::mem::take(&mut self.tail));
        self.left_out = 0;
        match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }
}

/// The captured output of several commands or prints, per stream.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
}

impl Printed {
    pub(crate) fn new(redactor: &Redactor) -> Self {
        let capture = || Capture::new(CAPTURE_BYTES_MAX, redactor);
        Self { stdout: capture(), stderr: capture() }
    }

    /// Passes all later output on while the tool runs.
    pub(crate) fn send_to(&mut self, live: &LiveLog) {
        self.stdout.send_to(live.stream(LogStream::Stdout));
        self.stderr.send_to(live.stream(LogStream::Stderr));
    }

    /// Returns the captured logs and clears them.
    pub(crate) fn take(&mut self) -> Logs {
        Logs { stdout: self.stdout.take_text(), stderr: self.stderr.take_text() }
    }
}

/// An output stream that is read into a [`Capture`]. A read can be cancelled at any point and
/// resumed later; the bytes already read are kept.
#[derive(Debug)]
pub(crate) struct Captured<R> {
    reader: Option<R>,
    /// Bytes read that may be the beginning of a mark.
    pending: Vec<u8>,
    capture: Capture,
}

impl<R: AsyncRead + Unpin> Captured<R> {
    pub(crate) fn new(reader: R) -> Self {
        let capture = Capture::new(CAPTURE_BYTES_MAX, &Redactor::default());
        Self { reader: Some(reader), pending: Vec::new(), capture }
    }

    /// Removes the secrets of a redactor from all later output, and passes it on while the tool runs.
    pub(crate) fn begin(&mut self, redactor: &Redactor, live: LiveStream) {
        self.capture.redaction = redactor.begin();
        self.capture.send_to(live);
    }

    /// Reads until the stream ends. A read error counts as the end.
    pub(crate) async fn read_to_end(&mut self) {
        while self.read_chunk().await {
            self.capture.push(&self.pending);
            self.pending.clear();
            self.capture.has_space().await;
        }
    }

    /// Reads up to `mark`, which is dropped, or until the stream ends.
    pub(crate) async fn read_to_mark(&mut self, mark: &[u8]) {
        loop {
            if let Some(at) = find(&self.pending, mark) {
                self.capture.push(&self.pending[..at]);
                self.pending.drain(..at + mark.len());
                return;
            }
            // Only the bytes from which a mark may have begun wait for what follows them.
            let tail = self.pending.len().saturating_sub(mark.len() - 1);
            let begun = self.pending[tail..].iter().position(|byte| Some(byte) == mark.first());
            let safe = begun.map_or(self.pending.len(), |at| tail + at);
            self.capture.push(&self.pending[..safe]);
            self.pending.drain(..safe);
            self.capture.has_space().await;
            if !self.read_chunk().await {
                return;
            }
        }
    }

    pub(crate) fn take_text(&mut self) -> String {
        let pending = std::mem::take(&mut self.pending);
        self.capture.push(&pending);
        self.capture.take_text()
    }

    /// Appends available bytes to `pending`. Returns false at the end of the stream.
    async fn read_chunk(&mut self) -> bool {
        let Some(reader) = &mut self.reader else { return false };
        self.pending.reserve(CHUNK_BYTES);
        match reader.read_buf(&mut self.pending).await {
            Ok(count) if 0 < count => true,
            Ok(_) | Err(_) => {
                self.reader = None;
                false
            }
        }
    }
}

/// Runs `work` to its end while its output is read, then waits [`OUTPUT_WAIT`] for the rest. The
/// wait is bounded because a process outside the group may hold the stream open.
pub(crate) async fn while_reading<T>(
    work: impl Future<Output = T>,
    reading: impl Future<Output = ((), ())>,
) -> T {
    tokio::pin!(work, reading);
    let done = tokio::select! {
        biased;
        done = &mut work => done,
        ((), ()) = &mut reading => return work.await,
    };
    // A timeout is ignored: the output read so far is kept.
    let _ = tokio::time::timeout(OUTPUT_WAIT, reading).await;
    done
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_output_is_left_out() {
        let mut capture = Capture::new(8, &Redactor::default());
        for chunk in [&b"ab"[..], b"cdef", b"ghijkl", b"m"] {
            capture.push(chunk);
        }
        assert_eq!(capture.take_text(), "abcd\n… 5 bytes left out …\njklm");
        assert_eq!(capture.take_text(), "");
    }

    #[test]
    fn secrets_are_taken_out_before_the_middle_is_left_out() {
        let credential = serde_json::json!({ "token": "hunter2-and-more" });
        let redactor = Redactor::of_credentials([credential.as_object().unwrap()]);
        for before in 0..40 {
            let mut capture = Capture::new(40, &redactor);
            let text = format!("{}hunter2-and-more{}", "-".repeat(before), "+".repeat(40 - before));
            for chunk in text.as_bytes().chunks(5) {
                capture.push(chunk);
            }
            let kept = capture.take_text();
            for part in ["hun", "nter", "r2", "and", "more"] {
                assert!(!kept.contains(part), "{before}: {kept}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let mut capture = Capture::new(8, &Redactor::default());
        capture.push(b"a\xffb");
        assert_eq!(capture.take_text(), "a\u{fffd}b");
    }

    #[tokio::test]
    async fn a_mark_is_found_wherever_the_chunks_part() {
        for split in 1..9 {
            let text = b"xyENDz123";
            let mut captured = Captured::new(text[..split].chain(&text[split..]));
            captured.read_to_mark(b"END").await;
            assert_eq!(captured.capture.take_text(), "xy", "split at {split}");
            captured.read_to_end().await;
            assert_eq!(captured.take_text(), "z123", "split at {split}");
        }
    }
}
