//! Tests of approvals from the command line: on a server, in the embedded database, and by a link.

use serde_json::json;

use crate::sandbox::{Sandbox, eventually};
use crate::server::Server;

const EXAMPLE: &str = include_str!("../../../../examples/approval.yaml");

fn started(server: &Server) -> String {
    server.call("POST", "/api/catalog/register", &json!({ "content": EXAMPLE }));
    let started = json!({ "path": "examples/approval", "payload": { "patience": "1h" } });
    let started = server.call("POST", "/api/execute", &started);
    started["execution_id"].as_str().expect("an id").to_owned()
}

#[test]
fn an_approval_is_listed_shown_and_decided_on_a_server_that_was_restarted() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let id = started(&server);
    assert_eq!(server.process.end(), Some(0));

    let server = Server::new(&sandbox, &[]);
    let status = sandbox.noetl(&["status", &id]);
    assert!(status.stdout.contains("Waiting for approval `Release 1.4`"), "{}", status.stdout);
    let listed = sandbox.noetl(&["approvals", "list"]);
    assert!(listed.stdout.contains("Release 1.4"), "{}{}", listed.stdout, listed.stderr);
    let shown = sandbox.noetl(&["approvals", "show", &id]);
    assert!(
        shown.stdout.contains("share (whole number, required, default 10)"),
        "{}",
        shown.stdout
    );
    let wrong = sandbox.noetl(&["approvals", "approve", &id, "--set", "share=many"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("`share` is a whole number"), "{}", wrong.stderr);
    let approved =
        sandbox.noetl(&["approvals", "approve", &id, "--set", "share=20", "--comment", "green"]);
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert!(approved.stdout.contains("approved `Release 1.4`"), "{}", approved.stdout);
    eventually("the execution completes", || {
        let shown = server.call("GET", &format!("/api/executions/{id}"), &json!(null));
        shown["status"] == "COMPLETED" && shown.to_string().contains("for 20 % of the users")
    });
    let late = sandbox.noetl(&["approvals", "reject", &id, "0"]);
    assert_eq!(late.code, Some(2), "{}", late.stderr);
    assert!(late.stderr.contains("has been approved before"), "{}", late.stderr);
}

#[test]
fn an_approval_on_a_laptop_ends_by_its_deadline() {
    let sandbox = Sandbox::new().with("approval.yaml", EXAMPLE);
    let ended = sandbox.noetl(&["run", "approval.yaml", "--set", "patience=1s"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("version 1.4 is not released"), "{}", ended.stdout);
}

#[test]
fn an_approval_is_decided_in_the_embedded_database() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &[]);
    let id = started(&server);
    assert_eq!(server.process.end(), Some(0));
    let listed = sandbox.noetl(&["approvals", "list"]);
    assert!(listed.stdout.contains("Release 1.4"), "{}{}", listed.stdout, listed.stderr);
    let approved = sandbox.noetl(&["approvals", "approve", &id]);
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    let resumed = sandbox.noetl(&["resume", &id]);
    assert!(
        resumed.stdout.contains("for 10 % of the users"),
        "{}{}",
        resumed.stdout,
        resumed.stderr
    );
}
