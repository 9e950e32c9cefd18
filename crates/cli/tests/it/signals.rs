//! Ctrl-C, SIGTERM, and two processes on one database.

use std::io::Read as _;
use std::time::{Duration, Instant};

use crate::playbooks::{HELLO, SLEEPING};
use crate::sandbox::{Sandbox, await_end, eventually, is_running, signal};

/// The longest time from the signal to the end of the process.
const CANCEL_MAX: Duration = Duration::from_secs(5);

fn status_of_last(sandbox: &Sandbox) -> String {
    let document = sandbox.json(&["executions", "get", "last", "-o", "json"]);
    document["status"].as_str().expect("every execution has a status").to_owned()
}

#[test]
fn the_first_ctrl_c_cancels_and_leaves_no_process_behind() {
    let sandbox = Sandbox::new().with("sleeping.yaml", SLEEPING);
    let mut run = sandbox.spawn(&["run", "sleeping.yaml"]);
    let sleep = sandbox.await_file("pid");
    let begun = Instant::now();
    signal(&run, "INT");
    assert_eq!(await_end(&mut run).code(), Some(130));
    assert!(begun.elapsed() < CANCEL_MAX, "took {:?}", begun.elapsed());
    assert!(!is_running(&sleep));
    assert_eq!(status_of_last(&sandbox), "CANCELLED");
    let mut said = String::new();
    run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.starts_with("cancelling; Ctrl-C again ends at once\ncancelled in "), "{said}");
}

#[test]
fn two_ctrl_cs_in_a_row_leave_no_process_behind_either() {
    let sandbox = Sandbox::new().with("sleeping.yaml", SLEEPING);
    let mut run = sandbox.spawn(&["run", "sleeping.yaml"]);
    let sleep = sandbox.await_file("pid");
    signal(&run, "INT");
    signal(&run, "INT");
    assert_eq!(await_end(&mut run).code(), Some(130));
    eventually("the sleep is gone", || !is_running(&sleep));
}

#[test]
fn an_execution_can_be_followed_from_another_process() {
    let sandbox = Sandbox::new().with("sleeping.yaml", SLEEPING);
    let mut run = sandbox.spawn(&["run", "sleeping.yaml"]);
    sandbox.await_file("pid");
    let follow = sandbox.spawn(&["executions", "events", "last", "--follow"]);
    signal(&run, "INT");
    await_end(&mut run);
    let followed = follow.wait_with_output().unwrap();
    let followed = String::from_utf8(followed.stdout).unwrap();
    let last = followed.lines().last().unwrap();
    assert!(last.contains("playbook.cancelled"), "{followed}");
}

#[test]
fn an_unfinished_execution_is_named_at_the_next_start() {
    let sandbox = Sandbox::new().with("sleeping.yaml", SLEEPING).with("hello.yaml", HELLO);
    let mut run = sandbox.spawn(&["run", "sleeping.yaml"]);
    let orphan = sandbox.await_file("pid");
    signal(&run, "KILL");
    await_end(&mut run);
    eventually("the sleep is gone", || !is_running(&orphan));
    let said = sandbox.noetl(&["run", "hello.yaml"]).stderr;
    assert!(said.starts_with("1 unfinished execution from earlier: being continued\n"), "{said}");
    let checks = sandbox.noetl(&["doctor"]).stdout;
    let unfinished = "warn  unfinished      1; `noetl resume` continues";
    assert!(checks.contains(unfinished), "{checks}");
}

#[test]
fn an_execution_that_was_stopped_is_continued() {
    let sandbox = Sandbox::new().with("sleeping.yaml", SLEEPING);
    let mut run = sandbox.spawn(&["run", "sleeping.yaml"]);
    let sleep = sandbox.await_file("pid");
    signal(&run, "TERM");
    assert_eq!(await_end(&mut run).code(), Some(143));
    assert!(!is_running(&sleep));
    assert_eq!(status_of_last(&sandbox), "RUNNING");

    std::fs::remove_file(sandbox.path("pid")).unwrap();
    let mut resume = sandbox.spawn(&["resume"]);
    let sleep = sandbox.await_file("pid");
    signal(&resume, "INT");
    assert_eq!(await_end(&mut resume).code(), Some(130));
    assert!(!is_running(&sleep));
    assert_eq!(status_of_last(&sandbox), "CANCELLED");
}

#[test]
fn an_execution_that_was_stopped_can_be_cancelled_without_running_it() {
    let sandbox = Sandbox::new().with("sleeping.yaml", SLEEPING);
    let mut run = sandbox.spawn(&["run", "sleeping.yaml"]);
    sandbox.await_file("pid");
    signal(&run, "TERM");
    await_end(&mut run);
    std::fs::remove_file(sandbox.path("pid")).unwrap();

    let ended = sandbox.noetl(&["executions", "cancel", "last", "--reason", "enough"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let document = sandbox.json(&["executions", "get", "last", "-o", "json"]);
    assert_eq!(document["status"], "CANCELLED");
    assert_eq!(document["reason"], "enough");
    assert!(!sandbox.path("pid").exists());
}

#[test]
fn a_second_process_reads_but_does_not_write() {
    let sandbox = Sandbox::new().with("sleeping.yaml", SLEEPING);
    let mut run = sandbox.spawn(&["run", "sleeping.yaml"]);
    sandbox.await_file("pid");
    assert_eq!(status_of_last(&sandbox), "RUNNING");
    let second = sandbox.noetl(&["run", "sleeping.yaml"]);
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains("another noetl process"), "{}", second.stderr);
    assert!(second.stderr.contains("--db PATH"), "{}", second.stderr);
    signal(&run, "INT");
    await_end(&mut run);
}
