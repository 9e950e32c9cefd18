//! The output that tools print while they run, in chunks.
//!
//! A chunk is identified by the attempt that printed it and by its index, so a repeated delivery
//! changes nothing.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Attempt, CommandId, ExecutionId, Held, Lease, StepName, Timestamp};

/// The most bytes of text in one chunk.
pub const LOG_CHUNK_MAX: usize = 64 * 1024;
/// The most bytes of the end of an output that are stored beyond the limit of a command.
pub const LOG_TAIL_MAX: usize = 64 * 1024;

/// An output stream of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogStream {
    Stdout,
    Stderr,
}

impl LogStream {
    pub const ALL: [Self; 2] = [Self::Stdout, Self::Stderr];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

impl fmt::Display for LogStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error of a name that is not an output stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an output stream; there are stdout and stderr")]
pub struct UnknownLogStream(pub String);

impl FromStr for LogStream {
    type Err = UnknownLogStream;

    fn from_str(name: &str) -> Result<Self, UnknownLogStream> {
        let mut streams = Self::ALL.into_iter();
        streams.find(|it| it.as_str() == name).ok_or_else(|| UnknownLogStream(name.to_owned()))
    }
}

/// The attempt of a command that printed something, with the names that people know it by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSource {
    pub execution: ExecutionId,
    pub command: CommandId,
    pub attempt: Attempt,
    pub step: StepName,
    /// The task's name in its pipeline; the step's name for a single tool.
    pub label: String,
    /// The index of the loop item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// The number of this attempt among all attempts and retries of its task, from 1.
    pub number: u32,
}

impl LogSource {
    pub fn held(&self) -> Held {
        Held { execution: self.execution, command: self.command, attempt: self.attempt }
    }
}

impl From<&Lease> for LogSource {
    fn from(lease: &Lease) -> Self {
        Self {
            execution: lease.execution,
            command: lease.command,
            attempt: lease.attempt,
            step: lease.step.clone(),
            label: lease.label.clone(),
            item: lease.item,
            number: lease.key_attempt,
        }
    }
}

/// The part of an output that was dropped before a chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OmittedOutput {
    pub lines: u64,
    pub bytes: u64,
}

impl OmittedOutput {
    pub fn is_none(&self) -> bool {
        self.bytes == 0
    }

    /// Adds dropped bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.bytes += bytes.len() as u64;
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { lines: self.lines + other.lines, bytes: self.bytes + other.bytes }
    }
}

/// A piece of the output of a running tool. A text that does not end with a line break is continued
/// by the next chunk of its stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChunk {
    /// The number of the chunk among all chunks of its attempt, from 0.
    pub index: u64,
    pub stream: LogStream,
    /// The time between printing and sending, in milliseconds.
    #[serde(default)]
    pub age_ms: u64,
    pub text: String,
    #[serde(default, skip_serializing_if = "OmittedOutput::is_none")]
    pub omitted: OmittedOutput,
    /// True for the chunks that are sent once the attempt has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_end: bool,
}

/// Chunks of one attempt, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogBatch {
    pub source: LogSource,
    pub chunks: Vec<LogChunk>,
}

/// The answer to a batch of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogAnswer {
    /// All chunks are stored, now or by an earlier delivery.
    Stored,
    /// A limit is reached: only the first `kept` chunks are stored. The end of the output is still
    /// accepted, at most [`LOG_TAIL_MAX`] bytes.
    Full { kept: usize },
    /// There is no such execution, or logs are not stored; nothing more should be sent.
    Unknown,
}

/// A chunk as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLog {
    /// The number of the chunk among all chunks of its execution, from 1, in the order of arrival.
    pub position: u64,
    pub source: LogSource,
    pub stream: LogStream,
    /// The time of printing, by the store's clock.
    pub at: Timestamp,
    pub text: String,
    pub omitted: OmittedOutput,
    /// True if the command had ended or was leased again when the chunk arrived.
    pub is_late: bool,
}
