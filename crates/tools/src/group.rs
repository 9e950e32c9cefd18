//! A child process with everything it starts: a process group that ends as one.
//!
//! Invariant: dropping a [`Group`] kills every process in it, and so does the end of this process. A process that leaves the group by
//! making its own session is out of reach.

mod watchdog;

use std::io;
use std::process::{ExitStatus, Stdio};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::capture::Captured;
use watchdog::Watched;

/// A process group, led by a child of ours.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Box<dyn ChildWrapper>,
    /// Once its leader is gone, a group's number may be given to another.
    state: State,
    /// Until the group has ended.
    watched: Option<Watched>,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Running,
    Ended,
}

impl Group {
    /// Starts `command` as the leader of a new group, with its outputs captured.
    pub(crate) fn spawn(
        mut command: Command,
    ) -> io::Result<(Self, Captured<ChildStdout>, Captured<ChildStderr>)> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut leader = CommandWrap::from(command).wrap(ProcessGroup::leader()).spawn()?;
        let stdout = leader.stdout().take().expect("stdout is piped");
        let stderr = leader.stderr().take().expect("stderr is piped");
        let watched = leader.id().map(Watched::new);
        let group = Self { leader, state: State::Running, watched };
        Ok((group, Captured::new(stdout), Captured::new(stderr)))
    }

    pub(crate) fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.leader.stdin().take()
    }

    /// Waits for the leader, then ends what it left behind.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.leader.wait().await;
        self.kill();
        self.state = State::Ended;
        self.watched = None;
        status
    }

    /// Whether the leader has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.leader.try_wait(), Ok(None))
    }

    pub(crate) fn kill(&mut self) {
        if self.state == State::Ended {
            return;
        }
        if let Err(error) = self.leader.start_kill() {
            // The usual reason is that the whole group has ended already.
            tracing::trace!(%error, "process group not killed");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a process ended, in words and as a shell would number it.
pub(crate) fn describe(status: ExitStatus) -> (String, i32) {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => (format!("exit code {code}"), code),
        (None, Some(signal)) => (format!("signal {signal}"), 128 + signal),
        (None, None) => ("an unknown status".into(), -1),
    }
}
