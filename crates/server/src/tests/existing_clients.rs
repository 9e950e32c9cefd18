//! Calls of the existing command line and web interface that have no test elsewhere, on every kind
//! of store.

use serde_json::{Value, json};

use super::{HELLO, Server};

pub(super) async fn a_list_without_a_limit_has_two_hundred_rows(server: Server) {
    let event = |id: i64| json!({ "event_id": id, "execution_id": id, "event_type": "playbook_started", "node_name": "a" });
    let events: Vec<Value> = (1..=201).map(event).collect();
    let stored = server.post("/api/internal/events/project", json!({ "events": events })).await;
    assert_eq!(stored.body["projected"], 201, "{}", stored.body);
    let listed = server.get("/api/executions").await.body;
    assert_eq!(listed.as_array().map(Vec::len), Some(200));
    let listed = server.get("/api/executions?limit=201").await.body;
    assert_eq!(listed.as_array().map(Vec::len), Some(201));
}

pub(super) async fn an_execution_of_a_list_is_viewed_and_stopped_by_its_id(server: Server) {
    server.register(HELLO).await;
    server.start("tests/hello").await;
    let listed = server.get("/api/executions").await.body[0].clone();
    let id = listed["execution_id"].as_str().expect("a text, which a browser does not round");
    for key in ["start_time", "duration_human"] {
        assert!(listed[key].is_string(), "{key} in {listed}");
    }
    let viewed = server.get(&format!("/api/executions/{id}")).await.body;
    assert_eq!((&viewed["execution_id"], &viewed["status"]), (&json!(id), &json!("RUNNING")));
    let stopped = server.post(&format!("/api/executions/{id}/stop"), json!({})).await;
    assert_eq!(stopped.status, 200, "{}", stopped.body);
    assert_eq!(server.status(id).await, "CANCELLED");
}

pub(super) async fn account_endpoints_name_the_setting_of_tokens(server: Server) {
    for path in ["/api/auth/login", "/api/auth/validate", "/api/auth/check-access"] {
        let answer = server.post(path, json!({ "session_token": "forged" })).await;
        assert_eq!(answer.problem(), "501 no-accounts", "{path}");
        let detail = answer.body["detail"].as_str().unwrap_or_default();
        assert!(detail.contains("NOETL_API_TOKEN"), "{detail}");
    }
}
