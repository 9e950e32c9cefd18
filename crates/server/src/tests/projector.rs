//! Tests of events of other programs, on every kind of store.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{HELLO, Server};

async fn project(server: &Server, events: Value) -> super::Answer {
    server.post("/api/internal/events/project", json!({ "events": events })).await
}

async fn projected(server: &Server, execution: i64) -> Vec<Value> {
    let path = format!("/api/internal/events/projected?execution_id={execution}");
    server.get(&path).await.body["events"].as_array().expect("events").clone()
}

pub(super) async fn events_of_others_are_kept_once_and_whole(server: Server) {
    let first = json!({
        "event_id": 11, "execution_id": "7", "event_type": "step.exit", "result": { "a": 1 },
        "timestamp": "2026-01-02 03:04:05", "surprise": { "deep": [1, null] },
    });
    let answer = project(&server, json!([first])).await;
    assert_eq!(
        (answer.status, &answer.body),
        (StatusCode::OK, &json!({ "projected": 1, "duplicates": 0 }))
    );
    let again = project(&server, json!([first, { "event_id": "12", "execution_id": 7 }])).await;
    assert_eq!(again.body, json!({ "projected": 1, "duplicates": 1 }));
    let kept = projected(&server, 7).await;
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[0]["surprise"], json!({ "deep": [1, null] }));
    assert_eq!(kept[0]["created_at"], "2026-01-02T03:04:05.000000Z");
    assert_eq!((&kept[1]["catalog_id"], &kept[1]["tenant_id"]), (&json!(0), &json!("default")));
}

pub(super) async fn an_event_that_cannot_be_read_is_named_and_nothing_is_kept(server: Server) {
    let events = json!([{ "event_id": 1, "execution_id": 7 }, { "execution_id": 7 }]);
    let answer = project(&server, events).await;
    assert_eq!(answer.problem(), "422 bad-event");
    assert_eq!(answer.body["index"], 1);
    assert_eq!(
        answer.body["detail"],
        "event 1 of the batch: `event_id` is missing; no event was stored"
    );
    assert_eq!(projected(&server, 7).await, [json!(null); 0]);
    assert_eq!(project(&server, json!([])).await.problem(), "400 no-events");
    let many: Vec<Value> = (0..1001).map(|id| json!({ "event_id": id })).collect();
    assert_eq!(project(&server, json!(many)).await.problem(), "422 batch-size");
}

pub(super) async fn posted_events_are_kept_and_nothing_follows(server: Server) {
    server.register(HELLO).await;
    let execution = server.start("tests/hello").await;
    let before = server.story(&execution).await;
    let event = json!({
        "execution_id": execution, "event_id": 21, "step": "start", "event_type": "command.completed",
        "payload": { "command_id": "x" },
    });
    let materialize =
        async |events: Value| server.post("/api/internal/events/materialize", events).await.body;
    assert_eq!(materialize(json!([event])).await, json!({ "materialized": 1, "duplicates": 0 }));
    assert_eq!(materialize(json!([event])).await, json!({ "materialized": 0, "duplicates": 1 }));
    assert_eq!(materialize(json!([])).await, json!({ "materialized": 0, "duplicates": 0 }));
    let fact = "command.completed start COMPLETED\n";
    let story = server.story(&execution).await;
    assert_eq!(story.replacen(fact, "", 1), before);
    assert_ne!(story, before, "it is shown as a fact");
    assert_eq!(server.status(&execution).await, "RUNNING");
    let kept = projected(&server, execution.parse().expect("a number")).await;
    assert_eq!(kept[0]["node_name"], "start");
    assert_eq!(kept[0]["status"], "COMPLETED");
    assert_eq!(kept[0]["result"]["context"]["command_id"], "x");
}

pub(super) async fn folds_are_saved_on_request_and_what_cannot_be_is_named(server: Server) {
    server.register(HELLO).await;
    let execution = server.start("tests/hello").await;
    let number: i64 = execution.parse().expect("a number");
    let body = json!({ "execution_ids": [execution, number, 7] });
    let answer = server.post("/api/internal/projection/advance", body).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let advanced = answer.body["advanced"].as_array().expect("a list");
    assert_eq!(advanced.len(), 1, "{}", answer.body);
    assert_eq!(advanced[0]["execution_id"], number);
    let events = server.get(&format!("/api/executions/{execution}/events")).await;
    let events = events.body["events"].as_array().expect("events").clone();
    assert_eq!(advanced[0]["events"], events.len());
    assert_eq!(
        answer.body["failed"],
        json!([{ "execution_id": 7, "error": "there is no execution 7" }])
    );
}

pub(super) async fn old_events_are_purged_on_request_and_no_others(server: Server) {
    let old = json!({ "event_id": 1, "execution_id": 7, "timestamp": "2001-01-01T00:00:00Z" });
    let events =
        json!([old, { "event_id": 2, "execution_id": 7, "timestamp": "2999-01-01T00:00:00Z" }]);
    project(&server, events).await;
    let purged = server.post("/api/internal/cleanup/purge", json!({})).await;
    assert_eq!(purged.status, StatusCode::OK, "{}", purged.body);
    assert_eq!(purged.body["events_purged"], 0, "events stay unless somebody says otherwise");
    let purged =
        server.post("/api/internal/cleanup/purge", json!({ "event_retention_days": 30 })).await;
    assert_eq!(
        (&purged.body["events_purged"], &purged.body["commands_purged"]),
        (&json!(1), &json!(0))
    );
    let kept: Vec<Value> =
        projected(&server, 7).await.iter().map(|it| it["event_id"].clone()).collect();
    assert_eq!(kept, [2]);
}
