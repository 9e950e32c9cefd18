//! A child process together with all processes it starts, in one process group.
//!
//! Invariant: dropping a [`Group`] kills every process in it, and so does the end of this process.
//! A process that leaves the group by starting its own session is killed only if the program was
//! started by a launcher.

mod watchdog;

use std::io;
use std::process::{ExitStatus, Stdio};

use noetl_isolation::Isolation;
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessGroup};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::process::capture::Captured;
use watchdog::WatchedGroup;

/// A process group whose leader is a child of this process.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Box<dyn ChildWrapper>,
    /// Prevents a kill after the leader has ended: the group's number may then be reused.
    state: GroupState,
    /// The reach of a kill.
    reach: KillReach,
    /// The watchdog registration; removed when the group has ended.
    watched: Option<WatchedGroup>,
}

/// The processes that a kill reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KillReach {
    /// The group; in a process namespace, everything in it.
    Group,
    /// The group, and all descendants of its leader, a launcher without a process namespace.
    Descendants,
}

#[derive(Debug, PartialEq, Eq)]
enum GroupState {
    Running,
    Ended,
}

impl Group {
    /// Starts `command` as the leader of a new group and captures its output streams.
    pub(crate) fn spawn(
        mut command: Command,
        isolation: &Isolation,
    ) -> io::Result<(Self, Captured<ChildStdout>, Captured<ChildStderr>)> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut leader = CommandWrap::from(command).wrap(ProcessGroup::leader()).spawn()?;
        let stdout = leader.stdout().take().expect("stdout is piped");
        let stderr = leader.stderr().take().expect("stderr is piped");
        let watched = leader.id().map(WatchedGroup::new);
        let reach = match isolation.has_launcher() && !isolation.has_own_processes() {
            true => KillReach::Descendants,
            false => KillReach::Group,
        };
        let group = Self { leader, state: GroupState::Running, reach, watched };
        Ok((group, Captured::new(stdout), Captured::new(stderr)))
    }

    pub(crate) fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.leader.stdin().take()
    }

    /// Waits for the leader, then kills the remaining processes of the group.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.leader.wait().await;
        self.kill();
        self.state = GroupState::Ended;
        self.watched = None;
        status
    }

    /// True if the leader has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.leader.try_wait(), Ok(None))
    }

    pub(crate) fn kill(&mut self) {
        if self.state == GroupState::Ended {
            return;
        }
        if let (KillReach::Descendants, Some(leader)) = (self.reach, self.leader.id()) {
            noetl_isolation::kill_descendants(leader);
        }
        if let Err(error) = self.leader.start_kill() {
            // Usually the whole group has already ended.
            tracing::trace!(%error, "process group not killed");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns a description of an exit status and its number in the shell's convention.
pub(crate) fn describe(status: ExitStatus) -> (String, i32) {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => (format!("exit code {code}"), code),
        (None, Some(signal)) => (format!("signal {signal}"), 128 + signal),
        (None, None) => ("an unknown status".into(), -1),
    }
}
