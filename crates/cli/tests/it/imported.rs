//! Imported executions and subscriptions on the command line: the embedded database shows what a
//! server on it shows.

use serde_json::{Value, json};

use crate::playbooks::HELLO;
use crate::sandbox::Sandbox;
use crate::server::Server;

const ORDERS: &str = "
apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: orders, path: s/orders}
spec:
  source: nats
  mode: pull
  stream: ORDERS
  consumer: drain
  dispatch: {playbook: tests/hello}
";

/// Imports a log of another program, its child, and a subscription; returns the subscription's id.
fn fill(server: &Server) -> String {
    let event = |id: i64, execution: i64, name: &str, node: &str| {
        json!({
            "event_id": id, "execution_id": execution, "event_type": name, "node_name": node,
            "timestamp": format!("2026-01-02T03:04:{id}Z"), "status": "TOLD",
        })
    };
    let mut child = event(20, 701, "playbook_started", "other/child");
    child["parent_execution_id"] = json!("700");
    let events = json!([
        event(10, 700, "playbook_started", "other/path"),
        event(11, 700, "step.enter", "load"),
        event(13, 700, "playbook.failed", "playbook"),
        child,
    ]);
    let stored = server.call("POST", "/api/internal/events/project", &json!({ "events": events }));
    assert_eq!(stored["projected"], 4, "{stored}");
    for content in [HELLO, ORDERS] {
        server.call("POST", "/api/catalog/register", &json!({ "content": content }));
    }
    let answer = server.call("POST", "/api/subscriptions/register", &json!({ "path": "s/orders" }));
    let id = answer["subscription_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    server.call("POST", &format!("/api/subscriptions/{id}/pause"), &json!({}));
    id
}

#[test]
fn an_embedded_database_shows_imported_logs_and_subscriptions_as_its_server_does() {
    let sandbox = Sandbox::new();
    let server = Server::new(&sandbox, &["--db", "history.db", "--no-worker"]);
    let subscription = fill(&server);
    let of = |execution: &'static str| {
        vec![
            vec!["executions", "get", execution],
            vec!["executions", "get", execution, "-o", "json"],
            vec!["executions", "events", execution],
            vec!["executions", "events", execution, "-o", "json", "--limit", "2"],
            vec!["executions", "events", execution, "-o", "jsonl", "--after", "1"],
            vec!["executions", "timeline", execution],
            vec!["status", execution],
            vec!["replay", execution, "-o", "json"],
            vec!["replay", execution, "--diff", "1..2"],
            vec!["verify", execution],
        ]
    };
    let subscription: &'static str = Box::leak(subscription.into_boxed_str());
    let mut commands = [of("700"), of(subscription)].concat();
    commands.extend([
        vec!["executions", "list", "-o", "json"],
        vec!["executions", "list", "--all"],
        vec!["executions", "list", "--status", "failed", "-o", "json"],
        vec!["executions", "list", "--parent", "700", "-o", "json"],
        vec!["verify"],
        vec!["executions", "get", "last"],
    ]);
    let url = server.url();
    let run = |place: &[&str]| -> Vec<(String, Option<i32>)> {
        let outputs = commands.iter().map(|command| sandbox.noetl(&[command, place].concat()));
        outputs.map(|ended| (ended.stdout, ended.code)).collect()
    };
    let served = run(&["--server", &url]);
    assert_eq!(server.process.end(), Some(0));
    let embedded = run(&["--db", "history.db"]);
    for ((command, served), embedded) in commands.iter().zip(served).zip(embedded) {
        assert_eq!(embedded, served, "{command:?}");
    }
    let on = |args: &[&str]| sandbox.noetl(&[args, &["--db", "history.db"]].concat());
    let listed = sandbox.json(&["executions", "list", "--db", "history.db", "-o", "json"]);
    let origins: Vec<&Value> =
        listed.as_array().expect("a list").iter().map(|it| &it["origin"]).collect();
    assert_eq!(origins, ["subscription", "imported"], "{listed:#}");
    let events = on(&["executions", "events", "700"]).stdout;
    let names: Vec<&str> =
        events.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(names, ["playbook_started", "step.enter", "playbook.failed"], "{events}");
    let replayed = sandbox.json(&["replay", "700", "-o", "json", "--db", "history.db"]);
    assert_eq!(replayed["execution"]["status"], "FAILED", "{replayed:#}");
    let verified = on(&["verify", "700"]);
    assert_eq!(verified.code, Some(0));
    assert!(verified.stdout.contains("have no digests"), "{}", verified.stdout);
    for command in [&["executions", "timeline"][..], &["cancel"], &["executions", "rerun"]] {
        let refused = on(&[command, &["700"]].concat());
        assert_ne!(refused.code, Some(0), "{command:?}");
        assert!(refused.stderr.contains("not run by this engine"), "{}", refused.stderr);
    }
}
