//! The program as a child of the launcher: start, wait, and the end of everything it left behind.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus};

use fork::Fork;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, wait,
};

use super::LaunchFailure;
use crate::process_tree::kill_descendants;

/// The end of a program, as the raw status of `wait`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProgramEnd(i32);

impl ProgramEnd {
    pub(super) const SUCCESS: Self = Self(0);

    /// Ends this process like the program: with its exit code, or by the same signal.
    pub(super) fn imitate(self) -> ExitCode {
        let status = ExitStatus::from_raw(self.0);
        if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
            // The signal may be ignored here; the exit code then tells it in the shell's way.
            let _ignored = kill_process(getpid(), signal);
        }
        let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
        ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))
    }
}

/// Runs `inner` in the first process of the new process namespace and returns its end.
pub(super) fn in_first_process(
    inner: impl FnOnce() -> Result<ProgramEnd, LaunchFailure>,
) -> Result<ProgramEnd, LaunchFailure> {
    let (reader, writer) = rustix::pipe::pipe()
        .map_err(|error| LaunchFailure::of("cannot create a pipe")(error.into()))?;
    match fork::fork().map_err(LaunchFailure::of("cannot fork"))? {
        Fork::Child => {
            drop(reader);
            // The worker kills the launcher; this process and all others in the namespace follow.
            let _older_kernel = set_parent_process_death_signal(Some(Signal::KILL));
            let mut answer = File::from(writer);
            let text = match inner() {
                Ok(ProgramEnd(status)) => format!("+{status}"),
                Err(LaunchFailure(reason)) => format!("-{reason}"),
            };
            // Without a reader the launcher has been killed, and this process ends as well.
            let _killed = answer.write_all(text.as_bytes());
            std::process::exit(0);
        }
        Fork::Parent(_) => {
            drop(writer);
            release_streams();
            let mut text = String::new();
            let read = File::from(reader).read_to_string(&mut text);
            read.map_err(LaunchFailure::of("cannot read the end of the program"))?;
            let _reaped = wait(WaitOptions::empty());
            answer(&text)
        }
    }
}

fn answer(text: &str) -> Result<ProgramEnd, LaunchFailure> {
    match (text.strip_prefix('+').map(str::parse), text.strip_prefix('-')) {
        (Some(Ok(status)), _) => Ok(ProgramEnd(status)),
        (_, Some(reason)) => Err(LaunchFailure(reason.to_owned())),
        (_, None) => Err(LaunchFailure("the first process of the step was killed".to_owned())),
    }
}

/// Makes this process the parent of all processes that a program leaves behind.
pub(super) fn adopt_orphans() -> Result<(), LaunchFailure> {
    set_child_subreaper(Some(getpid()))
        .map_err(|error| LaunchFailure::of("cannot adopt orphans")(error.into()))
}

/// Kills and reaps everything that the program left behind.
pub(super) fn kill_orphans() {
    kill_descendants(std::process::id());
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
}

/// Starts the program and waits for it, and meanwhile reaps the processes it leaves behind.
pub(super) fn run_program(
    argv: &[OsString],
    environment: Vec<(OsString, OsString)>,
) -> Result<ProgramEnd, LaunchFailure> {
    let [program, arguments @ ..] = argv else {
        return Err(LaunchFailure("no program is named".into()));
    };
    let started = Command::new(program).args(arguments).env_clear().envs(environment).spawn();
    let child = started.map_err(|error| {
        LaunchFailure(format!("cannot start `{}`: {error}", program.to_string_lossy()))
    })?;
    release_streams();
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    loop {
        let ended = wait(WaitOptions::empty());
        match ended {
            Ok(Some((ended, status))) if Some(ended) == pid => {
                return Ok(ProgramEnd(status.as_raw()));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                return Err(LaunchFailure::of("cannot wait for the program")(error.into()));
            }
        }
    }
}

/// Closes the launcher's copies of the program's streams, so that their readers see their end.
fn release_streams() {
    let replaced = File::options().read(true).write(true).open("/dev/null").and_then(|null| {
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        Ok::<(), io::Error>(())
    });
    // Without /dev/null the streams stay open until the program ends.
    let _kept = replaced;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_program_is_reported_through_a_pipe() {
        assert_eq!(answer("+256").unwrap(), ProgramEnd(256));
        assert_eq!(answer("-no landlock").unwrap_err().0, "no landlock");
        assert!(answer("").is_err());
    }
}
