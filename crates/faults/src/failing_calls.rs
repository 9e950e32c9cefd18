//! System calls of a running program that fail, by strace.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The failure of system calls on some files.
#[derive(Debug, Clone, Copy)]
pub struct CallFault {
    /// The names of the calls, separated by commas.
    pub calls: &'static str,
    /// The name of the error, such as `EIO`.
    pub error: &'static str,
    /// Every n-th of these calls fails, beginning with the n-th.
    pub every: u32,
}

impl CallFault {
    /// The calls that write to a file or flush it.
    pub const WRITES: &'static str = "write,pwrite64,fsync,fdatasync,ftruncate,fallocate";

    /// Returns the option of strace.
    pub(crate) fn option(&self) -> String {
        let Self { calls, error, every } = self;
        format!("inject={calls}:error={error}:when={every}+{every}")
    }
}

/// A program whose system calls fail until this value is dropped.
#[derive(Debug)]
pub struct FailingCalls {
    strace: Child,
}

impl FailingCalls {
    /// Lets calls of a process on the given files fail. Returns the reason if processes cannot be
    /// traced here.
    pub fn inject(process: u32, files: &[&Path], fault: CallFault) -> Result<Self, String> {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-p", &process.to_string(), "-o", "/dev/null", "-e"]);
        strace.arg(format!("trace={}", fault.calls)).arg("-e").arg(fault.option());
        for file in files {
            strace.arg("-P").arg(file);
        }
        let mut strace = strace
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("strace does not run: {error}"))?;
        let said = BufReader::new(strace.stderr.take().expect("it is piped"));
        let mut seen = String::new();
        for line in said.lines().map_while(Result::ok) {
            if line.contains(" attached") {
                return Ok(Self { strace });
            }
            seen.push_str(&line);
        }
        let _ended = strace.wait();
        Err(seen)
    }
}

impl Drop for FailingCalls {
    fn drop(&mut self) {
        // strace detaches from the process when it is interrupted.
        let process = self.strace.id().to_string();
        let _sent = Command::new("kill").args(["-INT", &process]).status();
        let _ended = self.strace.wait();
    }
}
