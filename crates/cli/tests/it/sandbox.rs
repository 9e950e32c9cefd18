//! A home directory for each test, and the binary running in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Timeout of every wait in a test.
const PATIENCE: Duration = Duration::from_secs(30);

/// For processes that are killed at random moments: the limit on attempts is not under test.
pub(crate) const MANY_ATTEMPTS: (&str, &str) = ("NOETL_COMMAND_ATTEMPTS_MAX", "1000");

/// An empty home directory, also the working directory of commands.
pub(crate) struct Sandbox {
    home: TempDir,
}

/// The output and exit code of a command.
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes a file into the home and returns the sandbox, for chaining.
    pub(crate) fn with(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        let directory = path.parent().expect("the home at least");
        std::fs::create_dir_all(directory).expect("the home is ours");
        std::fs::write(path, text).expect("the home is ours");
        self
    }

    /// Returns the binary with an environment that has nothing from this machine's user.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_noetl"));
        command
            .args(args)
            .current_dir(self.home.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").expect("a path"))
            .env("HOME", self.home.path())
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn noetl(&self, args: &[&str]) -> Ended {
        Ended::from(self.command(args).output().expect("the binary runs"))
    }

    /// Runs a command that prints JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ended = self.noetl(args);
        serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}\n{}{}", ended.stdout, ended.stderr))
    }

    /// Starts a command without waiting.
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.spawn_with(args, &[])
    }

    /// Starts a command with environment variables, without waiting.
    pub(crate) fn spawn_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Child {
        let mut command = self.command(args);
        command.envs(variables.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")
    }

    /// Waits until a file of the home has a complete line.
    pub(crate) fn await_file(&self, name: &str) -> String {
        let path = self.path(name);
        let mut text = String::new();
        eventually(&format!("{name} is written"), || {
            text = std::fs::read_to_string(&path).unwrap_or_default();
            text.ends_with('\n')
        });
        text
    }

    /// Replaces everything in a text that differs from run to run.
    pub(crate) fn normal(&self, text: &str) -> String {
        let home = self.home.path().display().to_string();
        let mut text = text.replace(&home, "HOME");
        for (from, to) in [(is_id as fn(&str) -> bool, "ID"), (is_time, "TIME"), (is_took, "0.0")] {
            text = words(&text, |word| if from(word) { to } else { word });
        }
        text
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
            code: output.status.code(),
        }
    }
}

/// Sends a signal by its name.
pub(crate) fn signal(child: &Child, name: &str) {
    let (name, pid) = (format!("-{name}"), child.id().to_string());
    let status = Command::new("kill").args([name, pid]).status();
    assert!(status.expect("kill runs").success());
}

/// Waits for a process that should end by itself.
pub(crate) fn await_end(child: &mut Child) -> ExitStatus {
    eventually("the process ends", || child.try_wait().expect("it is ours").is_some());
    child.wait().expect("it is ours")
}

/// True if a process is running; a zombie is not.
pub(crate) fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Polls until a condition holds.
pub(crate) fn eventually(what: &str, holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    let mut holds = holds;
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Replaces words: letters, digits and the punctuation of numbers and times.
fn words<'a>(text: &'a str, replace: impl Fn(&'a str) -> &'a str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || ".:-".contains(c);
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        out.push_str(if is_word(first) { replace(run) } else { run });
        rest = after;
    }
    out
}

fn is_id(word: &str) -> bool {
    word.len() == 18 && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_time(word: &str) -> bool {
    let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    ["00:00:00", "00:00:00.000", "0000-00-00"].contains(&shape.as_str())
}

fn is_took(word: &str) -> bool {
    let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0.0"
}
