//! Shutdown: running work is finished if possible, and released if not.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::playbooks::SLEEPING;
use crate::sandbox::{Sandbox, await_end, eventually, is_running, signal};
use crate::server::{Process, Server};

/// A step that writes its process id and waits for a file before it ends.
const PATIENT: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: patient, path: tests/patient}
workflow:
  - step: start
    tool: {kind: shell, command: \"echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done; echo done\"}
";

fn start(server: &Server, text: &str, path: &str) -> String {
    server.call("POST", "/api/catalog/register", &json!({ "content": text }));
    let started = server.call("POST", "/api/execute", &json!({ "path": path }));
    started["execution_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
}

#[test]
fn a_server_asked_to_end_finishes_its_running_commands() {
    let sandbox = Sandbox::new();
    let mut server = Server::new(&sandbox, &["--db", "history.db"]);
    start(&server, PATIENT, "tests/patient");
    sandbox.await_file("pid");
    signal(&server.process.0, "TERM");
    std::fs::write(sandbox.path("go"), "").expect("the home is ours");
    assert_eq!(await_end(&mut server.process.0).code(), Some(0));
    let kept = sandbox.json(&["status", "--db", "history.db", "-o", "json"]);
    assert_eq!(kept["status"], "COMPLETED", "{kept}");
}

#[test]
fn a_second_signal_ends_a_server_at_once() {
    let sandbox = Sandbox::new();
    let mut server = Server::new(&sandbox, &["--db", "history.db"]);
    start(&server, SLEEPING, "sleeping");
    let sleep = sandbox.await_file("pid");
    let begun = Instant::now();
    signal(&server.process.0, "TERM");
    signal(&server.process.0, "TERM");
    eventually("it hears both", || {
        if server.process.0.try_wait().expect("it is ours").is_none() {
            signal(&server.process.0, "TERM");
        }
        server.process.0.try_wait().expect("it is ours").is_some()
    });
    assert_eq!(await_end(&mut server.process.0).code(), Some(143));
    assert!(begun.elapsed() < Duration::from_secs(5), "took {:?}", begun.elapsed());
    eventually("the sleep is gone", || !is_running(&sleep));
}

#[test]
fn a_worker_that_cannot_finish_gives_its_command_back_for_another() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &["--db", "history.db", "--no-worker"]);
    let url = server.url();
    let worker = |drain: &str| {
        let mut command = sandbox.command(&["worker", "--server", &url]);
        Process(command.env("NOETL_WORKER_DRAIN_SECONDS", drain).spawn().expect("it runs"))
    };
    let first = worker("0");
    let id = start(&server, PATIENT, "tests/patient");
    sandbox.await_file("pid");
    assert_eq!(first.end(), Some(0));
    std::fs::remove_file(sandbox.path("pid")).expect("the first wrote it");
    let begun = Instant::now();
    let second = worker("10");
    sandbox.await_file("pid");
    // Without a release, the command would wait until its lease of 30 s expires.
    assert!(begun.elapsed() < Duration::from_secs(15), "took {:?}", begun.elapsed());
    std::fs::write(sandbox.path("go"), "").expect("the home is ours");
    eventually("it is completed", || {
        let status = server.call("GET", &format!("/api/executions/{id}/status"), &Value::Null);
        status["status"] == "COMPLETED"
    });
    assert_eq!(second.end(), Some(0));
}

#[test]
fn the_children_of_a_process_that_is_killed_die_with_it() {
    let sandbox = Sandbox::new().with("sleeping.yaml", SLEEPING_ALONE);
    let mut run = sandbox.spawn(&["run", "sleeping.yaml"]);
    let sleep = sandbox.await_file("pid");
    signal(&run, "KILL");
    await_end(&mut run);
    eventually("the sleep is gone", || !is_running(&sleep));
}

/// A step whose own process sleeps.
const SLEEPING_ALONE: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: sleeping}
workflow:
  - step: start
    tool: {kind: shell, command: \"echo $$ > pid; exec sleep 30\"}
";
