//! A Python process and the protocol to talk to it.
//!
//! The standard input of the process is a socket that carries frames in both directions; standard
//! output and standard error belong to the script.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use noetl_model::{ErrorKind, Logs, PAYLOAD_MAX, TooLarge, ToolError, Unmeasured};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{ChildStderr, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

use super::{PythonResult, Raised, RunRequest};
use crate::process::capture::{Captured, while_reading};
use crate::process::group::{self, Group};
use crate::protect::redactor::Redactor;
use crate::run::memory::{CallMemory, too_large};

/// The number of calls after which an interpreter is replaced.
const CALLS_MAX: u32 = 1000;
/// The maximum length of a reply: a payload and some overhead.
const REPLY_BYTES_MAX: usize = PAYLOAD_MAX + 64 * 1024;
const START_WAIT: Duration = Duration::from_secs(30);
/// How long to wait for a process to end after it stopped responding.
const END_WAIT: Duration = Duration::from_secs(1);

const RUNNER: &str = include_str!("runner.py");
/// Reads the runner from standard input, so that it appears neither in a file nor in the process
/// list.
const BOOTSTRAP: &str = "import sys\n\
    exec(compile(sys.stdin.buffer.read(int(sys.argv[1])), '<noetl>', 'exec'))";

#[derive(Debug)]
pub(super) struct PythonInterpreter {
    group: Group,
    channel: UnixStream,
    stdout: Captured<ChildStdout>,
    stderr: Captured<ChildStderr>,
    /// A random number that makes the output marks of this process unique.
    token: u64,
    calls: u32,
    fitness: Fitness,
}

/// The state of an interpreter after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fitness {
    Fit,
    /// Not to be reused: the last call failed or left threads or processes behind.
    Spent,
}

/// The result of one call to an interpreter.
pub(super) enum CallResult {
    Replied(PythonResult),
    /// The call was cancelled.
    Stopped,
    /// The process ended during the call; the text describes how.
    Broke(String),
}

#[derive(Serialize)]
struct Marked<'a> {
    #[serde(flatten)]
    request: &'a RunRequest<'a>,
    mark: &'a str,
}

/// The first frame of a reply.
#[derive(Deserialize)]
struct InterpreterReply {
    /// True if the call left no threads or processes behind.
    clean: bool,
    end: ReplyEnd,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReplyEnd {
    /// The result follows as JSON in the next frame.
    Value,
    Error(Raised),
}

impl PythonInterpreter {
    pub(super) async fn start(
        program: &str,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, ToolError> {
        let mut interpreter =
            Self::spawn(program, environment).map_err(|error| cannot_start(program, &error))?;
        let greeting = async {
            interpreter.channel.write_all(RUNNER.as_bytes()).await?;
            read_frame(&mut interpreter.channel).await
        };
        match tokio::time::timeout(START_WAIT, greeting).await {
            Ok(Ok(_)) => Ok(interpreter),
            Ok(Err(_)) | Err(_) => {
                interpreter.kill().await;
                let logs = interpreter.take_logs();
                let reason = logs.stderr.lines().last().unwrap_or("it does not answer").to_owned();
                Err(ToolError::new(
                    ErrorKind::Config,
                    format!("python: `{program}` does not work as Python 3.8 or later: {reason}"),
                ))
            }
        }
    }

    fn spawn(program: &str, environment: &BTreeMap<String, String>) -> io::Result<Self> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut command = Command::new(program);
        command
            .args(["-c", BOOTSTRAP, &RUNNER.len().to_string()])
            .env_clear()
            .envs(environment)
            .stdin(Stdio::from(OwnedFd::from(theirs)));
        let (group, stdout, stderr) = Group::spawn(command)?;
        Ok(Self {
            group,
            channel: UnixStream::from_std(ours)?,
            stdout,
            stderr,
            token: RandomState::new().hash_one(0),
            calls: 0,
            fitness: Fitness::Fit,
        })
    }

    pub(super) async fn run(
        &mut self,
        request: &RunRequest<'_>,
        (redactor, memory): (&Redactor, &CallMemory),
        cancel: &CancellationToken,
    ) -> CallResult {
        self.stdout.redact(redactor);
        self.stderr.redact(redactor);
        self.calls += 1;
        self.fitness = Fitness::Spent;
        let mark = format!("\u{1}noetl:{:x}:{}\u{1}", self.token, self.calls);
        let request = serde_json::to_vec(&Marked { request, mark: &mark })
            .expect("a request has only text keys");
        let replied = tokio::select! {
            replied = self.exchange(&request, mark.as_bytes(), memory) => replied,
            () = cancel.cancelled() => {
                self.kill().await;
                return CallResult::Stopped;
            }
        };
        match replied {
            Ok((clean, end)) => {
                if clean && self.calls < CALLS_MAX {
                    self.fitness = Fitness::Fit;
                }
                CallResult::Replied(end)
            }
            Err(error) => CallResult::Broke(self.post_mortem(&error).await),
        }
    }

    pub(super) fn is_fit(&mut self) -> bool {
        self.fitness == Fitness::Fit && !self.group.has_ended()
    }

    pub(super) fn take_logs(&mut self) -> Logs {
        Logs { stdout: self.stdout.take_text(), stderr: self.stderr.take_text() }
    }

    /// Sends a request and reads its reply and its output. Returns true if the call left nothing
    /// behind, and the end of the request.
    async fn exchange(
        &mut self,
        request: &[u8],
        mark: &[u8],
        memory: &CallMemory,
    ) -> io::Result<(bool, PythonResult)> {
        let printing =
            async { tokio::join!(self.stdout.read_to_mark(mark), self.stderr.read_to_mark(mark)) };
        let replying = async {
            write_frame(&mut self.channel, request).await?;
            let InterpreterReply { clean, end } =
                serde_json::from_slice(&read_frame(&mut self.channel).await?)?;
            let end = match end {
                ReplyEnd::Value => read_value(&mut self.channel, memory).await?,
                ReplyEnd::Error(raised) => PythonResult::Error(raised),
            };
            Ok((clean, end))
        };
        while_reading(replying, printing).await
    }

    /// Kills the process and reads its remaining output.
    async fn kill(&mut self) {
        let printing = async { tokio::join!(self.stdout.read_to_end(), self.stderr.read_to_end()) };
        while_reading(async { self.group.kill() }, printing).await;
    }

    async fn post_mortem(&mut self, error: &io::Error) -> String {
        let status = tokio::time::timeout(END_WAIT, self.group.wait()).await;
        self.kill().await;
        match status {
            Ok(Ok(status)) => group::describe(status).0,
            Ok(Err(_)) | Err(_) => format!("a broken conversation: {error}"),
        }
    }
}

async fn write_frame(channel: &mut UnixStream, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    channel.write_all(&length.to_be_bytes()).await?;
    channel.write_all(body).await
}

async fn read_frame(channel: &mut UnixStream) -> io::Result<Vec<u8>> {
    let length = read_length(channel).await?;
    read_body(channel, length).await
}

async fn read_length(channel: &mut UnixStream) -> io::Result<usize> {
    let length = channel.read_u32().await? as usize;
    if REPLY_BYTES_MAX < length {
        return Err(io::Error::other(format!("a reply of {length} bytes")));
    }
    Ok(length)
}

async fn read_body(channel: &mut UnixStream, length: usize) -> io::Result<Vec<u8>> {
    let mut body = vec![0; length];
    channel.read_exact(&mut body).await?;
    Ok(body)
}

/// Reads a result; memory is reserved before the text is read and before the value is built.
async fn read_value(channel: &mut UnixStream, memory: &CallMemory) -> io::Result<PythonResult> {
    let length = read_length(channel).await?;
    let refused = |limit: &TooLarge| {
        let ToolError { kind, message, .. } = too_large("the result", limit);
        PythonResult::Error(Raised { kind, code: "TooLarge".into(), message, details: None })
    };
    if let Err(limit) = memory.reserve(length).await {
        tokio::io::copy(&mut channel.take(length as u64), &mut tokio::io::sink()).await?;
        return Ok(refused(&limit));
    }
    let text = read_body(channel, length).await?;
    Ok(match memory.json(&text, 1).await {
        Ok(value) => PythonResult::Value(value),
        Err(Unmeasured::TooLarge(limit)) => refused(&limit),
        Err(Unmeasured::NotJson(error)) => PythonResult::Error(Raised {
            kind: ErrorKind::Parse,
            code: "UnreadableResult".into(),
            message: format!("the result cannot be read as JSON: {error}"),
            details: None,
        }),
    })
}

fn cannot_start(program: &str, error: &io::Error) -> ToolError {
    ToolError::new(
        ErrorKind::Config,
        format!(
            "python: cannot start `{program}`: {error}; install Python 3, or name the interpreter \
             in the variable NOETL_PYTHON or in the tool's `python` key"
        ),
    )
}
