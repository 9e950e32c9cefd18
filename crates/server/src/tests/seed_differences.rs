//! A case for each request that the original control plane answers otherwise, or answered otherwise
//! than this server once did; docs/compatibility.md has the reasons.

use serde_json::Map;

use super::*;

pub(super) async fn cancelling_what_has_ended_is_400(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let cancel = async || server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
    assert_eq!(cancel().await.status, 200);
    let again = cancel().await;
    assert_eq!(again.problem(), "400 execution-ended");
    assert!(again.body["message"].is_string(), "{}", again.body);
}

pub(super) async fn finalizing_again_alike_is_200_and_otherwise_409(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let finalize = async |status: &str| {
        let body = json!({ "status": status, "error": "by hand" });
        server.post(&format!("/api/executions/{id}/finalize"), body).await
    };
    let first = finalize("FAILED").await;
    assert_eq!(first.status, 200, "{}", first.body);
    let story = server.story(&id).await;
    assert_eq!(finalize("FAILED").await.body, first.body);
    assert_eq!(finalize("COMPLETED").await.problem(), "409 execution-ended");
    assert_eq!(server.story(&id).await, story, "nothing is added");
}

pub(super) async fn more_than_a_thousand_events_and_ids_are_taken_at_once(server: Server) {
    const MORE: i64 = 1001;
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let event = |number: i64| json!({ "name": "note", "event_id": number });
    let batch = |count: i64| json!({ "execution_id": id, "events": (1..=count).map(event).collect::<Vec<_>>() });
    let answer = server.post("/api/events/batch", batch(MORE)).await;
    assert_eq!(answer.body["event_ids"].as_array().map(Vec::len), Some(1001), "{}", answer.body);
    let answer = server.post("/api/events/batch", batch(10_001)).await;
    assert_eq!(answer.problem(), "422 batch-size");
    let ids =
        |count: i64| json!({ "outbox_ids": (1..=count).map(|id| id << 40).collect::<Vec<_>>() });
    let marked = server.post("/api/internal/outbox/mark-published", ids(MORE)).await;
    assert_eq!((marked.status, &marked.body["marked"]), (StatusCode::OK, &json!(0)));
    assert_eq!(marked.body["unknown"].as_array().map(Vec::len), Some(1001));
    let refused = server.post("/api/internal/outbox/mark-published", ids(10_001)).await;
    assert_eq!(refused.problem(), "400 outbox-ids");
}

pub(super) async fn a_list_of_no_rows_is_empty_and_an_unknown_status_is_refused(server: Server) {
    server.register(HELLO).await;
    server.start("tests/hello").await;
    let list = async |query: &str| server.get(&format!("/api/executions?{query}")).await;
    assert_eq!(list("limit=0").await.body, json!([]));
    assert_eq!(list("limit=-5").await.body, json!([]));
    assert_eq!(list("offset=-5").await.body.as_array().map(Vec::len), Some(1));
    assert_eq!(list("status=BOGUS").await.problem(), "422 invalid-status");
    assert_eq!(list("offset=20001").await.problem(), "422 offset-too-large");
}

pub(super) async fn a_body_that_is_no_json_cancels_nothing(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let request = Request::post(format!("/api/executions/{id}/cancel"))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from("{\"cascade\": fal"));
    let answer = server.send(request.expect("a request")).await;
    assert_eq!(answer.problem(), "400 not-json");
    assert_eq!(server.status(&id).await, "RUNNING");
}

const ORDERS: &str = "\
apiVersion: noetl.io/v2
kind: Subscription
metadata: {name: orders, path: tests/orders}
spec:
  source: nats
  mode: pull
  stream: ORDERS
  consumer: drain
  dispatch: {playbook: tests/hello}
";

/// Registers the subscription; returns the answer.
async fn subscribe(server: &Server) -> Map<String, Value> {
    let answer = server.post("/api/subscriptions", json!({ "path": "tests/orders" })).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body.as_object().expect("an object").clone()
}

pub(super) async fn a_replaced_subscription_stays_replaced(server: Server) {
    server.register(HELLO).await;
    server.register(ORDERS).await;
    let id_of =
        |view: &Map<String, Value>| view["subscription_id"].as_str().expect("id").to_owned();
    let first = id_of(&subscribe(&server).await);
    let act = async |id: &str, action: &str| {
        server.post(&format!("/api/subscriptions/{id}/{action}"), json!({})).await
    };
    assert_eq!(act(&first, "deactivate").await.status, 200);
    let second = id_of(&subscribe(&server).await);
    assert_ne!(first, second);
    assert_eq!(act(&first, "activate").await.problem(), "409 replaced");
    assert_eq!(act(&second, "activate").await.status, 200);
}

pub(super) async fn times_of_a_subscription_spell_out_their_offset(server: Server) {
    server.register(HELLO).await;
    server.register(ORDERS).await;
    let view = subscribe(&server).await;
    let updated = view["updated_at"].as_str().expect("a time");
    assert!(updated.ends_with("+00:00") && updated.parse::<Timestamp>().is_ok(), "{updated}");
}

pub(super) async fn a_replay_keeps_tenants_apart_and_counts_places_in_the_log(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let count = async |query: &str| {
        let answer = server.get(&format!("/api/replay/state?execution_id={id}&{query}")).await;
        answer.body["event_count"].clone()
    };
    assert_eq!(count("tenant_id=default").await, 3);
    assert_eq!(count("tenant_id=other").await, 0);
    assert_eq!(count("as_of_position=2").await, 2);
    assert_eq!(count("as_of_event_id=2").await, 0);
}

pub(super) async fn a_step_that_waits_for_a_worker_counts_as_running(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let status = server.get(&format!("/api/executions/{id}/status")).await.body;
    assert_eq!(status["progress"]["running_steps"], 1, "{status}");
}

pub(super) async fn internal_routes_are_open_where_everything_is(server: Server) {
    let answer = server.get("/api/internal/outbox/pending-count").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

pub(super) async fn names_of_old_logs_are_read_where_they_forge_nothing(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let tell = async |name: &str, status: Option<&str>| {
        let body = json!({
            "execution_id": id, "event_type": name, "step": "start", "status": status,
            "worker_id": "old", "payload": {},
        });
        server.post("/api/events", body).await
    };
    for name in ["step_enter", "step_started"] {
        assert_eq!(tell(name, Some("STARTED")).await.status, 200, "{name}");
    }
    assert_eq!(tell("step_completed", Some("FAILED")).await.status, 200);
    for name in ["playbook_completed", "playbook_failed", "playbook_cancelled", "step.enter"] {
        assert_eq!(tell(name, None).await.problem(), "422 reserved-event", "{name}");
    }
    assert_eq!(server.status(&id).await, "RUNNING");
    let finalize = format!("/api/executions/{id}/finalize");
    assert_eq!(server.post(&finalize, json!({ "status": "FAILED" })).await.status, 200);
    assert_eq!(tell("playbook_failed", Some("FAILED")).await.status, 200);
    assert_eq!(tell("playbook_completed", None).await.problem(), "422 reserved-event");
    let told: String = server
        .story(&id)
        .await
        .lines()
        .filter(|line| line.contains('_'))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(
        told,
        "playbook_started tests/hello STARTED\nstep_enter start STARTED\n\
         step_started start STARTED\nstep_completed start FAILED\nplaybook_failed start FAILED\n"
    );
    let replay = server.get(&format!("/api/replay/state?execution_id={id}")).await.body;
    assert_eq!(replay["execution"]["status"], "FAILED", "{replay}");
}
