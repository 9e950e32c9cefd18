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
    let valid = json!({ "valid": true, "errors": [], "warnings": [], "diagnostics": [] });
    assert_eq!(check(HELLO).await.body, valid);
    let found = check(&HELLO.replace("next: second", "next: third")).await.body;
    expect![[r#"
        {
          "valid": false,
          "errors": [
            "line 8, column 11: there is no step `third` (unknown-step)"
          ],
          "warnings": [],
          "diagnostics": [
            {
              "file": "content",
              "line": 8,
              "column": 11,
              "code": "unknown-step",
              "severity": "error",
              "message": "there is no step `third`",
              "source": "    next: third"
            }
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&found).expect("JSON"));
    let listed = server.post("/api/catalog/list", json!({})).await.body;
    assert_eq!(listed["entries"], json!([]));
}

pub(super) async fn a_document_that_is_no_playbook_is_never_quoted(server: Server) {
    for content in [
        "apiVersion: noetl.io/v2\nkind: Credential\nmetadata: {name: pg}\npassword: hunter2\n",
        "{\"name\": \"pg\", \"type\": \"postgres\", \"data\": {\"password\": \"hunter2\"}}",
        "kind: Credential\napiVersion: noetl.io/v2\npassword: [hunter2\n",
    ] {
        let body = json!({ "content": content });
        let checked = server.post("/api/catalog/playbooks/validate", body.clone()).await;
        let refused = server.post("/api/catalog/register", body).await;
        assert_eq!(refused.problem(), "422 invalid-playbook");
        assert!(refused.body["errors"][0].is_string(), "{}", refused.body);
        for told in [checked.body, refused.body] {
            assert!(!told.to_string().contains("hunter2"), "{told}");
            assert_eq!(told["diagnostics"][0].get("source"), None, "{told}");
        }
    }
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
    // Existing clients send the slashes of an id as they are, others encode them.
    for path in ["/api/playbook-tests/suites/tests%2Fhello", "/api/playbook-tests/suites/a/b"] {
        assert_eq!(server.get(path).await.problem(), "404 unknown-suite");
        let suite = json!({ "playbook_path": "tests/hello", "tests": [{ "name": "greets" }] });
        let saved = server.call(Method::PUT, path, suite.clone()).await;
        assert_eq!((saved.status, &saved.body["tests"]), (StatusCode::OK, &suite["tests"]));
        let shown = server.get(path).await.body;
        assert_eq!(shown, saved.body);
        assert_eq!(shown["playbook_path"], "tests/hello");
        assert_eq!(shown["metadata"], json!({}));
        assert!(shown["suite_id"].is_string() && shown["updated_at"].is_string(), "{shown}");
        let gone = server.call(Method::DELETE, path, Value::Null).await;
        assert_eq!((gone.status, &gone.body["status"]), (StatusCode::OK, &json!("deleted")));
        assert_eq!(server.get(path).await.problem(), "404 unknown-suite");
        let again = server.call(Method::DELETE, path, Value::Null).await;
        assert_eq!(again.problem(), "404 unknown-suite");
    }
    let long = format!("/api/playbook-tests/suites/{}", "x".repeat(201));
    assert_eq!(server.get(&long).await.problem(), "422 invalid-name");
}

pub(super) async fn an_unsupported_endpoint_names_the_way_out(server: Server) {
    for path in ["/api/catalog/playbooks/explain/ai", "/api/catalog/playbooks/generate/ai"] {
        assert_eq!(server.post(path, json!({})).await.problem(), "501 no-language-model");
    }
    for path in ["/api/executions/1/analyze", "/api/executions/1/analyze/ai"] {
        assert_eq!(server.post(path, json!({})).await.problem(), "501 no-analyses");
    }
}

pub(super) async fn an_editor_is_helped_with_tokens_findings_and_completions(server: Server) {
    let text = HELLO.replace("next: second", "next: secnd");
    let body = json!({ "content": text });
    let found = server.post("/api/catalog/playbooks/analyze", body).await.body;
    assert_eq!(found["tokens"][0], json!([0, 10, "key"]), "{found}");
    assert_eq!(found["findings"][0]["code"], "unknown-step", "{found}");
    assert_eq!(found["is_valid"], false);
    let offset = text.find("secnd").expect("the word") + 5;
    let body = json!({ "content": text, "offset": offset });
    let found = server.post("/api/catalog/playbooks/complete", body).await.body;
    assert_eq!(found["items"][0]["label"], "second", "{found}");
    let long = json!({ "content": "#".repeat(600_000) });
    let refused = server.post("/api/catalog/playbooks/analyze", long).await;
    assert_eq!(refused.problem(), "413 too-large");
}
