//! A process that is killed repeatedly: completed steps stay completed, the rest is done later.

use std::time::Duration;

use serde_json::Value;

use crate::playbooks::chain;
use crate::sandbox::{MANY_ATTEMPTS, Sandbox, await_end, eventually, signal};

/// The number of processes killed before one may finish.
const KILLS: u64 = 6;

/// Returns the number of events of the only execution.
fn events(sandbox: &Sandbox) -> usize {
    sandbox.noetl(&["executions", "events", "last", "-o", "jsonl"]).stdout.lines().count()
}

#[test]
fn a_run_that_is_killed_at_any_moment_is_resumed_to_the_right_end() {
    let sandbox = Sandbox::new().with("chain.yaml", &chain());
    let mut command = vec!["run", "chain.yaml", "-q"];
    for kill in 0..KILLS {
        let before = events(&sandbox);
        let mut child = sandbox.spawn_with(&command, &[MANY_ATTEMPTS]);
        // On a busy machine the process may end before the first check.
        let mut is_done = false;
        eventually("something happens", || {
            is_done = child.try_wait().unwrap().is_some();
            is_done || events(&sandbox) > before
        });
        if is_done {
            break;
        }
        // Each kill is at a different moment of a step.
        std::thread::sleep(Duration::from_millis(kill * 17 % 50));
        signal(&child, "KILL");
        child.wait().unwrap();
        command = vec!["resume", "-q"];
    }
    let last = sandbox.spawn_with(&["resume", "last", "-q", "-o", "json"], &[MANY_ATTEMPTS]);
    let document: Value = serde_json::from_slice(&last.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(document["status"], "COMPLETED", "{document:#}");
    assert_eq!(document["output"]["total"], 190);
    let runs: Vec<&Value> =
        document["steps"].as_array().unwrap().iter().map(|step| &step["runs"]).collect();
    assert_eq!(runs, [1; 20]);
}

/// A step that kills its own process: the embedded worker is the parent of its shell.
const ENDS_ITS_WORKER: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: fatal, path: tests/fatal}
workflow:
  - step: start
    tool: {kind: shell, command: "echo begun >> ledger; kill -KILL $PPID; sleep 60"}
"#;

/// The user's settings. An isolated step cannot end its worker.
const SETTINGS: &str = ".config/noetl/noetl.toml";
const NO_ISOLATION: &str = "[isolation]\nmode = \"off\"\n";

/// Returns the number of attempts of the last execution's only command, and the execution.
fn attempts(sandbox: &Sandbox) -> (u64, Value) {
    let ledger = std::fs::read_to_string(sandbox.path("ledger")).expect("the step writes it");
    let document = sandbox.json(&["executions", "get", "last", "-o", "json"]);
    (u64::try_from(ledger.lines().count()).expect("a count fits"), document)
}

#[test]
fn a_command_whose_process_ends_three_times_fails_with_the_reason() {
    let sandbox = Sandbox::new().with("fatal.yaml", ENDS_ITS_WORKER).with(SETTINGS, NO_ISOLATION);
    let mut command = vec!["run", "fatal.yaml", "-q"];
    for _ in 0..3 {
        let ended = sandbox.noetl(&command);
        assert_eq!(ended.code, None, "the step ends its process: {}", ended.stderr);
        command = vec!["resume", "-q"];
    }
    let ended = sandbox.noetl(&command);
    assert_eq!(ended.code, Some(1), "the fourth process runs nothing: {}", ended.stderr);
    let (attempts, document) = attempts(&sandbox);
    assert_eq!((attempts, &document["status"]), (3, &Value::from("FAILED")), "{document:#}");
    let error = document["error"].to_string();
    assert!(error.contains("worker_lost"), "{error}");
    assert!(error.contains("ended or stopped answering 3 times"), "{error}");
}

#[test]
fn a_server_whose_worker_ends_it_three_times_fails_the_command() {
    let sandbox = Sandbox::new().with("fatal.yaml", ENDS_ITS_WORKER).with(SETTINGS, NO_ISOLATION);
    let ended = sandbox.noetl(&["run", "fatal.yaml", "-q"]);
    assert_eq!(ended.code, None, "{}", ended.stderr);
    let listen = ["server", "--listen", "127.0.0.1:0"];
    for _ in 0..2 {
        let mut server = sandbox.spawn(&listen);
        assert_eq!(await_end(&mut server).code(), None, "the step ends the server");
    }
    let server = sandbox.spawn(&listen);
    eventually("the execution ends", || {
        let document = sandbox.json(&["executions", "get", "last", "-o", "json"]);
        document["status"] == "FAILED"
    });
    signal(&server, "TERM");
    assert!(server.wait_with_output().unwrap().status.success());
    assert_eq!(attempts(&sandbox).0, 3);
}
