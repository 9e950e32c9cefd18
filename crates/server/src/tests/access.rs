//! Who is let in, and what is said to those who ask for nothing that is there.

use axum::body::Body;
use axum::http::{Request, header};
use serde_json::json;

use super::Server;
use crate::{Access, Hosts, Scope, Token};

fn guarded() -> Server {
    let tokens = vec![
        Token::new("reader", [Scope::Read]),
        Token::new("runner", [Scope::Run]),
        Token::new("worker", [Scope::Work]),
        Token::new("root", [Scope::Admin]),
    ];
    Server::with(Access::Tokens(tokens), Hosts::Any)
}

async fn check(request: axum::http::request::Builder, expected: &str) {
    let request = request.header(header::CONTENT_TYPE, "application/json");
    let answer = guarded().send(request.body(Body::from("{}")).expect("a request")).await;
    let found = if answer.status.is_success() { "ok".to_owned() } else { answer.problem() };
    assert_eq!(found, expected);
}

fn bearer(value: &str, path: &str) -> axum::http::request::Builder {
    Request::get(path).header(header::AUTHORIZATION, value)
}

#[tokio::test(start_paused = true)]
async fn without_a_token_only_public_paths_answer() {
    check(Request::get("/api/executions"), "401 unauthorized").await;
    check(Request::get("/no/such/path"), "401 unauthorized").await;
    check(Request::get("/livez"), "ok").await;
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_not_known_is_refused() {
    check(bearer("Bearer guess", "/api/executions"), "401 unauthorized").await;
    check(bearer("Basic reader", "/api/executions"), "401 unauthorized").await;
    check(bearer("Bearer ", "/api/executions"), "401 unauthorized").await;
}

#[tokio::test(start_paused = true)]
async fn the_scheme_is_understood_whatever_its_case() {
    check(bearer("bEaReR reader", "/api/executions"), "ok").await;
}

#[tokio::test(start_paused = true)]
async fn a_token_is_good_for_its_scopes_only() {
    let post = |token: &str, path: &str| {
        Request::post(path).header(header::AUTHORIZATION, format!("Bearer {token}"))
    };
    check(post("reader", "/api/execute"), "403 forbidden").await;
    check(post("runner", "/api/execute"), "422 no-playbook").await;
    check(bearer("Bearer runner", "/api/executions"), "ok").await;
    check(post("runner", "/api/executions/1/finalize"), "403 forbidden").await;
    check(post("root", "/api/executions/1/finalize"), "422 invalid-body").await;
    check(post("runner", "/api/events"), "403 forbidden").await;
    check(post("worker", "/api/events"), "422 invalid-body").await;
    check(bearer("Bearer worker", "/api/executions"), "403 forbidden").await;
}

#[tokio::test(start_paused = true)]
async fn a_server_on_loopback_answers_to_its_own_names_only() {
    let server = Server::with(Access::Open, Hosts::Loopback);
    let check = async |host: &str, expected: u16| {
        let request = Request::get("/health").header(header::HOST, host);
        let answer = server.send(request.body(Body::empty()).expect("a request")).await;
        assert_eq!(answer.status.as_u16(), expected, "{host}");
    };
    check("localhost:8082", 200).await;
    check("[::1]:8082", 200).await;
    check("rebound.example:8082", 421).await;
    assert_eq!(server.get("/health").await.problem(), "421 wrong-host");
}

#[tokio::test(start_paused = true)]
async fn a_server_on_loopback_answers_no_page_of_another_site() {
    let server = Server::with(Access::Open, Hosts::Loopback);
    let check = async |origin: &str, expected: u16| {
        let request = Request::get("/health").header(header::HOST, "localhost:8082");
        let request = request.header(header::ORIGIN, origin).body(Body::empty());
        let answer = server.send(request.expect("a request")).await;
        assert_eq!(answer.status.as_u16(), expected, "{origin}");
    };
    check("http://localhost:3000", 200).await;
    check("https://evil.example", 403).await;
    check("null", 403).await;
}

#[tokio::test(start_paused = true)]
async fn unknown_paths_and_methods_are_problems_too() {
    let server = Server::new();
    assert_eq!(server.get("/nowhere").await.problem(), "404 unknown-path");
    assert_eq!(server.get("/api/execute").await.problem(), "405 wrong-method");
}

#[tokio::test(start_paused = true)]
async fn bodies_paths_and_queries_that_cannot_be_read_are_problems_too() {
    let server = Server::new();
    let post = async |content_type: &str, body: String| {
        let request = Request::post("/api/execute").header(header::CONTENT_TYPE, content_type);
        server.send(request.body(Body::from(body)).expect("a request")).await.problem()
    };
    assert_eq!(post("application/json", "{".into()).await, "400 not-json");
    assert_eq!(post("application/json", "[1]".into()).await, "422 invalid-body");
    assert_eq!(post("text/plain", "{}".into()).await, "415 content-type");
    let long = json!({ "path": "x".repeat(5 * 1024 * 1024) }).to_string();
    assert_eq!(post("application/json", long).await, "413 body-too-large");
    assert_eq!(server.get("/api/executions/x").await.problem(), "400 invalid-path");
    assert_eq!(server.get("/api/executions?limit=-1").await.problem(), "400 invalid-query");
}

#[tokio::test(start_paused = true)]
async fn every_answer_carries_the_id_of_its_request() {
    let server = Server::new();
    let request = Request::get("/nowhere").header("x-request-id", "mine");
    let answer = server.send(request.body(Body::empty()).expect("a request")).await;
    assert_eq!(answer.headers["x-request-id"], "mine");
    assert!(server.get("/health").await.headers.contains_key("x-request-id"));
}
