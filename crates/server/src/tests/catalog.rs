//! Tests of the catalog routes.

use std::time::Duration;

use axum::http::Method;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use expect_test::expect;
use serde_json::{Value, json};

use super::{HELLO, PARENT, Server};

pub(super) async fn a_valid_playbook_is_registered_once(server: Server) {
    let first = server.post("/api/catalog/register", json!({ "content": HELLO })).await;
    expect![[r#"
        200 {
          "status": "success",
          "message": "tests/hello is registered in version 1",
          "path": "tests/hello",
          "version": 1,
          "catalog_id": "<id as text>",
          "kind": "playbook",
          "restored": false,
          "warnings": []
        }
    "#]]
    .assert_eq(&first.shape());
    let again = server.post("/api/catalog/register", json!({ "content": HELLO })).await;
    assert_eq!(again.body["catalog_id"], first.body["catalog_id"]);
}

pub(super) async fn a_playbook_in_base64_is_the_same_playbook(server: Server) {
    server.register(HELLO).await;
    let body = json!({ "content": BASE64_STANDARD.encode(HELLO), "resource_type": "Playbook" });
    let answer = server.post("/api/catalog/register", body).await;
    assert_eq!(answer.body["version"], 1, "{}", answer.body);
}

pub(super) async fn an_invalid_playbook_is_answered_with_the_place_of_each_finding(server: Server) {
    let broken = HELLO.replace("next: second", "next: third");
    let answer = server.post("/api/catalog/register", json!({ "content": broken })).await;
    assert_eq!(answer.problem(), "422 invalid-playbook");
    expect![[r#"
        422 {
          "type": "urn:noetl:problem:invalid-playbook",
          "title": "Unprocessable Entity",
          "status": 422,
          "detail": "content: 1 error",
          "code": "invalid-playbook",
          "error": "content: 1 error",
          "errors": [
            "line 8, column 11: there is no step `third` (unknown-step)"
          ],
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
        }
    "#]]
    .assert_eq(&answer.shape());
}

pub(super) async fn each_item_of_a_batch_is_answered_for_itself(server: Server) {
    let items = json!({ "items": [{ "content": HELLO }, { "content": "kind: Playbook" }] });
    let mut answer = server.post("/api/catalog/register/batch", items).await;
    answer.body["results"][1]["diagnostics"] = json!("…");
    expect![[r#"
        200 {
          "registered": 1,
          "failed": 1,
          "results": [
            {
              "status": "registered",
              "index": 0,
              "path": "tests/hello",
              "version": 1,
              "catalog_id": "<id as text>",
              "restored": false
            },
            {
              "status": "error",
              "index": 1,
              "error": "content: 3 errors",
              "diagnostics": "…"
            }
          ]
        }
    "#]]
    .assert_eq(&answer.shape());
}

pub(super) async fn the_catalog_is_listed_whatever_the_case_of_the_kind(server: Server) {
    server.register(HELLO).await;
    server.register(PARENT).await;
    let list = async |body| server.post("/api/catalog/list", body).await;
    expect![[r#"
        200 {
          "entries": [
            {
              "catalog_id": "<id as text>",
              "path": "tests/hello",
              "kind": "playbook",
              "version": 1,
              "content": null,
              "payload": {
                "metadata": {
                  "name": "hello",
                  "path": "tests/hello"
                },
                "workflow": [
                  {
                    "step": "start",
                    "tool": {
                      "kind": "python",
                      "code": "pass",
                      "input": {
                        "name": "{{ workload.name }}"
                      }
                    },
                    "next": "second",
                    "type": "python"
                  },
                  {
                    "step": "second",
                    "tool": {
                      "kind": "noop",
                      "message": "{{ start.text }}"
                    },
                    "type": "noop"
                  }
                ]
              },
              "meta": {
                "registered_at": "<time>"
              },
              "created_at": "<time>"
            }
          ],
          "next_after": "tests/hello"
        }
    "#]]
    .assert_eq(&list(json!({ "resource_type": "Playbook", "limit": 1 })).await.shape());
    assert_eq!(list(json!({})).await.body["entries"].as_array().map(Vec::len), Some(2));
    assert_eq!(list(json!({ "path": "PARENT" })).await.body["entries"][0]["path"], "tests/parent");
    assert_eq!(list(json!({ "resource_type": "credential" })).await.body, json!({ "entries": [] }));
    let paths = server.get("/api/catalog/list/Playbook").await.body;
    assert_eq!(paths, json!(["tests/hello", "tests/parent"]));
}

pub(super) async fn a_resource_is_found_by_path_version_or_id(server: Server) {
    server.register(HELLO).await;
    let find = async |body| server.post("/api/catalog/resource", body).await;
    let found = find(json!({ "path": "tests/hello", "version": "latest" })).await;
    assert_eq!(found.body["content"], HELLO);
    assert_eq!(found.body["payload"], json!({ "name": "world" }));
    let by_id = find(json!({ "catalog_id": found.body["catalog_id"] })).await;
    assert_eq!(by_id.body, found.body);
    assert_eq!(find(json!({ "path": "tests/hello", "version": 1 })).await.body, found.body);
    let unknown = find(json!({ "path": "tests/hello", "version": "2" })).await;
    assert_eq!(unknown.problem(), "404 unknown-playbook");
    assert_eq!(find(json!({})).await.problem(), "422 no-playbook");
    let odd = find(json!({ "path": "tests/hello", "version": "new" })).await;
    assert_eq!(odd.problem(), "422 invalid-version");
}

pub(super) async fn the_form_of_a_playbook_is_read_off_its_workload(server: Server) {
    server.register(HELLO).await;
    let answer = server.get("/api/catalog/tests/hello/ui_schema").await;
    expect![[r#"
        200 {
          "path": "tests/hello",
          "version": 1,
          "kind": "playbook",
          "title": "hello",
          "description_markdown": null,
          "exposed_in_ui": false,
          "fields": [
            {
              "name": "name",
              "kind": "string",
              "default": "world",
              "description": null,
              "secret": false,
              "required": false,
              "credential_glob": null,
              "options": null,
              "children": null
            }
          ],
          "generated_at": "<time>"
        }
    "#]]
    .assert_eq(&answer.shape());
    assert_eq!(server.get("/api/catalog/x/ui_schema").await.problem(), "404 unknown-playbook");
    assert_eq!(server.get("/api/catalog/tests/hello").await.problem(), "404 unknown-path");
}

pub(super) async fn a_catalog_longer_than_a_page_is_read_page_by_page(server: Server) {
    let count = noetl_store::PAGE_MAX + 3;
    for number in 0..count {
        let content = HELLO.replace("tests/hello", &format!("tests/p{number:04}"));
        server.register(&content).await;
    }
    let list = async |body: Value| server.post("/api/catalog/list", body).await.body;
    let first = list(json!({ "resource_type": "PLAYBOOK" })).await;
    assert_eq!(first["entries"].as_array().map(Vec::len), Some(noetl_store::PAGE_MAX));
    let rest = list(json!({ "after": first["next_after"] })).await;
    assert_eq!(rest["entries"].as_array().map(Vec::len), Some(3));
    assert_eq!(rest["next_after"], Value::Null);
    let paths = server.get("/api/catalog/list/Playbook").await.body;
    assert_eq!(paths.as_array().map(Vec::len), Some(count));
    assert_eq!(server.get("/api/catalog/list/secret").await.body, json!([]));
}

/// Registers the first playbook; returns the id of its version.
async fn catalog_id(server: &Server) -> String {
    let answer = server.post("/api/catalog/register", json!({ "content": HELLO })).await;
    answer.body["catalog_id"].as_str().expect("an id").to_owned()
}

pub(super) async fn an_archived_playbook_is_hidden_and_starts_nothing_until_it_is_restored(
    server: Server,
) {
    let id = catalog_id(&server).await;
    server.register(&HELLO.replace("world", "moon")).await;
    let execute = async |body: Value| server.post("/api/execute", body).await;
    let started = execute(json!({ "path": "tests/hello" })).await;
    let execution = started.body["execution_id"].as_str().expect("an id").to_owned();
    let path = format!("/api/catalog/playbooks/{id}");
    let archived = server.call(Method::DELETE, &path, Value::Null).await;
    expect![[r#"
        200 {
          "status": "archived",
          "message": "tests/hello is archived with all its versions",
          "path": "tests/hello",
          "version": 2,
          "catalog_id": "<id as text>",
          "archived_at": "<time>"
        }
    "#]]
    .assert_eq(&archived.shape());
    let list = async |body: Value| server.post("/api/catalog/list", body).await.body;
    assert_eq!(list(json!({})).await["entries"], json!([]));
    assert_eq!(list(json!({ "archived": true })).await["entries"][0]["path"], "tests/hello");
    assert_eq!(server.get("/api/catalog/list/Playbook").await.body, json!([]));
    for body in [
        json!({ "path": "tests/hello" }),
        json!({ "path": "tests/hello", "version": 1 }),
        json!({ "catalog_id": id }),
        json!({ "path": "hello" }),
    ] {
        let refused = execute(body.clone()).await;
        assert_eq!(refused.problem(), "409 playbook-archived", "{body}");
        let detail = refused.body["detail"].as_str().unwrap_or_default();
        assert!(detail.contains("noetl catalog restore tests/hello"), "{detail}");
    }
    let rerun = server.post(&format!("/api/executions/{execution}/rerun"), json!({})).await;
    assert_eq!(rerun.problem(), "409 playbook-archived");
    let shown = server.get(&format!("/api/executions/{execution}")).await;
    assert_eq!((shown.status.as_u16(), &shown.body["status"]), (200, &json!("RUNNING")));
    let found = server.post("/api/catalog/resource", json!({ "path": "tests/hello" })).await;
    assert!(found.body["archived_at"].is_string(), "{}", found.body);
    let restored = server.post("/api/catalog/restore", json!({ "path": "tests/hello" })).await;
    assert_eq!((restored.status.as_u16(), &restored.body["status"]), (200, &json!("restored")));
    assert_eq!(execute(json!({ "path": "tests/hello" })).await.status.as_u16(), 200);
}

async fn archive_hello(server: &Server) {
    let body = json!({ "path": "tests/hello" });
    assert_eq!(server.post("/api/catalog/delete", body).await.body["status"], "archived");
}

pub(super) async fn a_step_that_calls_an_archived_playbook_says_how_to_restore_it(server: Server) {
    server.register(HELLO).await;
    server.register(PARENT).await;
    archive_hello(&server).await;
    let id = server.start("tests/parent").await;
    while server.status(&id).await != "FAILED" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let detail = server.get(&format!("/api/executions/{id}")).await.body;
    let error = detail["error"].to_string();
    for word in ["playbook-archived", "noetl catalog restore tests/hello"] {
        assert!(error.contains(word), "{detail}");
    }
}

pub(super) async fn a_schedule_of_an_archived_playbook_says_how_to_restore_it(server: Server) {
    server.register(HELLO).await;
    let schedule = "apiVersion: noetl.io/v1\nkind: Schedule\n\
        metadata: {name: nightly, path: schedules/nightly}\n\
        spec: {cron: 30 2 * * *, timezone: UTC, dispatch: {playbook: tests/hello}}\n";
    server.register(schedule).await;
    archive_hello(&server).await;
    let range = json!({
        "path": "schedules/nightly", "from": "2025-06-01T00:00:00Z", "until": "2025-06-02T00:00:00Z",
    });
    let refused = server.post("/api/schedules/backfill", range.clone()).await;
    assert_eq!(refused.problem(), "409 playbook-archived");
    let detail = refused.body["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("noetl catalog restore tests/hello"), "{detail}");
    server.post("/api/catalog/restore", json!({ "path": "tests/hello" })).await;
    let filled = server.post("/api/schedules/backfill", range).await.body;
    assert_eq!(filled["instants"][0]["started"], true, "{filled}");
}

pub(super) async fn registering_an_archived_playbook_restores_it(server: Server) {
    server.register(HELLO).await;
    let archive = async |body: Value| server.post("/api/catalog/delete", body).await;
    assert_eq!(archive(json!({ "path": "tests/hello" })).await.body["status"], "archived");
    let again = server.post("/api/catalog/register", json!({ "content": HELLO })).await.body;
    assert_eq!((&again["version"], &again["restored"]), (&json!(1), &json!(true)));
    let message = "tests/hello is registered in version 1 and restored: it was archived";
    assert_eq!(again["message"], message);
    assert_eq!(server.post("/api/execute", json!({ "path": "tests/hello" })).await.status, 200);
    assert_eq!(archive(json!({ "path": "none" })).await.problem(), "404 unknown-playbook");
    assert_eq!(archive(json!({})).await.problem(), "422 no-playbook");
}

pub(super) async fn a_playbook_is_found_by_its_id_or_its_only_name(server: Server) {
    let id = catalog_id(&server).await;
    let execute = async |body: Value| server.post("/api/execute", body).await;
    for path in [id.clone(), format!("pbk_{id}"), "hello".to_owned()] {
        let started = execute(json!({ "path": path })).await;
        assert_eq!(started.status.as_u16(), 200, "{path}: {}", started.body);
        let found = server.post("/api/catalog/resource", json!({ "path": path })).await;
        assert_eq!(found.body["path"], "tests/hello", "{path}");
    }
    server.register(&HELLO.replace("tests/hello", "tests/other")).await;
    let ambiguous = execute(json!({ "path": "hello" })).await;
    assert_eq!(ambiguous.problem(), "409 ambiguous-name");
    assert_eq!(ambiguous.body["candidates"], json!(["tests/hello", "tests/other"]));
    let found = server.post("/api/catalog/resource", json!({ "path": "hello" })).await;
    assert_eq!(found.problem(), "409 ambiguous-name");
    assert_eq!(execute(json!({ "path": "hell" })).await.problem(), "404 unknown-playbook");
    assert_eq!(execute(json!({ "path": "pbk_1" })).await.problem(), "404 unknown-playbook");
}

pub(super) async fn credentials_are_listed_and_shown_without_their_secrets(server: Server) {
    for name in ["pg_b", "pg_a"] {
        let credential =
            json!({ "name": name, "type": "postgres", "data": { "password": "hunter2" } });
        let kept = server.post("/api/credentials", credential).await;
        assert_eq!(kept.status.as_u16(), 200, "{}", kept.body);
    }
    let list = async |body: Value| server.post("/api/catalog/list", body).await;
    let listed = list(json!({ "resource_type": "Credential", "limit": 1 })).await;
    expect![[r#"
        200 {
          "entries": [
            {
              "catalog_id": "<id as text>",
              "path": "pg_a",
              "kind": "credential",
              "version": 1,
              "content": null,
              "payload": {
                "type": "postgres",
                "tags": [],
                "description": null
              },
              "meta": {
                "registered_at": "<time>"
              },
              "created_at": "<time>"
            }
          ],
          "next_after": "pg_a"
        }
    "#]]
    .assert_eq(&listed.shape());
    let rest = list(json!({ "resource_type": "credential", "after": "pg_a" })).await.body;
    assert_eq!((&rest["entries"][0]["path"], &rest["next_after"]), (&json!("pg_b"), &Value::Null));
    assert_eq!(server.get("/api/catalog/list/credential").await.body, json!(["pg_a", "pg_b"]));
    let shown = server.post("/api/catalog/resource", json!({ "path": "pg_b" })).await.body;
    assert_eq!((&shown["kind"], &shown["path"]), (&json!("credential"), &json!("pg_b")));
    for told in [listed.body, rest, shown] {
        assert!(!told.to_string().contains("hunter2"), "{told}");
    }
    let unknown = server.post("/api/catalog/resource", json!({ "path": "pg_c" })).await;
    assert_eq!(unknown.problem(), "404 unknown-playbook");
}
