//! Tests of the documents of `kind: Notification` over the API.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{HELLO, Server};

const OPS: &str = "\
apiVersion: noetl.io/v2
kind: Notification
metadata: {name: ops, path: tests/ops}
spec:
  match: {path: ['tests/*']}
  on:
    failed: {http: {url: 'https://alerts.example.com/failed'}}
";

async fn post(server: &Server, operation: &str, path: &str) -> Value {
    let answer =
        server.post(&format!("/api/notifications/{operation}"), json!({ "path": path })).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.body
}

pub(super) async fn a_notification_is_listed_paused_and_resumed(server: Server) {
    assert_eq!(server.get("/api/notifications").await.body, json!({ "notifications": [] }));
    server.register(OPS).await;
    let listed = server.get("/api/notifications").await.body;
    let first = &listed["notifications"][0];
    assert_eq!(first["path"], "tests/ops", "{listed}");
    assert_eq!(first["paths"], json!(["tests/*"]), "{listed}");
    assert_eq!(first["paused"], false, "{listed}");
    assert!(first["on"]["failed"].is_array(), "{listed}");
    // Each may be repeated: a lost answer is asked for again.
    for (operation, is_paused) in
        [("pause", true), ("pause", true), ("resume", false), ("resume", false)]
    {
        let listed = post(&server, operation, "tests/ops").await;
        assert_eq!(listed["notifications"][0]["paused"], is_paused, "{operation}: {listed}");
    }
}

pub(super) async fn a_playbook_that_is_not_a_notification_is_refused(server: Server) {
    server.register(HELLO).await;
    server.register(OPS).await;
    for operation in ["pause", "resume", "test"] {
        let refused = async |path: &str| {
            let body = json!({ "path": path });
            server.post(&format!("/api/notifications/{operation}"), body).await.problem()
        };
        assert_eq!(refused("tests/none").await, "404 unknown-notification", "{operation}");
        assert_eq!(refused("tests/hello").await, "409 not-a-notification", "{operation}");
    }
    // The test server has no transport.
    let tested = server.post("/api/notifications/test", json!({ "path": "tests/ops" })).await;
    assert_eq!(tested.problem(), "409 no-notifications");
}
