//! Tests of the short-lived tokens of workers.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use noetl_api::LeaseProof;
use noetl_model::Digest;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Answer, Server, settings};
use crate::{Authentication, Hosts, Scope, Token};

fn server() -> Server {
    let tokens = vec![
        Token::new("root", Scope::ALL),
        Token::new("enrolment", [Scope::Work]),
        Token::new("reader", [Scope::Read]),
    ];
    Server::set(settings(Authentication::Tokens(tokens), Hosts::Any))
}

async fn send(server: &Server, token: &str, method: Method, path: &str, body: &Value) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    server.send(request.body(Body::from(body.to_string())).expect("a request")).await
}

async fn post(server: &Server, token: &str, path: &str, body: Value) -> String {
    let answer = send(server, token, Method::POST, path, &body).await;
    if answer.status == 200 { "200".to_owned() } else { answer.problem() }
}

async fn enrol(server: &Server, token: &str) -> Answer {
    let call = json!({ "worker": "w-1", "pool": "gpu" });
    send(server, token, Method::POST, "/api/worker/token", &call).await
}

async fn token_of(server: &Server, enrolment: &str) -> String {
    let answer = enrol(server, enrolment).await;
    assert_eq!(answer.body["expires_in_seconds"], 900, "{}", answer.body);
    answer.body["token"].as_str().expect("a token").to_owned()
}

const NOT_THIS: &str = "403 not-this-worker";
const MISSING: &str = "403 lease-secret-missing";
const FORBIDDEN: &str = "403 forbidden";

#[tokio::test(start_paused = true)]
async fn a_token_of_a_worker_permits_to_work_as_this_worker_in_this_pool() {
    let server = server();
    let token = &token_of(&server, "enrolment").await;
    let lease = |worker: &str, pool: &str| {
        let body = json!({ "worker": worker, "pool": pool, "max": 1, "wait_ms": 0 });
        post(&server, token, "/api/worker/lease", body)
    };
    assert_eq!(lease("w-1", "gpu").await, "200");
    assert_eq!(lease("w-2", "gpu").await, NOT_THIS);
    assert_eq!(lease("w-1", "shared").await, NOT_THIS);
    for worker in ["w-1", "w-2"] {
        let labels = json!({ "pool_name": "gpu" });
        let expected = if worker == "w-1" { "200" } else { NOT_THIS };
        for (path, body) in [
            ("/api/worker/heartbeat", json!({ "worker": worker, "held": [] })),
            ("/api/worker/release", json!({ "worker": worker })),
            ("/api/worker/pool/register", json!({ "name": worker, "labels": labels })),
            ("/api/worker/pool/heartbeat", json!({ "name": worker })),
            ("/api/worker/pool/deregister", json!({ "name": worker })),
        ] {
            assert_eq!(post(&server, token, path, body).await, expected, "{path} {worker}");
        }
    }
    let elsewhere = json!({ "name": "w-1", "labels": { "pool_name": "shared" } });
    assert_eq!(post(&server, token, "/api/worker/pool/register", elsewhere).await, NOT_THIS);
    let outcome = json!({ "status": "completed", "output": null });
    let report = |worker: &str, next: &str| {
        let report = json!({
            "execution": 1, "command": 1, "attempt": 1, "worker": worker, "outcome": outcome,
            "next": next,
        });
        post(&server, token, "/api/worker/report", json!({ "reports": [report] }))
    };
    assert_eq!(report("w-1", "gpu").await, MISSING);
    assert_eq!(report("w-2", "gpu").await, NOT_THIS);
    assert_eq!(report("w-1", "shared").await, NOT_THIS);
}

#[tokio::test(start_paused = true)]
async fn a_token_of_a_worker_is_refused_by_everything_that_is_no_work() {
    let server = server();
    let token = &token_of(&server, "root").await;
    for (method, path) in [
        (Method::GET, "/api/executions"),
        (Method::POST, "/api/execute"),
        (Method::POST, "/api/catalog/register"),
        (Method::POST, "/api/credentials"),
        (Method::GET, "/api/tokens"),
        (Method::GET, "/api/audit"),
        (Method::POST, "/api/postgres/execute"),
        (Method::DELETE, "/api/credentials/pg"),
        (Method::GET, "/api/internal/secret-audit"),
        (Method::POST, "/api/commands/1/claim"),
        (Method::POST, "/api/events/batch"),
        (Method::GET, "/api/keychain/1/api"),
        (Method::PUT, "/api/result/1"),
        (Method::GET, "/api/vars/1"),
        (Method::GET, "/api/worker/pools"),
        (Method::POST, "/api/worker/subscriptions/attend"),
        (Method::GET, "/api/worker/no-such-route"),
    ] {
        let answer = send(&server, token, method.clone(), path, &json!({})).await;
        assert_eq!(answer.problem(), FORBIDDEN, "{method} {path}: {}", answer.body);
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_with_a_token_of_its_own_always_sends_the_secret_of_its_lease() {
    let server = server();
    let token = &token_of(&server, "enrolment").await;
    let held = json!({ "execution": 1, "command": 1, "attempt": 1 });
    let heartbeat = json!({ "worker": "w-1", "held": [held] });
    assert_eq!(post(&server, token, "/api/worker/heartbeat", heartbeat).await, MISSING);
    let mut source = held.clone();
    for (name, value) in [("step", json!("s")), ("label", json!("s")), ("number", json!(1))] {
        source[name] = value;
    }
    let logs = json!({ "batches": [{ "source": source, "chunks": [] }] });
    assert_eq!(post(&server, token, "/api/worker/logs", logs).await, MISSING);
    let digest = Digest::of(b"x");
    for path in [
        format!("/api/payloads/{digest}"),
        format!("/api/result/resolve?ref=noetl://payload/{digest}"),
        "/api/credentials/api?include_data=true&execution_id=1".to_owned(),
        "/api/credentials/api?include_data=true".to_owned(),
        "/api/credentials/api/sealed?worker_id=w-1&execution_id=1".to_owned(),
    ] {
        let answer = send(&server, token, Method::GET, &path, &json!({})).await;
        assert_eq!(answer.problem(), MISSING, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_secret_of_a_lease_of_another_worker_is_refused() {
    let server = server();
    send(
        &server,
        "root",
        Method::POST,
        "/api/catalog/register",
        &json!({ "content": super::HELLO }),
    )
    .await;
    send(&server, "root", Method::POST, "/api/execute", &json!({ "path": "tests/hello" })).await;
    let ask = json!({ "worker": "w-2", "pool": "shared", "max": 1, "wait_ms": 0 });
    let leases = send(&server, "enrolment", Method::POST, "/api/worker/lease", &ask).await.body;
    let mut proof = leases["leases"][0].clone();
    proof["worker"] = json!("w-2");
    let proof: LeaseProof = serde_json::from_value(proof).expect("a proof");
    let digest = Digest::of(b"x");
    for (token, expected) in
        [("enrolment", "403 value-not-named"), (&*token_of(&server, "enrolment").await, NOT_THIS)]
    {
        let request = Request::get(format!("/api/payloads/{digest}"))
            .header("authorization", format!("Bearer {token}"))
            .header("x-noetl-lease", proof.to_string());
        let answer = server.send(request.body(Body::empty()).expect("a request")).await;
        assert_eq!(answer.problem(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_with_the_token_of_its_worker() {
    let server = server();
    let token = token_of(&server, "enrolment").await;
    let begun = Instant::now();
    let path = "/api/worker/cancellations";
    let answer = send(&server, &token, Method::GET, path, &json!({})).await;
    assert_eq!(answer.status, 200);
    let open = begun.elapsed().as_secs();
    assert!((895..=905).contains(&open), "{open} s");
}

#[tokio::test(start_paused = true)]
async fn only_a_token_of_scope_work_enrols_and_a_workers_own_does_not() {
    let server = server();
    assert_eq!(enrol(&server, "reader").await.problem(), "403 forbidden");
    assert_eq!(enrol(&server, "guess").await.problem(), "401 unauthorized");
    let token = token_of(&server, "enrolment").await;
    assert_eq!(enrol(&server, &token).await.problem(), "403 no-enrolment-token");
    let open = Server::new();
    let call = json!({ "worker": "w-1", "pool": "gpu" });
    let answer = open.post("/api/worker/token", call).await;
    assert_eq!(answer.problem(), "403 no-enrolment-token");
}

#[tokio::test(start_paused = true)]
async fn a_token_of_a_worker_ends_after_a_quarter_of_an_hour() {
    let server = server();
    let token = token_of(&server, "enrolment").await;
    let release = || post(&server, &token, "/api/worker/release", json!({ "worker": "w-1" }));
    tokio::time::advance(Duration::from_secs(899)).await;
    assert_eq!(release().await, "200");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(release().await, "401 unauthorized");
}

#[tokio::test(start_paused = true)]
async fn a_changed_token_of_a_worker_is_not_known() {
    let server = server();
    let token = token_of(&server, "enrolment").await;
    let (said, code) = token.split_once('.').expect("two parts");
    for wrong in [
        format!("{said}x.{code}"),
        format!("{}.{code}", said.replacen("noetlw_ey", "noetlw_eY", 1)),
        format!("{said}."),
        said.to_owned(),
        format!("noetlw_{}", "a".repeat(5000)),
    ] {
        let told = post(&server, &wrong, "/api/worker/release", json!({ "worker": "w-1" })).await;
        assert_eq!(told, "401 unauthorized");
    }
}

#[tokio::test(start_paused = true)]
async fn the_tokens_of_workers_are_revoked_with_the_token_that_they_enrolled_with() {
    let server = server();
    let new = json!({ "name": "pool-gpu", "roles": ["worker"] });
    let created = send(&server, "root", Method::POST, "/api/tokens", &new).await.body;
    let secret = created["secret"].as_str().expect("a secret");
    let token = token_of(&server, secret).await;
    let release = || post(&server, &token, "/api/worker/release", json!({ "worker": "w-1" }));
    assert_eq!(release().await, "200");
    let gone = send(&server, "root", Method::DELETE, "/api/tokens/pool-gpu", &json!({})).await;
    assert_eq!(gone.status, 204, "{}", gone.body);
    assert_eq!(release().await, "401 unauthorized");
}
