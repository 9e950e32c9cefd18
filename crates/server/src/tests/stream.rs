//! Tests of event streams.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use expect_test::expect;
use noetl_bus::LocalBus;
use noetl_store::{FeedPoint, Feeds as _, MemoryStore};
use serde_json::json;
use tokio::time::Instant;

use super::{HELLO, Server, SimulatedClock, settings};
use crate::{Authentication, Hosts};

/// Reads a stream to its end; returns id and name of each event.
async fn heard(server: &Server, id: &str, last: Option<&str>) -> String {
    let mut request = Request::get(format!("/api/executions/{id}/stream"));
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let answer = server.send(request.body(Body::empty()).expect("a request")).await;
    let text = answer.body.as_str().unwrap_or_default().to_owned();
    let lines = text.lines().filter(|line| line.starts_with("id:") || line.starts_with("event:"));
    let lines: Vec<&str> = lines.collect();
    format!("{}\n{}\n", answer.status, lines.join("\n"))
}

pub(super) async fn a_stream_has_every_event_and_ends_with_the_execution(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let cancel = format!("/api/executions/{id}/cancel");
    let (heard, _) = tokio::join!(heard(&server, &id, None), server.post(&cancel, json!({})));
    expect![[r#"
        200 OK
        id: 1
        event: playbook_started
        id: 2
        event: step.enter
        id: 3
        event: command.issued
        id: 4
        event: command.cancelled
        id: 5
        event: playbook.cancelled
    "#]]
    .assert_eq(&heard);
}

pub(super) async fn a_stream_resumes_after_the_last_received_event(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
    expect![[r#"
        200 OK
        id: 5
        event: playbook.cancelled
    "#]]
    .assert_eq(&heard(&server, &id, Some("4")).await);
}

pub(super) async fn a_listener_with_all_events_is_told_not_to_reconnect(server: Server) {
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    server.post(&format!("/api/executions/{id}/cancel"), json!({})).await;
    expect![[r#"
        204 No Content

    "#]]
    .assert_eq(&heard(&server, &id, Some("100")).await);
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_the_server_drains() {
    let server = Server::with_hello().await;
    let id = server.start("tests/hello").await;
    let drain = async { server.state.drain() };
    let (heard, ()) = tokio::join!(heard(&server, &id, Some("3")), drain);
    expect![[r#"
        200 OK

    "#]]
    .assert_eq(&heard);
}

/// Returns the answer to a request that resumes after an event.
async fn resumed(server: &Server, path: &str, last: &str) -> (u16, String) {
    let request = Request::get(path).header("last-event-id", last);
    let answer = server.send(request.body(Body::empty()).expect("a request")).await;
    (answer.status.as_u16(), answer.body["type"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_stream_resumed_after_lost_events_reports_the_loss() {
    let clock = Arc::new(SimulatedClock { begun: Instant::now() });
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let settings = settings(Authentication::Open, Hosts::Any);
    let server = Server::on(settings, store.clone(), Arc::new(LocalBus::new()), clock);
    server.register(HELLO).await;
    let id = server.start("tests/hello").await;
    let backup = store.backup();
    let cancel = format!("/api/executions/{id}/cancel");
    server.post(&cancel, json!({})).await;
    let end = store.feed_point(&FeedPoint::End).await.expect("the store answers").to_string();
    store.restore(&backup);
    let stream = format!("/api/executions/{id}/stream");
    let (status, kind) = resumed(&server, &stream, "5").await;
    assert!(status == 409 && kind.ends_with("log-rewound"), "{status} {kind}");
    // The server detects the rewind on a request about an execution that it considers ended.
    let before = server.state.control().rewinds();
    server.get(&format!("/api/executions/{id}")).await;
    server.post(&cancel, json!({})).await;
    assert_eq!(server.state.control().rewinds(), before + 1);
    store.restore(&backup);
    let (status, kind) = resumed(&server, "/api/stream", &end).await;
    assert!(status == 409 && kind.ends_with("feed-rewound"), "{status} {kind}");
}
