//! The tool `shell`: runs commands as processes.
//!
//! A command sees the inherited environment, `env` and the identifiers of the call, but not the
//! worker's secrets. Commands run in order, each in a new shell, until one fails.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use async_trait::async_trait;
use noetl_isolation::Isolation;
use noetl_model::{ErrorKind, LogStream, Logs, ToolError};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, Command};

use crate::process::capture::{Printed, while_reading};
use crate::process::group::{self, Group};
use crate::protect::redactor::Redactor;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::ToolConfig;

pub(crate) struct Shell {
    environment: BTreeMap<String, String>,
    isolation: Isolation,
}

/// The commands of a call, with their environment and input.
pub(crate) struct ShellCommands {
    /// The name of the tool, for messages.
    pub(crate) tool: &'static str,
    /// The program and arguments of each command.
    pub(crate) commands: Vec<Vec<String>>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) stdin: Option<String>,
}

impl Shell {
    pub(crate) fn new(environment: BTreeMap<String, String>, isolation: Isolation) -> Self {
        Self { environment, isolation }
    }

    /// Runs the commands in order until one fails.
    pub(crate) async fn run_script(
        &self,
        script: &ShellCommands,
        call: &Call,
    ) -> Result<ToolResult, ToolError> {
        let redactor = call.used.redactor();
        // Output is redacted before it is added.
        let mut printed = Printed::new(&Redactor::default());
        for argv in &script.commands {
            let Some(status) =
                self.run_command(script, argv, call, &redactor, &mut printed).await?
            else {
                return Ok(ToolResult::stopped(printed.take()));
            };
            if !status.success() {
                return Ok(failed(argv, status, printed.take(), &redactor));
            }
        }
        let logs = printed.take();
        Ok(ToolResult::completed(output(0, &logs)).with_logs(logs))
    }

    /// Runs one command to its end and adds its output to `printed`. Returns `None` if it was
    /// cancelled.
    async fn run_command(
        &self,
        script: &ShellCommands,
        argv: &[String],
        call: &Call,
        redactor: &Redactor,
        printed: &mut Printed,
    ) -> Result<Option<std::process::ExitStatus>, ToolError> {
        let environment = self.environment(script, call);
        let (command, refusal) = self
            .isolation
            .command(&argv[0], &argv[1..], &environment, script.cwd.as_deref())
            .map_err(|error| cannot_start(script.tool, &argv[0], &error))?
            .into_parts();
        let mut command = Command::from(command);
        command.stdin(if script.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        let (mut group, mut stdout, mut stderr) = Group::spawn(command, &self.isolation)
            .map_err(|error| cannot_start(script.tool, &argv[0], &error))?;
        stdout.begin(redactor, call.live.stream(LogStream::Stdout));
        stderr.begin(redactor, call.live.stream(LogStream::Stderr));
        let stdin = group.take_stdin();

        let text = script.stdin.as_deref().unwrap_or_default();
        let ending = async {
            tokio::select! {
                status = group.wait() => Some(status),
                () = call.cancel.cancelled() => { group.kill(); None }
            }
        };
        let running = async {
            tokio::pin!(ending);
            tokio::select! {
                status = &mut ending => status,
                () = feed(stdin, text) => ending.await,
            }
        };
        let reading = async { tokio::join!(stdout.read_to_end(), stderr.read_to_end()) };
        let status = while_reading(running, reading).await;
        printed.stdout.push(stdout.take_text().as_bytes());
        let stderr = stderr.take_text();
        if let Some(Ok(status)) = &status
            && let Some(reason) = refusal.reason(status.code(), &stderr)
        {
            return Err(refused(script.tool, &reason));
        }
        printed.stderr.push(stderr.as_bytes());
        status.transpose().map_err(|error| {
            let message = format!("{}: cannot wait for a process: {error}", script.tool);
            ToolError::new(ErrorKind::Unknown, message)
        })
    }
}

impl Shell {
    /// Returns the environment of a command.
    fn environment(&self, script: &ShellCommands, call: &Call) -> BTreeMap<String, String> {
        // Programs in Python print to a pipe in large blocks unless they are told not to.
        let mut environment = BTreeMap::from([("PYTHONUNBUFFERED".to_owned(), "1".to_owned())]);
        environment.extend(self.environment.clone());
        environment.extend(call.environment().map(|(name, value)| (name.to_owned(), value)));
        environment.extend(script.env.iter().cloned());
        environment
    }
}

#[async_trait]
impl Tool for Shell {
    async fn run(&self, call: &Call) -> ToolResult {
        match ShellCommands::read(ToolConfig::of_call("shell", call)) {
            Ok(script) => self.run_script(&script, call).await.into(),
            Err(error) => ToolResult::failed(error),
        }
    }
}

impl ShellCommands {
    fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        let shell = keys.text(&["shell"])?.unwrap_or_else(|| "sh".into());
        Ok(Self {
            tool: "shell",
            commands: commands(keys, &shell)?,
            cwd: keys.directory(&["cwd"])?,
            env: keys.texts(&["env"])?,
            stdin: stdin(keys),
        })
    }
}

/// Reads the commands. A `command` string runs in the shell, a `command` list is a program with its
/// arguments; each item of `cmds` runs in the shell.
fn commands(keys: ToolConfig<'_>, shell: &str) -> Result<Vec<Vec<String>>, ToolError> {
    let in_shell = |text: String| vec![shell.to_owned(), "-c".to_owned(), text];
    let (key, value) = keys
        .find(&["command", "cmds"])
        .ok_or_else(|| keys.error("`command` or `cmds` is missing"))?;
    let texts = match value {
        Value::String(text) => return Ok(vec![in_shell(text.clone())]),
        Value::Array(items) => items
            .iter()
            .map(|item| {
                crate::run::keys::scalar_text(item)
                    .ok_or_else(|| keys.wrong(key, "a list of texts", item))
            })
            .collect::<Result<Vec<String>, ToolError>>()?,
        other => return Err(keys.wrong(key, "a text or a list of texts", other)),
    };
    if texts.is_empty() {
        return Err(keys.error(format!("`{key}` is empty")));
    }
    Ok(if key == "command" { vec![texts] } else { texts.into_iter().map(in_shell).collect() })
}

/// Reads the input: a string as it is, any other value as JSON.
fn stdin(keys: ToolConfig<'_>) -> Option<String> {
    keys.value(&["stdin"]).map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

async fn feed(stdin: Option<ChildStdin>, text: &str) {
    if let Some(mut stdin) = stdin
        && let Err(error) = stdin.write_all(text.as_bytes()).await
    {
        // A process may end without reading all of its input.
        tracing::debug!(%error, "a command closed its standard input early");
    }
}

fn cannot_start(tool: &str, program: &str, error: &std::io::Error) -> ToolError {
    let hint = if program.contains(' ') {
        "; as a list, `command` is a program and its arguments: use `cmds` for several commands"
    } else {
        ""
    };
    ToolError::new(ErrorKind::Config, format!("{tool}: cannot start `{program}`: {error}{hint}"))
}

fn refused(tool: &str, reason: &str) -> ToolError {
    let message = format!("{tool}: the program was not started: {reason}");
    ToolError::new(ErrorKind::Config, message)
}

fn output(exit_code: i32, logs: &Logs) -> Value {
    json!({"exit_code": exit_code, "stdout": logs.stdout, "stderr": logs.stderr})
}

fn failed(
    argv: &[String],
    status: std::process::ExitStatus,
    logs: Logs,
    redactor: &Redactor,
) -> ToolResult {
    let (ending, exit_code) = group::describe(status);
    let last_line = logs.stderr.lines().rev().find(|line| !line.trim().is_empty());
    let reason = last_line.map(|line| format!(": {}", line.trim())).unwrap_or_default();
    let message = format!("`{}` ended with {ending}{reason}", first_line(argv, redactor));
    let error = ToolError::new(ErrorKind::Exception, message).with_code(exit_code.to_string());
    ToolResult::failed_with(error, output(exit_code, &logs)).with_logs(logs)
}

/// Returns the first line of a command for messages, with secrets removed.
fn first_line(argv: &[String], redactor: &Redactor) -> String {
    let text = match argv {
        [_, flag, script] if flag == "-c" => script.clone(),
        _ => argv.join(" "),
    };
    let text = redactor.text(&text);
    let line = text.trim().lines().next().unwrap_or_default();
    let cut: String = line.chars().take(60).collect();
    if cut.len() < text.trim().len() { format!("{cut}…") } else { cut }
}

#[cfg(test)]
mod tests;
