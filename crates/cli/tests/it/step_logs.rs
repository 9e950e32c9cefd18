//! Tests of `noetl logs`: the output of steps while they run, and after it.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, await_end, eventually, signal};
use crate::server::Server;

const EXAMPLE: &str = include_str!("../../../../examples/live_logs.yaml");

/// Prints a line, then waits until the file `go` exists, then prints another line.
const PAUSED: &str = r#"
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: paused, path: tests/paused}
workload: {directory: "."}
workflow:
  - step: start
    tool:
      kind: shell
      command: |
        echo first; echo problem >&2
        until [ -e {{ workload.directory }}/go ]; do sleep 0.05; done
        echo second
"#;

fn entries(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let ended = sandbox.noetl(args);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn the_output_of_an_embedded_run_is_shown_with_steps_and_items() {
    let sandbox = Sandbox::new().with("logs.yaml", EXAMPLE);
    let ended = sandbox.noetl(&["run", "logs.yaml"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let shown = sandbox.noetl(&["logs", "last"]);
    let mut lines: Vec<&str> = shown.stdout.lines().collect();
    lines[4..].sort_unstable();
    let expected = [
        "start | epoch 1 of 3",
        "start | epoch 2 of 3",
        "start | epoch 3 of 3",
        "start | no validation data",
        "report[0] | accuracy is done",
        "report[0] | computing accuracy",
        "report[1] | computing loss",
        "report[1] | loss is done",
    ];
    assert_eq!(lines, expected, "{}", shown.stdout);
    let step = sandbox.noetl(&["logs", "last", "--step", "start", "--stderr"]);
    assert_eq!(step.stdout, "no validation data\n");
    let attempts = entries(&sandbox, &["logs", "last", "--attempt", "2", "-o", "jsonl"]);
    assert!(attempts.is_empty(), "{attempts:?}");
    let timed = sandbox.noetl(&["logs", "last", "--step", "start", "--timestamps"]);
    assert!(timed.stdout.lines().all(|line| line.starts_with("20")), "{}", timed.stdout);
}

#[test]
fn output_is_followed_while_a_step_runs_on_a_server() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    server.call("POST", "/api/catalog/register", &json!({ "content": PAUSED }));
    let directory = sandbox.path("").display().to_string();
    let start = json!({ "path": "tests/paused", "payload": { "directory": directory } });
    let started = server.call("POST", "/api/execute", &start);
    let id = started["execution_id"].as_str().expect("an id").to_owned();
    let mut command = sandbox.command(&["logs", &id, "--follow"]);
    let mut following = command.stdout(Stdio::piped()).spawn().expect("the binary runs");
    let mut lines = BufReader::new(following.stdout.take().expect("piped")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    let mut first = [next(), next()];
    first.sort_unstable();
    assert_eq!(first, ["start | first", "start | problem"], "shown while the step runs");
    std::fs::write(sandbox.path("go"), "").expect("written");
    assert_eq!(next(), "start | second");
    assert!(lines.next().is_none(), "the end of the execution ends the log");
    assert!(await_end(&mut following).success());
}

#[test]
fn output_stays_after_a_cancellation_and_after_the_server_is_killed() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    server.call("POST", "/api/catalog/register", &json!({ "content": PAUSED }));
    let directory = sandbox.path("").display().to_string();
    let start = json!({ "path": "tests/paused", "payload": { "directory": directory } });
    let begin = || {
        let started = server.call("POST", "/api/execute", &start);
        started["execution_id"].as_str().expect("an id").to_owned()
    };
    let (cancelled, killed) = (begin(), begin());
    let stored = |server: &Server, id: &str| {
        let page = server.call("GET", &format!("/api/executions/{id}/logs"), &json!(null));
        page["entries"].to_string()
    };
    for id in [&cancelled, &killed] {
        eventually("output is stored", || stored(&server, id).contains("first"));
    }
    server.call("POST", &format!("/api/executions/{cancelled}/cancel"), &json!({}));
    assert!(stored(&server, &cancelled).contains("first"));
    signal(&server.process.0, "KILL");
    drop(server);
    std::fs::write(sandbox.path("go"), "").expect("written");
    let server = Server::new(&sandbox, &[]);
    assert!(stored(&server, &killed).contains("first"), "stored before the server was killed");
    eventually("the step is run again", || {
        let page = stored(&server, &killed);
        page.contains("second") && page.contains("\"attempt\":2")
    });
}
