//! The processes below a process, found in `/proc`.

use std::collections::BTreeSet;
use std::fs;

/// The rounds in which descendants are killed; each finds the processes that were started while the
/// round before ran.
const ROUNDS_MAX: usize = 50;

/// Returns the children, grandchildren and so on of a process.
pub fn descendants(pid: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = children.split_whitespace().filter_map(|child| child.parse().ok());
            open.extend(children.filter(|child| found.insert(*child)));
        }
    }
    found
}

/// Kills all descendants of a process, until there is none. A process that adopts orphans
/// (a subreaper) loses none of its descendants to other processes meanwhile.
#[cfg(target_os = "linux")]
pub fn kill_descendants(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    for _ in 0..ROUNDS_MAX {
        let mut alive = 0;
        for child in descendants(pid) {
            let Some(child) = i32::try_from(child).ok().and_then(Pid::from_raw) else { continue };
            if is_zombie(child.as_raw_nonzero().get()) {
                continue;
            }
            alive += 1;
            // A process that has ended meanwhile needs no signal.
            let _gone = kill_process(child, Signal::KILL);
        }
        if alive == 0 {
            return;
        }
        std::thread::yield_now();
    }
}

#[cfg(not(target_os = "linux"))]
pub fn kill_descendants(_pid: u32) {}

#[cfg(target_os = "linux")]
fn is_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with('Z'))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_of_another_session_is_found_and_killed() {
        let mut shell = Command::new("sh")
            .args(["-c", "setsid sleep 1000 & echo; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = shell.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
        assert!(!descendants(shell.id()).is_empty());
        kill_descendants(shell.id());
        assert!(shell.wait().is_ok(), "the shell waits for its child and ends");
    }
}
