//! Tests of the outbox routes.

use axum::http::StatusCode;
use expect_test::expect;
use noetl_control::{ControlSettings, NotificationSender};
use noetl_model::{CommandId, EventId, ExecutionId, Message, Pool, StepName};
use noetl_store::conformance::given::start;
use noetl_store::{Append, OUTBOX_ATTEMPTS_MAX};
use serde_json::{Value, json};

use super::{HELLO, PARENT, Server, settings};
use crate::{Authentication, Hosts};

/// Returns a server without a relay, with three pending notifications.
async fn owing() -> Server {
    owe(Server::without_loops()).await
}

async fn owe(server: Server) -> Server {
    let ready = |command| Message::CommandReady {
        pool: Pool::shared(),
        command: CommandId(command),
        event_id: EventId(100 + i64::try_from(command).expect("small")),
        step: StepName::new("fetch"),
        item: None,
        trace: None,
    };
    let outbox = vec![ready(1), ready(2), ready(3)];
    let append = Append { outbox, ..start(ExecutionId(7)) };
    let answers = server.store.append(&[append]).await.expect("the store appends");
    assert_eq!(answers, [Ok(())]);
    server
}

async fn claim(server: &Server, limit: i64) -> Vec<Value> {
    let answer = server.post("/api/internal/outbox/claim", json!({ "limit": limit })).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let rows = answer.body["rows"].as_array().expect("rows").clone();
    assert_eq!(answer.body["claimed"], rows.len());
    rows
}

async fn fail(server: &Server, id: i64, more: Value) -> Value {
    let mut body = json!({ "outbox_id": id, "error": "no broker" });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    server.post("/api/internal/outbox/mark-failed", body).await.body
}

pub(super) async fn another_program_can_send_the_messages_of_the_outbox(server: Server) {
    let server = owe(server).await;
    let pending =
        async || server.get("/api/internal/outbox/pending-count").await.body["pending"].clone();
    assert_eq!(pending().await, 3);
    let rows = claim(&server, 3).await;
    let ids: Vec<i64> = rows.iter().filter_map(|row| row["outbox_id"].as_i64()).collect();
    assert_eq!(rows[0]["subject"], "noetl.commands.shared.7");
    let marked = json!({ "outbox_ids": [ids[0]] });
    let marked = server.post("/api/internal/outbox/mark-published", marked).await;
    assert_eq!(marked.body["marked"], 1, "{}", marked.body);
    let failed = fail(&server, ids[1], json!({})).await;
    assert_eq!(failed["marked"], true, "{failed}");
    let left = async || -> Vec<i64> {
        let page = server.get("/api/internal/outbox/messages").await.body;
        let messages = page["messages"].as_array().expect("messages").iter();
        messages.filter_map(|it| it["outbox_id"].as_i64()).collect()
    };
    assert_eq!(left().await, ids[1..]);
    let named = json!({ "outbox_ids": [ids[1]] });
    let again = server.post("/api/internal/outbox/retry", named.clone()).await;
    assert_eq!(again.status, StatusCode::OK, "{}", again.body);
    let dropped = server.post("/api/internal/outbox/drop", named).await;
    assert_eq!(dropped.status, StatusCode::OK, "{}", dropped.body);
    assert_eq!(left().await, ids[1..], "only what is dead is dropped");
}

#[tokio::test(start_paused = true)]
async fn a_claimed_message_says_what_to_send_and_where() {
    let server = owing().await;
    let rows = claim(&server, 0).await;
    assert_eq!(rows.len(), 1, "a limit below one is one");
    let text = serde_json::to_string_pretty(&rows[0]).expect("JSON");
    expect![[r#"
        {
          "outbox_id": 1,
          "event_id": 101,
          "execution_id": 7,
          "subject": "noetl.commands.shared.7",
          "message_id": "101-1",
          "payload": {
            "execution_id": 7,
            "event_id": 101,
            "command_id": "7:fetch:101",
            "step": "fetch",
            "server_url": "http://localhost"
          },
          "payload_codec": "json",
          "attempts": 1
        }"#]]
    .assert_eq(&text);
}

#[tokio::test(start_paused = true)]
async fn a_payload_is_written_in_the_codec_that_was_asked_for() {
    let server = owing().await;
    let body = json!({ "payload_codec": "json-base64" });
    let answer = server.post("/api/internal/outbox/claim", body).await;
    let row = &answer.body["rows"][0];
    assert_eq!(row["payload_codec"], "json-base64");
    assert!(row["payload"].as_str().is_some_and(|text| text.starts_with("eyJ")), "{row}");
    let answer =
        server.post("/api/internal/outbox/claim", json!({ "payload_codec": "feather" })).await;
    assert_eq!(answer.problem(), "422 invalid-body");
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_sent_or_fails_or_comes_back() {
    let server = owing().await;
    assert_eq!(
        server.get("/api/internal/outbox/pending-count").await.body,
        json!({ "pending": 3 })
    );
    assert_eq!(claim(&server, 100).await.len(), 3);
    assert_eq!(
        server.get("/api/internal/outbox/pending-count").await.body,
        json!({ "pending": 0 })
    );

    let ids = json!({ "outbox_ids": [1, "2", 99] });
    let answer = server.post("/api/internal/outbox/mark-published", ids.clone()).await;
    assert_eq!(answer.body, json!({ "marked": 2, "newly": 2, "unknown": [99] }));
    let answer = server.post("/api/internal/outbox/mark-published", ids).await;
    assert_eq!(answer.body, json!({ "marked": 2, "newly": 0, "unknown": [99] }));

    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    let rows = claim(&server, 100).await;
    assert_eq!((rows.len(), &rows[0]["attempts"]), (1, &json!(2)), "nobody said a word of it");
}

#[tokio::test(start_paused = true)]
async fn a_failed_message_waits_as_long_as_its_sender_has_tried() {
    let server = owing().await;
    claim(&server, 100).await;
    let failed =
        |seconds: u64| json!({ "marked": true, "available_at_in": seconds, "status": "FAILED" });
    assert_eq!(fail(&server, 1, json!({})).await, failed(1));
    assert_eq!(fail(&server, 1, json!({ "attempts": 5 })).await, failed(16));
    assert_eq!(fail(&server, 1, json!({ "attempts": 9 })).await, failed(256));
    assert_eq!(
        fail(&server, 1, json!({ "attempts": 9, "max_delay_seconds": 10 })).await,
        failed(10)
    );
}

pub(super) async fn marks_may_be_repeated_and_may_name_what_never_was(server: Server) {
    const NEVER: i64 = 1 << 40;
    let server = owe(server).await;
    let id = claim(&server, 1).await[0]["outbox_id"].as_i64().expect("an id");
    let mark = async || {
        let ids = json!({ "outbox_ids": [id, id, NEVER] });
        server.post("/api/internal/outbox/mark-published", ids).await.body
    };
    assert_eq!(mark().await, json!({ "marked": 1, "newly": 1, "unknown": [NEVER] }));
    assert_eq!(mark().await, json!({ "marked": 1, "newly": 0, "unknown": [NEVER] }));
    let over = |status: &str| json!({ "marked": false, "available_at_in": null, "status": status });
    assert_eq!(fail(&server, id, json!({})).await, over("PUBLISHED"));
    assert_eq!(fail(&server, NEVER, json!({})).await, over("UNKNOWN"));
}

pub(super) async fn a_failure_without_a_count_waits_longer_each_time(server: Server) {
    let server = owe(server).await;
    let id = claim(&server, 1).await[0]["outbox_id"].as_i64().expect("an id");
    let waits = async |more: Value| fail(&server, id, more).await["available_at_in"].clone();
    assert_eq!(waits(json!({ "attempts": -3 })).await, 1, "fewer than none is none");
    let at_once = json!({ "attempts": 1, "max_delay_seconds": 0 });
    for expected in [1, 2, 4] {
        assert_eq!(waits(json!({})).await, expected);
        assert_eq!(waits(at_once.clone()).await, 0);
        claim(&server, 1).await;
    }
}

pub(super) async fn a_message_that_fails_again_and_again_is_dead(server: Server) {
    let server = owe(server).await;
    let at_once = json!({ "max_delay_seconds": 0 });
    let mut first = None;
    for attempt in 1..=OUTBOX_ATTEMPTS_MAX {
        let row = claim(&server, 1).await.pop().expect("it is tried again");
        assert_eq!(row["attempts"], attempt);
        let id = row["outbox_id"].as_i64().expect("an id");
        assert_eq!(*first.get_or_insert(id), id, "one message of an execution after another");
        fail(&server, id, at_once.clone()).await;
    }
    let dead = async || {
        let page = server.get("/api/internal/outbox/messages?status=dead").await.body;
        let messages = page["messages"].as_array().expect("messages").iter();
        messages.filter_map(|it| it["outbox_id"].as_i64()).collect::<Vec<i64>>()
    };
    assert_eq!(dead().await, Vec::from_iter(first));
    let next = claim(&server, 1).await;
    assert_ne!(next[0]["outbox_id"].as_i64(), first, "others take its place");
    let named = json!({ "outbox_ids": [first] });
    let dropped = server.post("/api/internal/outbox/drop", named).await.body;
    assert_eq!(dropped, json!({ "changed": 1 }));
    assert_eq!(dead().await, [0; 0]);
}

pub(super) async fn a_relay_leaves_notifications_to_another_program_on_request(server: Server) {
    let external = ControlSettings {
        notifications: NotificationSender::External,
        poll: std::time::Duration::from_millis(20),
        ..ControlSettings::default()
    };
    let external = server.beside(settings(Authentication::Open, Hosts::Any), external);
    let (control, stop) = (external.state.control().clone(), external.stop.clone());
    tokio::spawn(async move { control.run(stop).await });
    external.register(HELLO).await;
    external.register(PARENT).await;
    let parent = external.start("tests/parent").await;
    // The relay has run once it has started the child.
    let children = format!("/api/executions?parent_execution_id={parent}");
    let mut child = Value::Null;
    while child.is_null() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        child = external.get(&children).await.body[0]["execution_id"].clone();
    }
    let other = external.start("tests/hello").await;
    let rows = claim(&server, 10).await;
    let told: Vec<String> = rows.iter().map(|row| row["execution_id"].to_string()).collect();
    assert_eq!(told.len(), 2, "{rows:?}");
    assert!(told.contains(&other) && told.iter().any(|it| child == it.as_str()), "{rows:?}");
}

pub(super) async fn a_claim_says_the_codec_of_its_payload(server: Server) {
    let server = owe(server).await;
    let row = claim(&server, 1).await[0].clone();
    assert_eq!(row["payload_codec"], "json");
    assert!(row["payload"].is_object(), "{row}");
}

#[tokio::test(start_paused = true)]
async fn requests_that_name_nothing_are_refused() {
    let server = owing().await;
    let answer =
        server.post("/api/internal/outbox/mark-published", json!({ "outbox_ids": [] })).await;
    assert_eq!(answer.problem(), "400 outbox-ids");
    let body = json!({ "outbox_id": 1, "error": " " });
    let answer = server.post("/api/internal/outbox/mark-failed", body).await;
    assert_eq!(answer.problem(), "400 no-error");
    let answer = server.get("/api/internal/outbox/messages?status=lost").await;
    assert_eq!(answer.problem(), "422 unknown-status");
}

#[tokio::test(start_paused = true)]
async fn dead_messages_are_listed_tried_again_and_dropped() {
    let server = owing().await;
    for _ in 0..OUTBOX_ATTEMPTS_MAX {
        for row in claim(&server, 2).await {
            fail(&server, row["outbox_id"].as_i64().expect("an id"), json!({})).await;
        }
        tokio::time::advance(std::time::Duration::from_secs(300)).await;
    }
    let page = server.get("/api/internal/outbox/messages?status=dead&limit=1").await.body;
    assert_eq!(page["next_after"], 1);
    assert_eq!(page["messages"][0]["last_error"], "no broker");
    assert_eq!(page["messages"][0]["attempts"], OUTBOX_ATTEMPTS_MAX);
    assert_eq!(page["messages"][0]["kind"], "command_ready");

    let answer = server.post("/api/internal/outbox/retry", json!({ "outbox_ids": [1] })).await;
    assert_eq!(answer.body, json!({ "changed": 1 }));
    let answer = server.post("/api/internal/outbox/drop", json!({ "outbox_ids": [1, 2] })).await;
    assert_eq!(answer.body, json!({ "changed": 1 }));
    let page = server.get("/api/internal/outbox/messages").await.body;
    let states: Vec<_> = page["messages"].as_array().expect("messages").iter().collect();
    let states: Vec<_> = states.iter().map(|it| (&it["outbox_id"], &it["status"])).collect();
    assert_eq!(states, [(&json!(1), &json!("PENDING")), (&json!(3), &json!("PENDING"))]);
}
