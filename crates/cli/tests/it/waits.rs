//! Tests of waits: a signal from the command line, and waits that outlive the process.

use serde_json::json;

use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

const EXAMPLE: &str = include_str!("../../../../examples/wait_for_signal.yaml");

#[test]
fn a_signal_from_the_command_line_ends_a_wait_on_a_server_that_was_restarted() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    server.call("POST", "/api/catalog/register", &json!({ "content": EXAMPLE }));
    let started = json!({ "path": "examples/wait_for_signal", "payload": { "patience": "1h" } });
    let started = server.call("POST", "/api/execute", &started);
    let id = started["execution_id"].as_str().expect("an id").to_owned();
    assert_eq!(server.process.end(), Some(0));

    let server = Server::new(&sandbox, &[]);
    let status = sandbox.noetl(&["status", &id]);
    assert!(status.stdout.contains("waits for signal `payment`"), "{}", status.stdout);
    let data = r#"{"amount": 12}"#;
    let sent = sandbox.noetl(&["signal", &id, "payment", "--data", data, "--sender", "shop"]);
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    eventually("the execution completes", || {
        let shown = server.call("GET", &format!("/api/executions/{id}"), &json!(null));
        shown["status"] == "COMPLETED" && shown.to_string().contains("is paid by shop: 12")
    });
    let late = sandbox.noetl(&["signal", &id, "payment"]);
    assert_eq!(late.code, Some(2), "{}", late.stderr);
    assert!(late.stderr.contains("the execution has ended as COMPLETED"), "{}", late.stderr);
}

#[test]
fn a_wait_on_a_laptop_ends_by_its_timeout() {
    let sandbox = Sandbox::new().with("wait.yaml", EXAMPLE);
    let ended = sandbox.noetl(&["run", "wait.yaml", "--set", "patience=1s"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("reminder for order A-1001"), "{}", ended.stdout);
}

const BY_KEY: &str = include_str!("../../../../examples/wait_by_key.yaml");

#[test]
fn a_signal_by_key_is_kept_by_a_server_that_is_restarted_until_a_step_waits_for_it() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    server.call("POST", "/api/catalog/register", &json!({ "content": BY_KEY }));
    let sent = sandbox.noetl(&["signal", "--key", "A-1001", "payment", r#"{"amount": 12}"#]);
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    assert!(sent.stderr.contains("kept signal payment"), "{}", sent.stderr);
    assert_eq!(server.process.end(), Some(0));

    let server = Server::new(&sandbox, &[]);
    let started = json!({ "path": "examples/wait_by_key", "payload": { "patience": "1h" } });
    let started = server.call("POST", "/api/execute", &started);
    let id = started["execution_id"].as_str().expect("an id").to_owned();
    eventually("the execution completes", || {
        let shown = server.call("GET", &format!("/api/executions/{id}"), &json!(null));
        shown["status"] == "COMPLETED" && shown.to_string().contains("A-1001 is paid: 12")
    });
}

#[test]
fn signals_that_no_step_has_taken_are_listed_and_dropped() {
    let sandbox = Sandbox::new();
    for (key, body) in [("A-1", "1"), ("A-2", "2"), ("A-1", "3")] {
        let sent = sandbox.noetl(&["signal", "--key", key, "payment", body, "--sender", "shop"]);
        assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    }
    let listed = sandbox.noetl(&["signals", "list"]).stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 4, "{listed}");
    assert!(lines[2].contains("payment  A-2") && lines[2].contains("shop"), "{listed}");
    let server = Server::new(&sandbox, &[]);
    let shown = sandbox.json(&["signals", "list", "--key", "A-2", "-o", "json"]);
    let id = shown[0]["signal_id"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned();
    let dropped = sandbox.noetl(&["signals", "drop", &id]);
    assert_eq!(dropped.code, Some(0), "{}", dropped.stderr);
    let again = sandbox.noetl(&["signals", "drop", &id]);
    assert_eq!(again.code, Some(2), "{}", again.stderr);
    assert!(again.stderr.contains("there is no kept signal"), "{}", again.stderr);
    assert_eq!(server.process.end(), Some(0));
    let dropped = sandbox.noetl(&["signals", "drop", "--name", "payment", "--key", "A-1"]);
    assert!(dropped.stderr.contains("dropped signals: 2"), "{}", dropped.stderr);
    let listed = sandbox.noetl(&["signals", "list"]);
    assert!(listed.stderr.contains("no signal waits for a step"), "{}", listed.stderr);
}

const ONE_AT_A_TIME: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: import, path: jobs/import}
executor: {spec: {concurrency: {limit: 1}}}
workflow:
  - step: start
    tool: {kind: wait, signal: go}
";

#[test]
fn the_status_beside_a_running_server_knows_the_place_in_a_queue() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    server.call("POST", "/api/catalog/register", &json!({ "content": ONE_AT_A_TIME }));
    let start = || {
        let started = server.call("POST", "/api/execute", &json!({ "path": "jobs/import" }));
        started["execution_id"].as_str().expect("an id").to_owned()
    };
    let (_first, _second, third) = (start(), start(), start());
    eventually("it is queued", || {
        let status = sandbox.noetl(&["status", &third]).stdout;
        status.contains("2nd in the queue of limit `playbook:jobs/import`")
    });
    let listed = sandbox.noetl(&["executions", "list"]).stdout;
    assert!(listed.contains("2nd in the queue"), "{listed}");
}
