//! A Python process and the protocol to talk to it. The process runs the
//! calls of each execution in a fork.
//!
//! The standard input of the process is a socket that carries frames in both directions; standard
//! output and standard error belong to the script.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use noetl_isolation::Isolation;
use noetl_model::{
    ErrorKind, ExecutionId, LogStream, Logs, PAYLOAD_MAX, TooLarge, ToolError, Unmeasured,
};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{ChildStderr, ChildStdout, Command};

use super::{PythonResult, Raised, RunRequest};
use crate::process::capture::{Captured, while_reading};
use crate::process::group::{self, Group};
use crate::run::call::Call;
use crate::run::memory::{CallMemory, too_large};

/// The number of calls after which an interpreter is replaced.
const CALLS_MAX: u32 = 1000;
/// The maximum length of a reply: a payload and some overhead.
const REPLY_BYTES_MAX: usize = PAYLOAD_MAX + 64 * 1024;
/// The variable with the directories of modules.
const SEARCH_PATH: &str = "PYTHONPATH";
const START_WAIT: Duration = Duration::from_secs(30);
/// The wait for the end of a process that has stopped responding.
const END_WAIT: Duration = Duration::from_secs(1);

const RUNNER: &str = concat!(include_str!("runner.py"), "\n\n", include_str!("packages.py"));
/// The lines of the runner around the functions that compile code.
const COMPILATION: [&str; 2] = ["# --- Compilation ---", "# --- One call ---"];

/// Returns the functions of the runner that compile code, of which `compile_code(source, filename)` raises
/// what a step would fail with. They need the modules `ast`, `linecache` and `types`.
pub fn python_compilation() -> &'static str {
    let [begin, end] = COMPILATION;
    let rest = RUNNER.split_once(begin).map_or(RUNNER, |(_, rest)| rest);
    let rest = rest.split_once('\n').map_or(rest, |(_, rest)| rest);
    rest.split_once(end).map_or(rest, |(part, _)| part)
}

/// Reads the runner from standard input, so that it appears neither in a file nor in the process
/// list. Its own imports do not look into the working directory, where steps may have put files.
const BOOTSTRAP: &str = "import sys\n\
    sys.path[:] = [place for place in sys.path if place.startswith('/')]\n\
    exec(compile(sys.stdin.buffer.read(int(sys.argv[1])), '<noetl>', 'exec'))";

/// The first frame of a call.
#[derive(Serialize)]
struct CallHeader<'a> {
    mark: &'a str,
    /// The calls of a session share a fork: those of one execution.
    session: &'a str,
}

/// The settings that all interpreters share.
#[derive(Debug, Clone)]
pub(super) struct InterpreterSettings {
    pub(super) environment: BTreeMap<String, String>,
    pub(super) isolation: Isolation,
    /// True if code finds the packages that the user of the worker has installed for himself.
    pub(super) user_site: bool,
}

#[derive(Debug)]
pub(super) struct PythonInterpreter {
    group: Group,
    channel: UnixStream,
    stdout: Captured<ChildStdout>,
    stderr: Captured<ChildStderr>,
    /// A random number that makes the output marks of this process unique.
    token: u64,
    calls: u32,
    /// The execution of the last call.
    session: Option<ExecutionId>,
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

/// The first frame of a reply.
#[derive(Deserialize)]
struct InterpreterReply {
    end: ReplyEnd,
}

/// The last frame of a reply.
#[derive(Deserialize)]
struct CallLeftovers {
    /// True if no other process of the call is left.
    clean: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReplyEnd {
    /// The result follows as JSON in the next frame.
    Value,
    Error(Raised),
    /// The session that ran the call ended without an answer; the text describes how.
    Ended(String),
}

/// The end of a call in an interpreter that still works.
enum ExchangeEnd {
    Replied(PythonResult),
    Ended(String),
}

impl PythonInterpreter {
    pub(super) async fn start(
        program: &str,
        settings: &InterpreterSettings,
    ) -> Result<Self, ToolError> {
        let mut interpreter =
            Self::spawn(program, settings).map_err(|error| cannot_start(program, &error))?;
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

    fn spawn(program: &str, settings: &InterpreterSettings) -> io::Result<Self> {
        let InterpreterSettings { environment, isolation, .. } = settings;
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let processes = match (isolation.has_own_processes(), isolation.has_launcher()) {
            (true, _) => "own",
            (false, true) => "adopted",
            (false, false) => "shared",
        };
        // The search path of steps is for the sessions: steps may write to its directories.
        let mut environment = environment.clone();
        let search = environment.remove(SEARCH_PATH).unwrap_or_default();
        let user_site = if settings.user_site { "1" } else { "0" };
        let length = RUNNER.len().to_string();
        // `-s`: files in the home directory of the user are not run at the start.
        let arguments = ["-s", "-c", BOOTSTRAP, &length, processes, &search, user_site];
        let arguments = arguments.map(str::to_owned);
        let launched = isolation.command(program, &arguments, &environment, None)?;
        let mut command = Command::from(launched.into_parts().0);
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        let (group, stdout, stderr) = Group::spawn(command, isolation)?;
        Ok(Self {
            group,
            channel: UnixStream::from_std(ours)?,
            stdout,
            stderr,
            token: RandomState::new().hash_one(0),
            calls: 0,
            session: None,
            fitness: Fitness::Fit,
        })
    }

    pub(super) async fn run(&mut self, request: &RunRequest<'_>, call: &Call) -> CallResult {
        let (redactor, memory, cancel) = (&call.used.redactor(), &call.memory, &call.cancel);
        self.stdout.begin(redactor, call.live.stream(LogStream::Stdout));
        self.stderr.begin(redactor, call.live.stream(LogStream::Stderr));
        self.calls += 1;
        self.session = Some(call.execution);
        self.fitness = Fitness::Spent;
        let mark = format!("\u{1}noetl:{:x}:{}\u{1}", self.token, self.calls);
        let header = CallHeader { mark: &mark, session: &request.execution_id };
        let header = serde_json::to_vec(&header).expect("a header has only texts");
        let request = serde_json::to_vec(request).expect("a request has only text keys");
        let replied = tokio::select! {
            replied = self.exchange((&header, &request), mark.as_bytes(), memory) => replied,
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
                match end {
                    ExchangeEnd::Replied(end) => CallResult::Replied(end),
                    ExchangeEnd::Ended(how) => CallResult::Broke(how),
                }
            }
            Err(error) => CallResult::Broke(self.post_mortem(&error).await),
        }
    }

    /// True if the last call was one of this execution.
    pub(super) fn is_of(&self, execution: ExecutionId) -> bool {
        self.session == Some(execution)
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
        (header, request): (&[u8], &[u8]),
        mark: &[u8],
        memory: &CallMemory,
    ) -> io::Result<(bool, ExchangeEnd)> {
        let printing =
            async { tokio::join!(self.stdout.read_to_mark(mark), self.stderr.read_to_mark(mark)) };
        let replying = async {
            write_frame(&mut self.channel, header).await?;
            write_frame(&mut self.channel, request).await?;
            let InterpreterReply { end } =
                serde_json::from_slice(&read_frame(&mut self.channel).await?)?;
            let end = match end {
                ReplyEnd::Value => {
                    ExchangeEnd::Replied(read_value(&mut self.channel, memory).await?)
                }
                ReplyEnd::Error(raised) => ExchangeEnd::Replied(PythonResult::Error(raised)),
                ReplyEnd::Ended(how) => ExchangeEnd::Ended(how),
            };
            let CallLeftovers { clean } =
                serde_json::from_slice(&read_frame(&mut self.channel).await?)?;
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
