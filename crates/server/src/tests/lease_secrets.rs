//! Tests of the secrets by which workers prove that they hold a command.

use axum::body::Body;
use axum::http::Request;
use noetl_app::{AppSettings, LeaseVerification};
use noetl_model::Digest;
use serde_json::{Value, json};

use super::{Answer, Server, TestSettings, settings};
use crate::{Authentication, Hosts, Scope, Token};

/// A playbook whose two steps run at once and use credentials.
const TWO: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: two, path: tests/two}
workflow:
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: [{step: one}, {step: other}]}
  - step: one
    tool: {kind: http, url: 'https://a.example', auth: api}
  - step: other
    tool: {kind: http, url: 'https://a.example', auth: api}
";

/// A token of the settings that may do everything, and one of workers.
const ROOT: &str = "root";
const WORKER: &str = "worker";

async fn server(lease_verification: LeaseVerification) -> Server {
    let tokens = vec![Token::new(ROOT, Scope::ALL), Token::new(WORKER, [Scope::Work])];
    let TestSettings { server, app } = settings(Authentication::Tokens(tokens), Hosts::Any);
    let app = AppSettings { lease_verification, ..app };
    let server = Server::set(TestSettings { server, app });
    let credential = json!({ "name": "api", "type": "bearer", "data": { "token": "s3cret" } });
    for (path, body) in [
        ("/api/credentials", credential),
        ("/api/catalog/register", json!({ "content": TWO })),
        ("/api/execute", json!({ "path": "tests/two" })),
    ] {
        assert_eq!(post(&server, ROOT, path, &body).await.status, 200, "{path}");
    }
    server
}

async fn post(server: &Server, token: &str, path: &str, body: &Value) -> Answer {
    let request = Request::post(path)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    server.send(request.body(Body::from(body.to_string())).expect("a request")).await
}

async fn get(server: &Server, path: &str, proof: Option<&str>) -> String {
    let mut request = Request::get(path).header("authorization", format!("Bearer {WORKER}"));
    if let Some(proof) = proof {
        request = request.header("x-noetl-lease", proof);
    }
    said(&server.send(request.body(Body::empty()).expect("a request")).await)
}

fn said(answer: &Answer) -> String {
    if answer.status == 200 { "200".to_owned() } else { answer.problem() }
}

/// Leases a command for a worker.
async fn lease(server: &Server, worker: &str) -> Value {
    let ask = json!({ "worker": worker, "pool": "shared", "max": 1, "wait_ms": 5000 });
    let leases = post(server, WORKER, "/api/worker/lease", &ask).await.body;
    leases["leases"][0].clone()
}

/// Returns the ids of a lease, with more fields.
fn with(lease: &Value, more: Value) -> Value {
    let mut value = json!({
        "execution": lease["execution"], "command": lease["command"], "attempt": lease["attempt"],
    });
    for (name, field) in more.as_object().expect("a map") {
        value[name] = field.clone();
    }
    value
}

fn proof(lease: &Value, worker: &str) -> Value {
    with(lease, json!({ "worker": worker, "secret": lease["secret"] }))
}

/// Returns the header of a lease.
fn header_of(lease: &Value, worker: &str) -> String {
    let proof: noetl_api::LeaseProof =
        serde_json::from_value(proof(lease, worker)).expect("a proof");
    proof.to_string()
}

async fn heartbeat(server: &Server, lease: &Value, worker: &str, proofs: &[Value]) -> String {
    let held = [with(lease, json!({}))];
    let body = json!({ "worker": worker, "held": held, "proofs": proofs });
    said(&post(server, WORKER, "/api/worker/heartbeat", &body).await)
}

async fn report(server: &Server, lease: &Value, worker: &str, proofs: &[Value]) -> Answer {
    let outcome = json!({ "status": "completed", "output": {} });
    let report = with(lease, json!({ "worker": worker, "outcome": outcome }));
    let body = json!({ "reports": [report], "proofs": proofs });
    post(server, WORKER, "/api/worker/report", &body).await
}

async fn logs(server: &Server, lease: &Value, proofs: &[Value]) -> String {
    let source = with(lease, json!({ "step": "one", "label": "one", "number": 1 }));
    let body = json!({ "batches": [{ "source": source, "chunks": [] }], "proofs": proofs });
    said(&post(server, WORKER, "/api/worker/logs", &body).await)
}

/// Completes the first step and leases the two that follow, one for each worker.
async fn two_leases(server: &Server) -> (Value, Value) {
    let first = lease(server, "w").await;
    let answer = report(server, &first, "w", &[proof(&first, "w")]).await;
    assert_eq!(answer.body, json!({ "answers": ["accepted"] }));
    (lease(server, "w").await, lease(server, "thief").await)
}

const MISSING: &str = "403 lease-secret-missing";
const INVALID: &str = "403 lease-secret-invalid";
const NOT_NAMED: &str = "403 credential-not-named";
const NOT_HELD: &str = "409 lease-not-held";

#[tokio::test(start_paused = true)]
async fn a_worker_without_the_secret_of_its_lease_is_refused_where_secrets_are_required() {
    let server = server(LeaseVerification::Required).await;
    let (held, _) = two_leases(&server).await;
    assert_eq!(heartbeat(&server, &held, "w", &[]).await, MISSING);
    assert_eq!(report(&server, &held, "w", &[]).await.problem(), MISSING);
    assert_eq!(logs(&server, &held, &[]).await, MISSING);
    let execution = held["execution"].to_string();
    let path = format!("/api/credentials/api?include_data=true&execution_id={execution}");
    assert_eq!(get(&server, &path, None).await, MISSING);
    let digest = Digest::of(b"x");
    assert_eq!(get(&server, &format!("/api/payloads/{digest}"), None).await, MISSING);
    let named = format!("/api/result/resolve?ref=noetl://payload/{digest}");
    assert_eq!(get(&server, &named, None).await, MISSING);
    assert_eq!(get(&server, "/api/keychain/1/api", None).await, MISSING);
    let value = json!({ "name": "part", "data": 1 });
    for (method, path) in [("PUT", "/api/result/1"), ("POST", "/api/keychain/1/api")] {
        let request = Request::builder().method(method).uri(path);
        let request = request
            .header("authorization", format!("Bearer {WORKER}"))
            .header("content-type", "application/json");
        let body = Body::from(value.to_string());
        let answer = server.send(request.body(body).expect("a request")).await;
        assert_eq!(answer.problem(), MISSING, "{path}");
    }
    let claim = json!({ "worker_id": "w" });
    assert_eq!(post(&server, WORKER, "/api/commands/1/claim", &claim).await.problem(), MISSING);
    let release = json!({ "worker": "w" });
    let released = post(&server, WORKER, "/api/worker/release", &release).await;
    assert_eq!(released.body, json!({ "released": 0 }), "others' commands are not given back");
}

#[tokio::test(start_paused = true)]
async fn a_worker_with_the_secret_of_its_lease_reads_and_reports() {
    let server = server(LeaseVerification::Required).await;
    let (held, _) = two_leases(&server).await;
    let own = proof(&held, "w");
    assert_eq!(heartbeat(&server, &held, "w", std::slice::from_ref(&own)).await, "200");
    assert_eq!(logs(&server, &held, std::slice::from_ref(&own)).await, "200");
    let path = format!("/api/credentials/api?include_data=true&execution_id={}", held["execution"]);
    assert_eq!(get(&server, &path, Some(&header_of(&held, "w"))).await, "200");
    let answer = report(&server, &held, "w", &[own]).await;
    assert_eq!(answer.body, json!({ "answers": ["accepted"] }));
    assert_eq!(get(&server, &path, Some(&header_of(&held, "w"))).await, NOT_HELD);
}

#[tokio::test(start_paused = true)]
async fn the_secret_of_another_lease_worker_or_attempt_is_refused_everywhere() {
    for verification in [LeaseVerification::Optional, LeaseVerification::Required] {
        let server = server(verification).await;
        let (held, others) = two_leases(&server).await;
        // Of another command, of the same command for another worker, and of another attempt.
        let mut of_other = proof(&held, "w");
        of_other["secret"] = others["secret"].clone();
        let of_thief = proof(&held, "thief");
        let mut of_attempt = held.clone();
        of_attempt["attempt"] = json!(2);
        let path =
            format!("/api/credentials/api?include_data=true&execution_id={}", held["execution"]);
        for (lease, worker, wrong) in [
            (&held, "w", of_other),
            (&held, "thief", of_thief),
            (&of_attempt, "w", proof(&of_attempt, "w")),
        ] {
            let wrong = std::slice::from_ref(&wrong);
            assert_eq!(heartbeat(&server, lease, worker, wrong).await, INVALID, "{worker}");
            assert_eq!(report(&server, lease, worker, wrong).await.problem(), INVALID, "{worker}");
            assert_eq!(logs(&server, lease, wrong).await, INVALID, "{worker}");
            let sent: noetl_api::LeaseProof =
                serde_json::from_value(wrong[0].clone()).expect("a proof");
            assert_eq!(get(&server, &path, Some(&sent.to_string())).await, INVALID, "{worker}");
        }
        // A secret with the name of its own worker does not serve for the report of another.
        let answer = report(&server, &held, "thief", &[proof(&held, "w")]).await;
        assert_eq!(answer.problem(), INVALID);
        assert_eq!(get(&server, &path, Some("nonsense")).await, INVALID);
        let elsewhere = "/api/credentials/api?include_data=true&execution_id=7";
        assert_eq!(get(&server, elsewhere, Some(&header_of(&held, "w"))).await, INVALID);
    }
}

#[tokio::test(start_paused = true)]
async fn the_secret_of_a_lease_that_has_expired_opens_nothing() {
    let server = server(LeaseVerification::Optional).await;
    let (held, _) = two_leases(&server).await;
    let own = header_of(&held, "w");
    let path = format!("/api/credentials/api?include_data=true&execution_id={}", held["execution"]);
    assert_eq!(get(&server, &path, Some(&own)).await, "200");
    tokio::time::sleep(super::LEASE * 2).await;
    let again = lease(&server, "next").await;
    assert_eq!(again["attempt"], 2, "{again}");
    let (first, second) = (held["command"] == again["command"], lease(&server, "next").await);
    assert!(first || second["command"] == held["command"], "{second}");
    assert_eq!(get(&server, &path, Some(&own)).await, NOT_HELD);
    let answer = report(&server, &held, "w", &[proof(&held, "w")]).await;
    assert_eq!(answer.body, json!({ "answers": ["superseded"] }));
}

/// A playbook whose steps refer to stored values: by the name of a step, by a reference in the workload,
/// and by one that a template puts together.
const VALUES: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: values, path: tests/values}
workload: {given: none, digest: none}
workflow:
  - step: start
    tool: {kind: python, code: 'result = 1'}
    next: {arcs: [{step: large}]}
  - step: large
    tool: {kind: python, input: {text: '{{ start.text }}'}, code: 'result = 1'}
    next: {arcs: [{step: given}]}
  - step: given
    tool: {kind: artifact, input: {result_ref: '{{ workload.given }}'}}
    next: {arcs: [{step: joined}]}
  - step: joined
    tool: {kind: artifact, input: {result_ref: \"noetl://payload/{{ workload.digest }}\"}}
";

#[tokio::test(start_paused = true)]
async fn a_command_loads_only_the_values_that_it_names() {
    let server = server(LeaseVerification::Optional).await;
    let _first_of_others = lease(&server, "w").await;
    let stored = |name: &'static str| {
        let value = json!({ "name": name, "data": { "of": name } }).to_string();
        let request = Request::put("/api/result/1")
            .header("authorization", format!("Bearer {WORKER}"))
            .header("content-type", "application/json");
        server.send(request.body(Body::from(value)).expect("a request"))
    };
    let (given, other) = (stored("given").await.body, stored("other").await.body);
    let digest = |value: &str| Digest::of(json!({ "of": value }).to_string().as_bytes());
    let payload = json!({ "given": given["ref"], "digest": digest("joined") });
    post(&server, ROOT, "/api/catalog/register", &json!({ "content": VALUES })).await;
    let start = json!({ "path": "tests/values", "payload": payload });
    assert_eq!(post(&server, ROOT, "/api/execute", &start).await.status, 200);
    let resolve = |value: &Value| {
        format!("/api/result/resolve?ref={}", value["ref"].as_str().expect("a reference"))
    };
    let text = json!({ "text": "x".repeat(noetl_model::PAYLOAD_INLINE_MAX) });
    let large = format!("/api/payloads/{}", Digest::of(text.to_string().as_bytes()));
    let joined = format!("/api/payloads/{}", digest("joined"));
    let (unnamed, missing) = ("403 value-not-named", "404 unknown-payload");
    for (step, output, expected) in [
        ("start", text, [unnamed, unnamed, unnamed, unnamed]),
        ("large", json!(1), ["200", unnamed, unnamed, unnamed]),
        ("given", json!(1), [unnamed, "200", unnamed, unnamed]),
        ("joined", json!(1), [unnamed, unnamed, missing, unnamed]),
    ] {
        let held = lease(&server, "w").await;
        assert_eq!(held["step"], step, "{held}");
        let own = header_of(&held, "w");
        let paths = [large.clone(), resolve(&given), joined.clone(), resolve(&other)];
        for (path, expected) in paths.iter().zip(expected) {
            assert_eq!(get(&server, path, Some(&own)).await, expected, "{step} {path}");
        }
        let outcome = json!({ "status": "completed", "output": output });
        let report = with(&held, json!({ "worker": "w", "outcome": outcome }));
        let body = json!({ "reports": [report], "proofs": [proof(&held, "w")] });
        post(&server, WORKER, "/api/worker/report", &body).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_uses_only_the_keychain_of_the_playbook_that_it_works_for() {
    for verification in [LeaseVerification::Optional, LeaseVerification::Required] {
        let server = server(verification).await;
        let (held, _) = two_leases(&server).await;
        let own = header_of(&held, "w");
        let execution = held["execution"].to_string();
        let request = Request::get(format!("/api/executions/{execution}"))
            .header("authorization", format!("Bearer {ROOT}"));
        let shown = server.send(request.body(Body::empty()).expect("a request")).await.body;
        let catalog = shown["catalog_id"].as_str().unwrap_or_else(|| panic!("{shown}"));
        let put = |name: &str| {
            let body = json!({ "data": { "token": "t" } }).to_string();
            let request = Request::post(format!("/api/keychain/{catalog}/{name}"))
                .header("authorization", format!("Bearer {WORKER}"))
                .header("x-noetl-lease", own.clone())
                .header("content-type", "application/json");
            server.send(request.body(Body::from(body)).expect("a request"))
        };
        assert_eq!(said(&put("api").await), "200");
        assert_eq!(said(&put("other").await), NOT_NAMED);
        for (path, proof, expected) in [
            (format!("{catalog}/api"), Some(&own), "200"),
            (format!("{catalog}/api?execution_id={execution}"), Some(&own), "200"),
            (format!("{catalog}/api?execution_id=7"), Some(&own), NOT_NAMED),
            (format!("{catalog}/other"), Some(&own), NOT_NAMED),
            ("7/api".to_owned(), Some(&own), NOT_NAMED),
            (format!("{catalog}/api?execution_id=7"), None, NOT_NAMED),
            (format!("{catalog}/other"), None, NOT_NAMED),
            (format!("{catalog}/api"), None, "200"),
        ] {
            let expected = match (verification, proof) {
                (LeaseVerification::Required, None) => MISSING,
                (LeaseVerification::Required | LeaseVerification::Optional, _) => expected,
            };
            let path = format!("/api/keychain/{path}");
            assert_eq!(get(&server, &path, proof.map(String::as_str)).await, expected, "{path}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_of_an_earlier_version_needs_no_secret_by_default() {
    let server = server(LeaseVerification::Optional).await;
    let (held, _) = two_leases(&server).await;
    assert_eq!(heartbeat(&server, &held, "w", &[]).await, "200");
    assert_eq!(logs(&server, &held, &[]).await, "200");
    let path = format!("/api/credentials/api?include_data=true&execution_id={}", held["execution"]);
    assert_eq!(get(&server, &path, None).await, "200");
    assert_eq!(report(&server, &held, "w", &[]).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn every_refusal_is_in_the_audit_log() {
    let server = server(LeaseVerification::Optional).await;
    let (held, others) = two_leases(&server).await;
    let mut wrong = proof(&held, "w");
    wrong["secret"] = others["secret"].clone();
    assert_eq!(heartbeat(&server, &held, "w", &[wrong]).await, INVALID);
    tokio::time::advance(std::time::Duration::from_millis(1)).await;
    let request =
        Request::get("/api/audit?action=lease.use").header("authorization", "Bearer root");
    let log = server.send(request.body(Body::empty()).expect("a request")).await.body;
    assert_eq!(log["entries"][0]["outcome"], "refused", "{log}");
    assert_eq!(log["entries"][0]["source"], "worker w", "{log}");
}

#[test]
fn a_lease_does_not_print_its_secret() {
    let secret = noetl_model::LeaseSecret::new("s3cret");
    assert_eq!(format!("{secret:?}"), "LeaseSecret(..)");
}
