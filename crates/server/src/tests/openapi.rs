//! Tests of the OpenAPI document, and of the authorization of every operation in it.

use std::fmt::Write as _;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use expect_test::expect_file;
use serde_json::{Value, json};

use super::Server;
use crate::{Authentication, Hosts, Limits, Rate, Scope, ServerSettings, Token};

/// Creates a server with tokens and a high limit of refusals.
fn guarded(tokens: Vec<Token>) -> Server {
    let limits = Limits { refusals: Rate::per_second(1, 10_000), ..Limits::default() };
    Server::set(ServerSettings {
        limits,
        ..ServerSettings::new(Authentication::Tokens(tokens), Hosts::Any)
    })
}

/// Returns all operations of the OpenAPI document.
pub(super) async fn operations(server: &Server) -> Vec<(Method, String)> {
    let document = server.get("/api/openapi.json").await.body;
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().expect("paths").clone();
    let of_path = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().expect("operations").keys();
        methods.filter_map(move |method| {
            let method = method.to_uppercase().parse::<Method>().ok()?;
            Some((method, path.clone()))
        })
    });
    of_path.collect()
}

#[tokio::test(start_paused = true)]
async fn every_route_of_the_document_wants_a_token_unless_it_is_public() {
    let server = guarded(vec![Token::new("secret", [Scope::Admin])]);
    let mut open = Vec::new();
    let operations = operations(&server).await;
    assert!(operations.len() > 30, "{operations:?}");
    for (method, path) in operations {
        let request = Request::builder().method(method).uri(path.replace(['{', '}'], "1"));
        let answer = server.send(request.body(Body::empty()).expect("a request")).await;
        let is_refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&answer.status);
        if !is_refused {
            open.push(path);
        }
    }
    // Senders of messages are known by their signature; one without is refused like one without a token.
    assert_eq!(open, ["/api/docs", "/api/health", "/health", "/livez", "/readyz"]);
}

/// Compares the access matrix per scope: `.` allowed, `-` refused.
#[tokio::test(start_paused = true)]
async fn every_route_of_the_document_is_open_to_its_scopes_only() {
    let tokens = Scope::ALL.iter().map(|scope| Token::new(scope.name(), [*scope])).collect();
    let server = guarded(tokens);
    server.state.drain();
    let mut matrix = String::new();
    for (method, path) in operations(&server).await {
        let mut row = String::new();
        for scope in Scope::ALL {
            let request = Request::builder()
                .method(method.clone())
                .uri(path.replace(['{', '}'], "1"))
                .header(header::AUTHORIZATION, format!("Bearer {}", scope.name()));
            let answer = server.send(request.body(Body::empty()).expect("a request")).await;
            let is_refused = answer.body["code"] == "forbidden";
            row.push(if is_refused { '-' } else { '.' });
        }
        writeln!(matrix, "{row} {method} {path}").expect("a string takes everything");
    }
    expect_file!["openapi/scopes.txt"].assert_eq(&matrix);
}

/// Spellings of a path that the access check might read differently from the router.
#[tokio::test(start_paused = true)]
async fn no_way_of_writing_a_path_leads_past_the_guard() {
    let server = guarded(vec![Token::new("secret", [Scope::Admin])]);
    for path in [
        "//api/executions",
        "/api//executions",
        "/api/./executions",
        "/health/../api/executions",
        "/api/executions/",
        "/api/executions;/health",
        "/api/executions%2f",
        "/API/executions",
        "/api/executions/1/health",
        "/api/openapi.json/",
        "/api/health/x",
        "/api/internal/objects/a",
    ] {
        let answer = server.get(path).await;
        let is_refused = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&answer.status);
        assert!(is_refused, "{path}: {}", answer.status);
    }
}

#[tokio::test(start_paused = true)]
async fn every_route_of_the_document_is_served() {
    let server = Server::new();
    // Draining ends the streams.
    server.state.drain();
    for (method, path) in operations(&server).await {
        let request = Request::builder().method(method.clone()).uri(path.replace(['{', '}'], ""));
        let answer = server.send(request.body(Body::empty()).expect("a request")).await;
        let code = answer.body["code"].as_str().unwrap_or_default();
        assert!(!["unknown-path", "wrong-method"].contains(&code), "{method} {path}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_operation_has_a_name_of_its_own() {
    let document = Server::new().get("/api/openapi.json").await.body;
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.values().flat_map(|item| item.as_object().expect("operations").values());
    let names = operations.map(|operation| operation["operationId"].as_str().expect("a name"));
    let mut names: Vec<&str> = names.collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[tokio::test(start_paused = true)]
async fn every_operation_says_how_it_fails_and_who_may_ask() {
    let document = Server::new().get("/api/openapi.json").await.body;
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    let paths = document["paths"].as_object().expect("paths");
    for (path, item) in paths {
        for (method, operation) in item.as_object().expect("operations") {
            let default = &operation["responses"]["default"]["content"];
            assert!(default["application/problem+json"].is_object(), "{method} {path}");
            let is_public = operation["security"] == json!([]);
            assert_eq!(operation["x-scopes"].is_null(), is_public, "{method} {path}");
        }
    }
    let form = &document["paths"]["/api/catalog/{path}/ui_schema"]["get"];
    assert!(form["responses"]["200"]["content"].is_object(), "{form}");
}

/// Every referenced schema exists.
#[tokio::test(start_paused = true)]
async fn no_reference_of_the_document_leads_nowhere() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let document = Server::new().get("/api/openapi.json").await.body;
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 30, "{found:?}");
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("it is in the document");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_page_that_shows_the_document_runs_nothing_from_elsewhere() {
    let server = Server::new();
    for (path, kind) in [
        ("/api/docs", "text/html; charset=utf-8"),
        ("/api/docs/page.css", "text/css"),
        ("/api/docs/page.js", "text/javascript"),
    ] {
        let answer = server.get(path).await;
        assert_eq!(answer.headers[header::CONTENT_TYPE], kind);
        let policy = answer.headers[header::CONTENT_SECURITY_POLICY].to_str().expect("text");
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        let text = answer.body.as_str().expect("text").to_owned();
        for foreign in ["http://", "https://", "<script>", "innerHTML", " style="] {
            assert!(!text.contains(foreign), "{foreign} in {path}");
        }
    }
}
