//! The description of the API, and that nothing it describes is open.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};

use super::Server;
use crate::{Access, Hosts, Scope, Token};

/// Every operation of the document.
async fn operations(server: &Server) -> Vec<(Method, String)> {
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
    let tokens = vec![Token::new("secret", [Scope::Admin])];
    let server = Server::with(Access::Tokens(tokens), Hosts::Any);
    let mut open = Vec::new();
    let operations = operations(&server).await;
    assert!(operations.len() > 30, "{operations:?}");
    for (method, path) in operations {
        let request = Request::builder().method(method).uri(path.replace(['{', '}'], "1"));
        let answer = server.send(request.body(Body::empty()).expect("a request")).await;
        if answer.status != StatusCode::UNAUTHORIZED {
            open.push(path);
        }
    }
    assert_eq!(open, ["/api/health", "/health", "/livez", "/readyz"]);
}

#[tokio::test(start_paused = true)]
async fn every_route_of_the_document_is_served() {
    let server = Server::new();
    // So that streams end.
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
