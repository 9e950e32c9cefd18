//! Tests of logs that the engine does not write: imported executions and subscriptions, on every
//! kind of store.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{HELLO, Server};

const GOLDEN: &str = include_str!("../../../compat/tests/golden/replay_golden.json");
const GOLDEN_AT_60: &str =
    include_str!("../../../compat/tests/golden/replay_golden_asof60_frame.json");

async fn project(server: &Server, events: Value) {
    let answer = server.post("/api/internal/events/project", json!({ "events": events })).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// Projects a short log; the second execution is a child of the first.
async fn with_imported(server: Server) -> Server {
    let event = |id: i64, execution: i64, name: &str, node: &str, at: &str| {
        json!({
            "event_id": id, "execution_id": execution, "event_type": name, "node_name": node,
            "timestamp": format!("2026-01-02T03:04:{at}Z"),
        })
    };
    let mut child = event(20, 701, "playbook_started", "other/child", "06");
    child["parent_execution_id"] = json!("700");
    let events = json!([
        event(13, 700, "playbook.failed", "playbook", "09"),
        event(10, 700, "playbook_started", "other/path", "05"),
        event(11, 700, "step.enter", "load", "06"),
        child,
    ]);
    project(&server, events).await;
    server
}

pub(super) async fn the_golden_log_over_http_gives_the_published_answer(server: Server) {
    let golden: Value = serde_json::from_str(GOLDEN).expect("JSON");
    let mut events = golden["events"].as_array().expect("events").clone();
    for event in &mut events {
        event["execution_id"] = golden["execution_id"].clone();
    }
    // The order in which events arrive does not matter.
    events.reverse();
    project(&server, json!(events)).await;
    // The order of keys survives parsing, so the comparison covers the bytes.
    let answer = server.get("/api/replay/state?execution_id=990001").await;
    assert_eq!(answer.body.to_string(), golden["state"].to_string());
    let at_60: Value = serde_json::from_str(GOLDEN_AT_60).expect("JSON");
    let path = "/api/replay/state?execution_id=990001&as_of_event_id=60&projection=frame";
    assert_eq!(server.get(path).await.body.to_string(), at_60.to_string());
}

pub(super) async fn an_imported_execution_is_listed_and_shown(server: Server) {
    let server = with_imported(server).await;
    server.register(HELLO).await;
    let native = server.start("tests/hello").await;
    let listed = async |query: &str| -> Vec<(String, String, String)> {
        let list = server.get(&format!("/api/executions?{query}")).await;
        let text = |item: &Value, key: &str| match &item[key] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let items = list.body.as_array().expect("a list").clone();
        let shown =
            |item: &Value| (text(item, "execution_id"), text(item, "origin"), text(item, "status"));
        items.iter().map(shown).collect()
    };
    let row = |id: &str, origin: &str, status: &str| {
        (id.to_owned(), origin.to_owned(), status.to_owned())
    };
    let (failed, running) = (row("700", "imported", "FAILED"), row("701", "imported", "RUNNING"));
    let all = [row(&native, "native", "RUNNING"), running.clone(), failed.clone()];
    assert_eq!(listed("").await, all);
    assert_eq!(listed("limit=1&offset=1").await, std::slice::from_ref(&running));
    assert_eq!(listed("status=FAILED").await, [failed]);
    assert_eq!(listed("path=CHILD").await, std::slice::from_ref(&running));
    assert_eq!(listed("parent_execution_id=700").await, [running]);

    let detail = server.get("/api/executions/700").await.body;
    assert_eq!((&detail["path"], &detail["event_count"]), (&json!("other/path"), &json!(3)));
    assert_eq!(detail["started_at"], "2026-01-02T03:04:05.000000Z");
    assert_eq!(detail["completed_at"], "2026-01-02T03:04:09.000000Z");
    let names = |events: &Value| -> Vec<Value> {
        events.as_array().expect("events").iter().map(|it| it["event_type"].clone()).collect()
    };
    let in_order = ["playbook_started", "step.enter", "playbook.failed"];
    assert_eq!(names(&detail["events"]), in_order);
    let page = server.get("/api/executions/700/events?limit=1&order=desc").await.body;
    assert_eq!(
        (names(&page["events"]), &page["next_before"]),
        (vec![json!("playbook.failed")], &json!(3))
    );
    let status = server.get("/api/executions/700/status").await.body;
    assert_eq!((&status["status"], &status["current_step"]), (&json!("FAILED"), &json!("load")));
    assert_eq!((&status["failed"], &status["origin"]), (&json!(true), &json!("imported")));
    let tree = server.get("/api/executions/700/tree").await.body;
    assert_eq!(tree["children"][0]["path"], "other/child");
}

pub(super) async fn an_imported_execution_is_replayed_compared_and_verified(server: Server) {
    let server = with_imported(server).await;
    let replayed = server.get("/api/replay/state?execution_id=700").await.body;
    assert_eq!((&replayed["event_count"], &replayed["last_event_id"]), (&json!(3), &json!(13)));
    assert_eq!(replayed["execution"]["status"], "FAILED");
    let diff = server.get("/api/replay/diff?execution_id=700&from=2").await;
    assert_eq!(diff.status, StatusCode::OK, "{}", diff.body);
    assert_eq!(diff.body["from"]["event_count"], 2);
    assert!(
        diff.body["text"].as_str().is_some_and(|text| text.contains("FAILED")),
        "{}",
        diff.body
    );
    let verified = server.get("/api/executions/700/verify").await.body;
    assert_eq!((&verified["origin"], &verified["valid"]), (&json!("imported"), &json!(true)));
    assert_eq!((&verified["proven_from"], &verified["head"]), (&Value::Null, &Value::Null));
    assert!(verified["note"].as_str().is_some_and(|note| note.contains("no digests")));
}

pub(super) async fn an_imported_execution_is_not_continued(server: Server) {
    let server = with_imported(server).await;
    for (path, body) in [
        ("cancel", json!({})),
        ("finalize", json!({ "status": "COMPLETED" })),
        ("fork", json!({ "at_event": 1 })),
        ("rerun", json!({})),
    ] {
        let answer = server.post(&format!("/api/executions/701/{path}"), body).await;
        assert_eq!(answer.problem(), "409 imported-execution", "{path}: {}", answer.body);
    }
    assert_eq!(server.get("/api/executions/701/status").await.body["status"], "RUNNING");
}

pub(super) async fn the_life_of_a_subscription_is_an_execution(server: Server) {
    server.register(HELLO).await;
    server
        .register(
            "apiVersion: noetl.io/v1\nkind: Subscription\nmetadata: {name: orders, path: s/orders}\n\
             spec:\n  source: nats\n  mode: pull\n  stream: ORDERS\n  consumer: drain\n  \
             dispatch: {playbook: tests/hello}\n",
        )
        .await;
    let answer = server.post("/api/subscriptions/register", json!({ "path": "s/orders" })).await;
    let id = answer.body["subscription_id"].as_str().expect("an id").to_owned();
    let step = async |action: &str| {
        server.post(&format!("/api/subscriptions/{id}/{action}"), json!({})).await
    };
    step("activate").await;
    let status = server.get(&format!("/api/executions/{id}/status")).await.body;
    assert_eq!((&status["status"], &status["origin"]), (&json!("RUNNING"), &json!("subscription")));
    step("pause").await;
    let replayed = server.get(&format!("/api/replay/state?execution_id={id}")).await.body;
    assert_eq!(replayed["event_count"], 3);
    assert_eq!(replayed["last_event_type"], "subscription.paused");
    let events = server.get(&format!("/api/executions/{id}/events")).await.body;
    let first = &events["events"][0];
    assert_eq!(first["event_type"], "subscription.registered");
    assert_eq!((&first["node_name"], &first["status"]), (&json!("s/orders"), &json!("REGISTERED")));
    assert_eq!(first["context"]["subscription_id"], json!(id));
    assert_eq!(first["meta"]["subscription_lifecycle"], json!(true));
    let parent: i64 = id.parse().expect("a number");
    let body = json!({ "path": "tests/hello", "parent_execution_id": parent });
    let child = server.post("/api/execute", body).await.body["execution_id"].clone();
    let list = server.get("/api/executions?path=orders").await.body;
    assert_eq!(
        (list[0]["origin"].clone(), list[0]["version"].clone()),
        (json!("subscription"), json!(1))
    );
    let tree = server.get(&format!("/api/executions/{id}/tree")).await.body;
    let below = &tree["children"][0]["execution_id"];
    assert_eq!(below.to_string().trim_matches('"'), child.as_str().expect("an id"));
    let refused = server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
    assert_eq!(refused.problem(), "409 subscription-execution");
    step("deactivate").await;
    let status = server.get(&format!("/api/executions/{id}/status")).await.body;
    assert_eq!((&status["status"], &status["completed"]), (&json!("COMPLETED"), &json!(true)));
}

pub(super) async fn an_event_about_an_execution_of_the_engine_is_a_reported_fact(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let before = server.get(&format!("/api/executions/{id}/events")).await.body;
    let count = before["events"].as_array().expect("events").len();
    let fact = |event: i64, name: &str, time: &str| json!({ "event_id": event, "execution_id": id, "event_type": name, "timestamp": time });
    let events = json!([
        fact(31, "playbook.failed", "2999-01-01T00:00:00Z"),
        fact(32, "noticed", "2001-01-01T00:00:00Z"),
    ]);
    project(&server, events).await;
    let detail = server.get(&format!("/api/executions/{id}")).await.body;
    let shown = detail["events"].as_array().expect("events").clone();
    assert_eq!(shown.len(), count + 2);
    for (event, name) in [(&shown[0], "noticed"), (&shown[count + 1], "playbook.failed")] {
        assert_eq!((&event["event_type"], &event["source"]), (&json!(name), &json!("reported")));
    }
    assert_eq!(shown[1].get("source"), None);
    assert_eq!((&detail["status"], &detail["origin"]), (&json!("RUNNING"), &json!("native")));
    for (order, next) in [("asc", "next_after"), ("desc", "next_before")] {
        let mut ids = Vec::new();
        let mut page = String::new();
        loop {
            let path = format!("/api/executions/{id}/events?limit=1&order={order}{page}");
            let body = server.get(&path).await.body;
            let events = body["events"].as_array().expect("events");
            ids.extend(events.iter().map(|event| event["event_id"].clone()));
            let Some(place) = body[next].as_u64() else { break };
            page = format!("&{}={place}", next.trim_start_matches("next_"));
        }
        if order == "desc" {
            ids.reverse();
        }
        let expected: Vec<Value> = shown.iter().map(|event| event["event_id"].clone()).collect();
        assert_eq!(ids, expected, "{order}");
    }
    let replayed = server.get(&format!("/api/replay/state?execution_id={id}")).await.body;
    assert_eq!(replayed["event_count"], json!(count + 2));
    assert_eq!(replayed["last_event_id"], 31);
    assert_ne!(replayed["execution"]["status"], "FAILED", "{replayed}");
}
