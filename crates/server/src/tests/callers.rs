//! Tests of the names of callers: the name of a token counts before every name that a request states.

use axum::body::Body;
use axum::http::{Method, Request, header};
use serde_json::{Value, json};

use super::{Answer, Server};
use crate::{Authentication, Hosts, Token};

const TOKENS: &str = "ada@run=of-ada bob@run=of-bob run=of-nobody admin=of-root";

const RELEASE: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: release, path: tests/release}
workflow:
  - step: start
    tool: {kind: approval, title: Release, approvers: [ada]}
";

const ANYBODY: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: anybody, path: tests/anybody}
workflow:
  - step: start
    tool: {kind: approval, title: Release}
";

const WAITS: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: waits, path: tests/waits}
workflow:
  - step: start
    tool: {kind: wait, signal: go, key: k}
";

fn guarded() -> Server {
    let tokens = Token::read_all(TOKENS).expect("tokens");
    Server::with(Authentication::Tokens(tokens), Hosts::Any)
}

/// Sends a request with a token that states `ada` as its sender in a header.
async fn post_as_ada(server: &Server, token: &str, path: &str, body: Value) -> Answer {
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header("X-Noetl-Actor", "ada")
        .body(Body::from(body.to_string()));
    server.send(request.expect("a request")).await
}

async fn get(server: &Server, path: &str) -> Value {
    let request = Request::get(path).header(header::AUTHORIZATION, "Bearer of-root");
    server.send(request.body(Body::empty()).expect("a request")).await.body
}

async fn started(server: &Server, content: &str, path: &str) -> String {
    let root = "of-root";
    let body = json!({ "content": content });
    let registered = post_as_ada(server, root, "/api/catalog/register", body).await;
    assert!(registered.status.is_success(), "{}", registered.body);
    let started = post_as_ada(server, root, "/api/execute", json!({ "path": path })).await;
    started.body["execution_id"].as_str().expect("an id").to_owned()
}

#[tokio::test(start_paused = true)]
async fn the_name_of_a_token_decides_about_an_approval_whatever_the_request_states() {
    let server = guarded();
    let execution = started(&server, RELEASE, "tests/release").await;
    let path = format!("/api/approvals/{execution}/0/decision");
    let approve = || json!({ "decision": "approve", "actor": "ada" });
    let by_bob = post_as_ada(&server, "of-bob", &path, approve()).await;
    assert_eq!(by_bob.problem(), "403 not-an-approver");
    for stated in ["of-nobody", "of-root"] {
        let by_nobody = post_as_ada(&server, stated, &path, approve()).await;
        assert_eq!(by_nobody.problem(), "403 name-not-checked", "{stated}");
    }
    let decided = post_as_ada(&server, "of-ada", &path, approve()).await;
    let decision = &decided.body["decision"];
    assert_eq!((&decision["actor"], &decision["actor_stated"]), (&json!("ada"), &json!(false)));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_stated_counts_for_an_approval_without_approvers() {
    let server = guarded();
    let execution = started(&server, ANYBODY, "tests/anybody").await;
    let path = format!("/api/approvals/{execution}/0/decision");
    let approve = json!({ "decision": "approve", "actor": "ada" });
    let decided = post_as_ada(&server, "of-nobody", &path, approve).await;
    let decision = &decided.body["decision"];
    assert_eq!((&decision["actor"], &decision["actor_stated"]), (&json!("ada"), &json!(true)));
}

#[tokio::test(start_paused = true)]
async fn a_link_for_an_approver_is_made_by_himself_or_by_an_administrator() {
    let server = guarded();
    let execution = started(&server, RELEASE, "tests/release").await;
    let path = format!("/api/approvals/{execution}/0/link");
    let for_ada = || json!({ "actor": "ada" });
    for other in ["of-bob", "of-nobody"] {
        let refused = post_as_ada(&server, other, &path, for_ada()).await;
        assert_eq!(refused.problem(), "403 link-for-another", "{other}");
    }
    for (token, maker) in [("of-ada", "ada"), ("of-root", "ada (unverified)")] {
        let made = post_as_ada(&server, token, &path, for_ada()).await;
        let link = made.body["path"].as_str().expect("a path").replace("/ui/decide/", "");
        let (ticket, _) = server.state.app().open_approval_link(&link).await.expect("a link");
        assert_eq!((ticket.actor.as_deref(), &*ticket.made_by), (Some("ada"), maker));
    }
    let anybody = started(&server, ANYBODY, "tests/anybody").await;
    let path = format!("/api/approvals/{anybody}/0/link");
    let made = post_as_ada(&server, "of-bob", &path, for_ada()).await;
    assert!(made.status.is_success(), "{}", made.body);
}

#[tokio::test(start_paused = true)]
async fn the_name_of_a_token_is_that_of_a_pause() {
    let server = guarded();
    let body = json!({ "actor": "ada" });
    let path = "/api/pools/gpu/pause";
    for (token, expected) in [("of-bob", "bob"), ("of-nobody", "ada (unverified)")] {
        let paused = post_as_ada(&server, token, path, body.clone()).await;
        assert!(paused.status.is_success(), "{}", paused.body);
        let listed = get(&server, "/api/pauses").await;
        assert_eq!(listed["pauses"][0]["actor"], expected, "{listed}");
        post_as_ada(&server, token, "/api/pools/gpu/resume", json!({})).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_signal_by_key_records_its_sender() {
    let server = guarded();
    let execution = started(&server, WAITS, "tests/waits").await;
    let sent = post_as_ada(&server, "of-bob", "/api/signals/go?key=k", json!(1)).await;
    assert_eq!(sent.body["status"], "delivered", "{}", sent.body);
    let events = get(&server, &format!("/api/executions/{execution}/events")).await.to_string();
    assert!(events.contains(r#""actor":"bob""#), "{events}");
}
