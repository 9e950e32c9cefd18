//! Tests of executions and events as stored, through serialization and back.

use axum::http::StatusCode;
use noetl_api::wire::{LogReply, SummariesReply, SummaryReply};
use noetl_model::{ErrorMode, Event, ExecutionStatus};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{HELLO, Server};

fn read<T: DeserializeOwned>(body: Value) -> T {
    serde_json::from_value(body).expect("the reply has its shape")
}

pub(super) async fn a_start_keeps_the_error_mode_of_its_request(server: Server) {
    server.register(HELLO).await;
    let request = json!({
        "path": "tests/hello", "payload": { "name": "Ada" }, "error_mode": "lenient",
    });
    let answer = server.post("/api/execute", request).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let id = answer.body["execution_id"].as_str().expect("an id");
    let SummaryReply { summary, origin: _ } =
        read(server.get(&format!("/api/native/executions/{id}")).await.body);
    assert_eq!(summary.status, ExecutionStatus::Running);
    let page = server.get(&format!("/api/native/executions/{}/events", summary.execution)).await;
    let LogReply { events } = read(page.body);
    match &events[0].event {
        Event::ExecutionStarted { error_mode, .. } => assert_eq!(*error_mode, ErrorMode::Lenient),
        other => panic!("{other:?}"),
    }
}

pub(super) async fn a_reader_waits_for_the_next_event_and_not_beyond_the_end(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let at = |after: u64| format!("/api/native/executions/{id}/events?after={after}&wait_ms=20000");
    let LogReply { events } = read(server.get(&at(0)).await.body);
    let mut after = events.last().expect("a start").seq.0;
    let path = at(after);
    let (answer, ()) = tokio::join!(server.get(&path), server.work());
    let LogReply { events } = read(answer.body);
    assert_eq!(events[0].seq.0, after + 1);
    server.work().await;
    while let Some(last) = read::<LogReply>(server.get(&at(after)).await.body).events.last() {
        after = last.seq.0;
    }
    assert_eq!(server.status(&id).await, "COMPLETED");
}

pub(super) async fn summaries_are_paged_from_the_newest_on(server: Server) {
    server.register(HELLO).await;
    let first = server.start("tests/hello").await;
    let second = server.start("tests/hello").await;
    let page = |body: Value| -> Vec<String> {
        let SummariesReply { summaries, origins: _ } = read(body);
        summaries.iter().map(|summary| summary.execution.to_string()).collect()
    };
    let newest = page(server.get("/api/native/executions?limit=1&status=running").await.body);
    assert_eq!(newest, [second.as_str()]);
    let older = format!("/api/native/executions?before={second}");
    assert_eq!(page(server.get(&older).await.body), [first]);
}

pub(super) async fn an_unknown_execution_is_a_problem(server: Server) {
    let missing = server.get("/api/native/executions/7").await;
    assert_eq!(missing.problem(), "404 unknown-execution");
    let missing = server.get("/api/native/executions/7/events").await;
    assert_eq!(missing.problem(), "404 unknown-execution");
}
