//! One Python process, and the conversation with it.
//!
//! Its standard input is a socket that carries frames both ways; its outputs are the script's own.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use noetl_model::{ErrorKind, Logs, PAYLOAD_MAX, ToolError};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{ChildStderr, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

use super::{End, Raised, Request};
use crate::capture::{Captured, while_reading};
use crate::group::{self, Group};
use crate::redactor::Redactor;

/// How many calls an interpreter serves before another takes its place.
const CALLS_MAX: u32 = 1000;
/// What a reply may measure: a payload and a little around it.
const REPLY_BYTES_MAX: usize = PAYLOAD_MAX + 64 * 1024;
const START_WAIT: Duration = Duration::from_secs(30);
/// How long a process that stopped talking may take to end.
const END_WAIT: Duration = Duration::from_secs(1);

const RUNNER: &str = include_str!("runner.py");
/// Reads the runner from standard input, so that neither a file nor the process list shows it.
const BOOTSTRAP: &str = "import sys\n\
    exec(compile(sys.stdin.buffer.read(int(sys.argv[1])), '<noetl>', 'exec'))";

#[derive(Debug)]
pub(super) struct Interpreter {
    group: Group,
    channel: UnixStream,
    stdout: Captured<ChildStdout>,
    stderr: Captured<ChildStderr>,
    /// Makes this process's marks unlike anything a script prints.
    token: u64,
    calls: u32,
    fitness: Fitness,
}

/// Whether an interpreter can take another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fitness {
    Fit,
    /// Its last call ended badly or left something behind.
    Spent,
}

/// How one call of an interpreter went.
pub(super) enum Talk {
    Replied(End),
    /// It was told to stop.
    Stopped,
    /// The process ended in the middle; this is how.
    Broke(String),
}

#[derive(Serialize)]
struct Marked<'a> {
    #[serde(flatten)]
    request: &'a Request<'a>,
    mark: &'a str,
}

#[derive(Deserialize)]
struct Reply {
    /// Whether the call left nothing behind.
    clean: bool,
    end: End,
}

impl Interpreter {
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
        request: &Request<'_>,
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Talk {
        self.stdout.redact(redactor);
        self.stderr.redact(redactor);
        self.calls += 1;
        self.fitness = Fitness::Spent;
        let mark = format!("\u{1}noetl:{:x}:{}\u{1}", self.token, self.calls);
        let request = serde_json::to_vec(&Marked { request, mark: &mark })
            .expect("a request has only text keys");
        let replied = tokio::select! {
            replied = self.exchange(&request, mark.as_bytes()) => replied,
            () = cancel.cancelled() => {
                self.kill().await;
                return Talk::Stopped;
            }
        };
        match replied {
            Ok(reply) => Talk::Replied(self.take_reply(&reply)),
            Err(error) => Talk::Broke(self.post_mortem(&error).await),
        }
    }

    fn take_reply(&mut self, reply: &[u8]) -> End {
        match serde_json::from_slice::<Reply>(reply) {
            Ok(reply) => {
                if reply.clean && self.calls < CALLS_MAX {
                    self.fitness = Fitness::Fit;
                }
                reply.end
            }
            Err(error) => End::Error(Raised {
                kind: ErrorKind::Parse,
                code: "UnreadableResult".into(),
                message: format!("the result cannot be read as JSON: {error}"),
                details: None,
            }),
        }
    }

    pub(super) fn is_fit(&mut self) -> bool {
        self.fitness == Fitness::Fit && !self.group.has_ended()
    }

    pub(super) fn take_logs(&mut self) -> Logs {
        Logs { stdout: self.stdout.take_text(), stderr: self.stderr.take_text() }
    }

    /// Sends a request and reads its reply, and meanwhile what is printed.
    async fn exchange(&mut self, request: &[u8], mark: &[u8]) -> io::Result<Vec<u8>> {
        let printing =
            async { tokio::join!(self.stdout.read_to_mark(mark), self.stderr.read_to_mark(mark)) };
        let replying = async {
            write_frame(&mut self.channel, request).await?;
            read_frame(&mut self.channel).await
        };
        while_reading(replying, printing).await
    }

    /// Ends the process and reads what it still had to say.
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
    let length = channel.read_u32().await? as usize;
    if REPLY_BYTES_MAX < length {
        return Err(io::Error::other(format!("a reply of {length} bytes")));
    }
    let mut body = vec![0; length];
    channel.read_exact(&mut body).await?;
    Ok(body)
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
