//! Kills the process groups of tools if this process ends without doing so, for example when it is
//! killed.
//!
//! A single shell reads a pipe that only this process writes to. The groups are announced on the
//! pipe; when the pipe is closed, this process has ended and the shell kills the groups.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The watchdog's shell script, which keeps the groups as blank-separated numbers. It ignores the
/// signals by which a terminal ends this process, so that it does not end first.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
groups=' '
while read -r verb group; do
  case $verb in
    add) groups="$groups$group " ;;
    end) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
  esac
done
for group in $groups; do kill -9 "-$group" 2>/dev/null; done
"#;

static WATCHDOG: Mutex<Option<Child>> = Mutex::new(None);

/// A group that is killed when this process ends. Dropping it removes the registration.
#[derive(Debug)]
pub(super) struct WatchedGroup {
    group: u32,
}

impl WatchedGroup {
    pub(super) fn new(group: u32) -> Self {
        tell(&format!("add {group}\n"));
        Self { group }
    }
}

impl Drop for WatchedGroup {
    fn drop(&mut self) {
        tell(&format!("end {}\n", self.group));
    }
}

/// Writes a line to the watchdog and starts it if necessary. Tools also run if that fails.
fn tell(line: &str) {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = write(&mut watchdog, line) {
        tracing::warn!(%error, "processes of tools would outlive a kill of this one");
        *watchdog = None;
    }
}

fn write(watchdog: &mut Option<Child>, line: &str) -> io::Result<()> {
    let child = match watchdog {
        Some(child) => child,
        None => watchdog.insert(start()?),
    };
    child.stdin.as_mut().expect("its input is piped").write_all(line.as_bytes())
}

fn start() -> io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", SCRIPT, "noetl-watchdog"])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the script on these lines, with a `kill` that prints its arguments.
    #[track_caller]
    fn check(lines: &str, expected: &str) {
        let script = format!("kill() {{ echo \"$*\"; }}\n{SCRIPT}");
        let mut shell = Command::new("/bin/sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let output = shell.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{lines}");
    }

    #[test]
    fn only_groups_that_are_left_are_ended() {
        check("", "");
        check("add 12\n", "-9 -12\n");
        check("add 12\nadd 1\nadd 2\nend 12\n", "-9 -1\n-9 -2\n");
        check("add 1\nadd 2\nadd 3\nend 2\nend 7\n", "-9 -1\n-9 -3\n");
        check("add 1\nend 1\n", "");
    }
}
