//! Tests of limits, priorities and pauses on the command line.

use serde_json::json;

use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

const LIMIT: &str = include_str!("../../../../examples/limit.yaml");
const CONCURRENCY: &str = include_str!("../../../../examples/concurrency.yaml");
const WAITING: &str = include_str!("../../../../examples/wait_for_signal.yaml");

#[test]
fn the_examples_of_limits_run_on_a_laptop() {
    let sandbox = Sandbox::new().with("limit.yaml", LIMIT).with("concurrency.yaml", CONCURRENCY);
    let ended = sandbox.noetl(&["run", "limit.yaml", "--set", "customers=6"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let ended = sandbox.noetl(&["run", "concurrency.yaml", "--priority", "7"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let wrong = sandbox.noetl(&["run", "concurrency.yaml", "--priority", "10"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("a whole number from 0 to 9"), "{}", wrong.stderr);
}

#[test]
fn an_execution_is_paused_from_the_command_line_and_says_so() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    server.call("POST", "/api/catalog/register", &json!({ "content": WAITING }));
    let started = json!({ "path": "examples/wait_for_signal", "payload": { "patience": "1h" } });
    let started = server.call("POST", "/api/execute", &started);
    let id = started["execution_id"].as_str().expect("an id").to_owned();
    let paused =
        sandbox.noetl(&["executions", "pause", &id, "--actor", "ada", "--reason", "repair"]);
    assert_eq!(paused.code, Some(0), "{}", paused.stderr);
    let status = sandbox.noetl(&["status", &id]);
    assert!(status.stdout.contains("Paused by ada since"), "{}", status.stdout);
    let sent = sandbox.noetl(&["signal", &id, "payment", "--data", "{\"amount\": 1}"]);
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    let resumed = sandbox.noetl(&["executions", "unpause", &id]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    eventually("the execution completes", || {
        let shown = server.call("GET", &format!("/api/executions/{id}"), &json!(null));
        shown["status"] == "COMPLETED"
    });
    let pool = sandbox.noetl(&["pools", "pause", "gpu", "--reason", "driver"]);
    assert_eq!(pool.code, Some(0), "{}", pool.stderr);
    let listed = sandbox.noetl(&["pools", "list"]);
    assert!(listed.stdout.contains("gpu"), "{}", listed.stdout);
    assert_eq!(sandbox.noetl(&["pools", "resume", "gpu"]).code, Some(0));
    let limits = sandbox.noetl(&["limits", "list"]);
    assert_eq!(limits.code, Some(0), "{}", limits.stderr);
}
