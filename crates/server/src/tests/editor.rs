//! Tests of the routes for playbook editors.

use axum::http::{Method, StatusCode};
use expect_test::expect;
use serde_json::{Value, json};

use super::{HELLO, PARENT, Server};

pub(super) async fn an_editor_opens_checks_and_saves_a_playbook(server: Server) {
    server.register(HELLO).await;
    let open =
        async |query: &str| server.get(&format!("/api/catalog/playbook/content?{query}")).await;
    let first = open("path=tests/hello").await;
    assert_eq!((&first.body["version"], &first.body["content"]), (&json!(1), &json!(HELLO)));
    let changed = HELLO.replace("world", "moon");
    let put = async |path: &str, body: Value| server.call(Method::PUT, path, body).await;
    let body = json!({ "content": changed, "playbook_id": first.body["catalog_id"] });
    let saved = put("/api/catalog/playbook", body).await;
    assert_eq!((saved.status, &saved.body["version"]), (StatusCode::OK, &json!(2)));
    let path = "/api/catalog/playbook/content?playbook_id=tests/hello";
    let saved = put(path, json!({ "content": HELLO.replace("world", "sun") })).await;
    assert_eq!(saved.body["version"], 3, "{}", saved.body);
    let id = first.body["catalog_id"].as_str().expect("an id").to_owned();
    assert_eq!(open(&format!("playbook_id={id}")).await.body["version"], 1);
    assert_eq!(open("path=tests/hello&version=2").await.body["content"], changed);
    assert_eq!(open("path=none").await.problem(), "404 unknown-playbook");
    assert_eq!(open("").await.problem(), "422 no-playbook");
    assert_eq!(open("path=tests/hello&version=x").await.problem(), "422 invalid-version");
    let other = put(path, json!({ "content": PARENT })).await;
    assert_eq!(other.problem(), "409 other-path");
    let broken = put(path, json!({ "content": "kind: Playbook" })).await;
    assert_eq!(broken.problem(), "422 invalid-playbook");
}

pub(super) async fn a_playbook_is_checked_without_being_kept(server: Server) {
    let check = async |content: &str| {
        let body = json!({ "content": content });
        server.post("/api/catalog/playbooks/validate", body).await
    };
    assert_eq!(check(HELLO).await.body, json!({ "valid": true, "errors": [], "warnings": [] }));
    let found = check(&HELLO.replace("next: second", "next: third")).await.body;
    expect![[r#"[false,"unknown-step",8,11]"#]].assert_eq(
        &json!([
            found["valid"],
            found["errors"][0]["code"],
            found["errors"][0]["line"],
            found["errors"][0]["column"]
        ])
        .to_string(),
    );
    let listed = server.post("/api/catalog/list", json!({})).await.body;
    assert_eq!(listed["entries"], json!([]));
}

pub(super) async fn agents_are_listed_apart(server: Server) {
    server.register(HELLO).await;
    let agent = PARENT.replace("metadata: {", "metadata: {agent: true, ");
    server.register(&agent).await;
    let listed = server.post("/api/catalog/agents/list", json!({})).await.body;
    let entries = listed["entries"].as_array().expect("entries");
    let paths: Vec<&str> = entries.iter().filter_map(|it| it["path"].as_str()).collect();
    assert_eq!(paths, ["tests/parent"]);
}

pub(super) async fn tests_of_a_playbook_are_kept_and_forgotten(server: Server) {
    let path = "/api/playbook-tests/suites/tests%2Fhello";
    assert_eq!(server.get(path).await.problem(), "404 unknown-suite");
    let suite = json!({ "cases": [{ "name": "greets", "assert": "result.ok" }] });
    let saved = server.call(Method::PUT, path, suite.clone()).await;
    assert_eq!((saved.status, &saved.body), (StatusCode::OK, &suite));
    assert_eq!(server.get(path).await.body, suite);
    let gone = server.call(Method::DELETE, path, Value::Null).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert_eq!(server.get(path).await.problem(), "404 unknown-suite");
    let again = server.call(Method::DELETE, path, Value::Null).await;
    assert_eq!(again.problem(), "404 unknown-suite");
    let long = format!("/api/playbook-tests/suites/{}", "x".repeat(201));
    assert_eq!(server.get(&long).await.problem(), "422 invalid-name");
}

pub(super) async fn what_is_not_served_says_the_way_out(server: Server) {
    let deleted = server.call(Method::DELETE, "/api/catalog/playbooks/1", Value::Null).await;
    assert_eq!(deleted.problem(), "501 kept-for-ever");
    for path in ["/api/catalog/playbooks/explain/ai", "/api/catalog/playbooks/generate/ai"] {
        assert_eq!(server.post(path, json!({})).await.problem(), "501 no-language-model");
    }
    for path in ["/api/executions/1/analyze", "/api/executions/1/analyze/ai"] {
        assert_eq!(server.post(path, json!({})).await.problem(), "501 no-analyses");
    }
}
