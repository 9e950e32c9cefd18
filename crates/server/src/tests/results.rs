//! Tests of named results.

use axum::http::Method;
use expect_test::expect;
use serde_json::{Value, json};

use super::{Answer, Server};

async fn put(server: &Server, execution: &str, body: Value) -> Answer {
    server.call(Method::PUT, &format!("/api/result/{execution}"), body).await
}

async fn resolve(server: &Server, reference: &str) -> Answer {
    server.get(&format!("/api/result/resolve?ref={reference}")).await
}

pub(super) async fn a_value_is_stored_and_fetched_by_its_reference(server: Server) {
    let data = json!({ "b": [1, 2.5], "a": "ü" });
    let stored = put(&server, "7", json!({ "name": "a/b", "data": data })).await;
    let reference = stored.body["ref"].as_str().expect("a reference").to_owned();
    assert!(reference.starts_with("noetl://execution/7/result/a/b/"), "{reference}");
    let mut shown = stored.body.clone();
    shown["ref"] = json!("<ref>");
    expect![[r#"{"ref":"<ref>","store":"db","scope":"execution","bytes":22,"sha256":"75151e181452ee19f62c437a12e96bbbe4453c199f041abfe6b18ab3cb8f3c4f","expires_at":null}"#]]
        .assert_eq(&shown.to_string());
    let found = resolve(&server, &reference).await;
    assert_eq!(found.body.to_string(), data.to_string(), "also the order of its keys");
}

pub(super) async fn the_same_value_under_the_same_name_has_one_reference(server: Server) {
    let reference = async |execution: &str, name: &str, data: Value| {
        put(&server, execution, json!({ "name": name, "data": data })).await.body["ref"].clone()
    };
    let first = reference("7", "a", json!([1])).await;
    assert_eq!(reference("7", "a", json!([1])).await, first);
    assert_ne!(reference("7", "a", json!([2])).await, first);
    assert_ne!(reference("7", "b", json!([1])).await, first);
    assert_ne!(reference("8", "a", json!([1])).await, first);
}

#[tokio::test(start_paused = true)]
async fn a_value_with_an_end_is_gone_after_it() {
    let server = Server::new();
    let stored = put(&server, "7", json!({ "name": "a", "data": 1, "ttl": "2h" })).await;
    assert!(stored.body["expires_at"].is_string(), "{}", stored.body);
    let reference = stored.body["ref"].as_str().expect("a reference").to_owned();
    assert_eq!(resolve(&server, &reference).await.body, 1);
    tokio::time::advance(std::time::Duration::from_secs(2 * 60 * 60)).await;
    assert_eq!(resolve(&server, &reference).await.problem(), "404 unknown-result");
}

pub(super) async fn an_invalid_or_unknown_result_has_a_problem_code(server: Server) {
    let deep = (0..120).fold(json!(1), |inner, _| json!([inner]));
    let check = async |execution: &str, body: Value, expected: &str| {
        assert_eq!(put(&server, execution, body).await.problem(), expected);
    };
    check("7", json!({ "name": "", "data": 1 }), "422 result-name").await;
    check("7", json!({ "name": "a", "data": deep }), "422 payload-too-large").await;
    check("7", json!({ "data": 1 }), "422 invalid-body").await;
    check("x", json!({ "name": "a", "data": 1 }), "400 invalid-path").await;
    assert_eq!(resolve(&server, "nonsense").await.problem(), "400 invalid-reference");
    let unknown = resolve(&server, "noetl://execution/7/result/a/1").await;
    assert_eq!(unknown.problem(), "404 unknown-result");
    assert_eq!(server.get("/api/result/resolve").await.problem(), "400 invalid-query");
}
