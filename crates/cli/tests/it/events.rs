//! Tests of feeds, subscriptions and the outbox, on the embedded database and on a server.

use serde_json::{Value, json};

use crate::playbooks::HELLO;
use crate::sandbox::Sandbox;
use crate::server::Server;

const ORDERS: &str = "\
apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: orders, path: subscriptions/orders}
spec:
  source: webhook
  mode: push
  ingress:
    gateway_path: /ingress/orders
    verify: {type: bearer, secret: orders_key}
  dispatch: {playbook: tests/hello}
";

fn sandbox() -> Sandbox {
    Sandbox::new().with("hello.yaml", HELLO).with("orders.yaml", ORDERS)
}

/// Follows a subscription through all its states, and a feed through an execution.
#[track_caller]
fn check(sandbox: &Sandbox, place: &[&str]) {
    let on = |args: &[&str]| sandbox.noetl(&[args, place].concat());
    let json = |args: &[&str]| sandbox.json(&[args, place, &["-o", "json"]].concat());
    assert_eq!(on(&["register", "hello.yaml", "orders.yaml"]).code, Some(0));
    assert_eq!(json(&["subscription", "list"])[0]["state"], "REGISTERED");
    for (action, state) in
        [("activate", "ACTIVE"), ("pause", "PAUSED"), ("resume", "ACTIVE"), ("drain", "DRAINING")]
    {
        let moved = json(&["subscription", action, "subscriptions/orders"]);
        assert_eq!(moved["state"], state, "{action}");
    }
    let refused = on(&["subscription", "pause", "subscriptions/orders"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("cannot pause a subscription"), "{}", refused.stderr);
    let missing = on(&["subscription", "pause", "subscriptions/order"]);
    assert!(missing.stderr.contains("did you mean subscriptions/orders?"), "{}", missing.stderr);
    let told = json(&["subscription", "get", "subscriptions/orders"]);
    assert_eq!(told["events"].as_array().map(Vec::len), Some(5));

    assert_eq!(on(&["feed", "add", "ends", "--type", "playbook.completed"]).code, Some(0));
    assert_eq!(on(&["run", "hello.yaml", "-q"]).code, Some(0));
    let read = |more: &[&str]| -> Vec<Value> {
        let ended = on(&[&["feed", "read", "ends"], more].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    assert_eq!(read(&["--ack"])[0]["path"], "tests/hello");
    assert_eq!(read(&[]), Vec::<Value>::new());
    assert_eq!(on(&["feed", "seek", "ends", "start"]).code, Some(0));
    assert_eq!(read(&[]).len(), 1);
    assert_eq!(json(&["feed", "list"])[0]["filter"], json!({ "types": ["playbook.completed"] }));
    assert_eq!(on(&["feed", "remove", "ends"]).code, Some(0));
    assert_eq!(on(&["feed", "read", "ends"]).code, Some(2));

    assert_eq!(json(&["outbox", "list", "--status", "dead"]), json!([]));
    assert_eq!(on(&["outbox", "retry", "--dead"]).code, Some(0));
}

#[test]
fn events_are_managed_on_the_embedded_database() {
    check(&sandbox(), &["--db", "own.db"]);
}

#[test]
fn events_are_managed_on_a_server_by_the_same_commands() {
    let sandbox = sandbox();
    let server = Server::new(&sandbox, &["--db", "server.db"]);
    check(&sandbox, &["--server", &server.url()]);
}

#[test]
fn a_subscription_is_validated_like_a_playbook() {
    let broken = ORDERS.replace("type: bearer", "type: none");
    let sandbox = Sandbox::new().with("orders.yaml", ORDERS).with("broken.yaml", &broken);
    assert_eq!(sandbox.noetl(&["validate", "orders.yaml"]).code, Some(0));
    let refused = sandbox.noetl(&["validate", "broken.yaml"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stdout.contains("anybody could start executions"), "{}", refused.stdout);
}
