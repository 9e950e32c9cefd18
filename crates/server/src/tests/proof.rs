//! Tests of verifying and forking executions.

use expect_test::expect;
use serde_json::{Value, json};

use super::{HELLO, Server};

async fn work(server: &Server, outcome: impl Fn(&Value) -> Value) {
    loop {
        let body = json!({ "worker": "w", "pool": "shared", "max": 1, "wait_ms": 100 });
        let leases = server.post("/api/worker/lease", body).await.body["leases"].clone();
        let Some(lease) = leases.get(0) else { return };
        let report = json!({
            "execution": lease["execution"], "command": lease["command"],
            "attempt": lease["attempt"], "worker": "w", "outcome": outcome(lease),
        });
        let answer = server.post("/api/worker/report", json!({ "reports": [report] })).await;
        assert_eq!(answer.body, json!({ "answers": ["accepted"] }));
    }
}

fn done(output: Value) -> Value {
    json!({ "status": "completed", "output": output })
}

/// Returns the output of the leased step of `tests/hello`.
fn said(lease: &Value) -> Value {
    match lease["step"].as_str() {
        Some("second") => done(lease["bindings"]["start"]["inline"].clone()),
        _ => done(json!({ "text": lease["bindings"]["workload"]["inline"]["name"] })),
    }
}

async fn verified(server: &Server, id: &str) -> Value {
    let found = server.get(&format!("/api/executions/{id}/verify")).await.body;
    assert_eq!(found["valid"], true, "{found}");
    assert_eq!(found["proven_from"], 1);
    found
}

async fn fork(server: &Server, id: &str, body: Value) -> String {
    let answer = server.post(&format!("/api/executions/{id}/fork"), body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.body["forked_from"], id);
    answer.body["execution_id"].as_str().expect("an id").to_owned()
}

async fn output(server: &Server, id: &str) -> Value {
    let events = server.get(&format!("/api/executions/{id}/events")).await.body;
    let last = events["events"].as_array().and_then(|it| it.last().cloned()).expect("an event");
    assert_eq!(last["event_type"], "playbook.completed", "{last}");
    last["result"].clone()
}

pub(super) async fn an_execution_is_verified_and_compared_with_what_was_kept(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let before = verified(&server, &id).await;
    work(&server, said).await;
    let after = verified(&server, &id).await;
    assert_eq!(after["events"], 12);
    assert_ne!(before["head"], after["head"]);
    let ask = async |digest: &Value| {
        let digest = digest.as_str().expect("a digest");
        server.get(&format!("/api/executions/{id}/verify?expect={digest}")).await.body
    };
    assert_eq!(ask(&after["head"]).await["valid"], true);
    let other = ask(&before["head"]).await;
    assert_eq!(other["valid"], false);
    assert!(other["fault"].as_str().is_some_and(|it| it.contains("digest")), "{other}");
    let odd = server.get(&format!("/api/executions/{id}/verify?expect=odd")).await;
    assert_eq!(odd.problem(), "422 invalid-digest");
    assert_eq!(server.get("/api/executions/1/verify").await.problem(), "404 unknown-execution");
}

pub(super) async fn a_fork_goes_on_from_any_event_and_names_its_origin(server: Server) {
    server.register(HELLO).await;
    let origin = server.start("tests/hello").await;
    work(&server, said).await;
    let expected = output(&server, &origin).await;
    for at in [1, 2, 5, 8, 12] {
        let id = fork(&server, &origin, json!({ "at_event": at })).await;
        work(&server, said).await;
        assert_eq!(output(&server, &id).await, expected, "at {at}");
        verified(&server, &id).await;
        let item = server.get("/api/executions?limit=1").await.body[0].clone();
        assert_eq!(
            (&item["forked_from"], item["status"].as_str()),
            (&json!(origin), Some("COMPLETED"))
        );
        let detail = server.get(&format!("/api/executions/{id}")).await.body;
        assert_eq!(detail["forked_from"], item["forked_from"]);
        assert!(detail["forked_at"].as_u64().is_some_and(|seq| seq <= at), "{detail}");
    }
    verified(&server, &origin).await;
}

pub(super) async fn a_fork_may_have_other_values(server: Server) {
    server.register(HELLO).await;
    let origin = server.start("tests/hello").await;
    work(&server, said).await;
    let id = fork(&server, &origin, json!({ "at_event": 3, "workload": { "name": "moon" } })).await;
    work(&server, said).await;
    let said = output(&server, &id).await.to_string();
    assert!(said.contains("moon"), "{said}");
    expect![[r#"
        playbook_started tests/hello STARTED
        step.enter start ENTERED
        command.issued start PENDING
        execution.forked playbook STARTED
        command.cancelled start CANCELLED
        command.issued start PENDING
        command.claimed start RUNNING
        command.completed start COMPLETED
        step.exit start COMPLETED
        step.enter second ENTERED
        command.issued second PENDING
        command.claimed second RUNNING
        command.completed second COMPLETED
        step.exit second COMPLETED
        playbook.completed playbook COMPLETED
    "#]]
    .assert_eq(&server.story(&id).await);
}

pub(super) async fn a_retry_uses_the_repaired_playbook(server: Server) {
    server.register(HELLO).await;
    let origin = server.start("tests/hello").await;
    work(&server, |lease| match lease["step"].as_str() {
        Some("second") => {
            json!({ "status": "failed", "error": { "kind": "exception", "message": "no luck", "retryable": false } })
        }
        _ => said(lease),
    })
    .await;
    assert_eq!(server.status(&origin).await, "FAILED");
    server.register(&HELLO.replace("message:", "result:")).await;
    let id = fork(&server, &origin, json!({ "version": "latest" })).await;
    work(&server, said).await;
    assert_eq!(server.status(&id).await, "COMPLETED");
    let detail = server.get(&format!("/api/executions/{id}")).await.body;
    assert_eq!(detail["version"], 2);
    verified(&server, &id).await;
}

pub(super) async fn an_impossible_fork_is_refused_with_its_reason(server: Server) {
    server.register(HELLO).await;
    let origin = server.start("tests/hello").await;
    work(&server, said).await;
    let path = format!("/api/executions/{origin}/fork");
    let ask = async |body: Value| server.post(&path, body).await.problem();
    assert_eq!(ask(json!({ "at_event": 0 })).await, "404 unknown-event");
    assert_eq!(ask(json!({ "at_event": 13 })).await, "404 unknown-event");
    assert_eq!(ask(json!({})).await, "409 not-failed");
    assert_eq!(ask(json!({ "at_event": 3, "version": 7 })).await, "404 unknown-playbook");
    let unknown = server.post("/api/executions/1/fork", json!({ "at_event": 1 })).await;
    assert_eq!(unknown.problem(), "404 unknown-execution");
}

/// Existing workers claim a fork's commands by events of the fork.
pub(super) async fn the_commands_of_a_fork_are_its_own(server: Server) {
    server.register(HELLO).await;
    let origin = server.start("tests/hello").await;
    let id = fork(&server, &origin, json!({ "at_event": 3 })).await;
    let events = server.get(&format!("/api/executions/{id}/events")).await.body;
    let events = events["events"].as_array().expect("events");
    let issued = events.iter().rfind(|it| it["event_type"] == "command.issued").expect("issued");
    let claim = format!("/api/commands/{}/claim", issued["event_id"].as_str().expect("an id"));
    let answer = server.post(&claim, json!({ "worker_id": "w" })).await;
    assert_eq!(answer.body["execution_id"].to_string().trim_matches('"'), id, "{}", answer.body);
    assert_eq!(server.story(&origin).await.lines().count(), 3, "the origin is not touched");
}
