//! Event streams.

use axum::body::Body;
use axum::http::Request;
use expect_test::expect;
use serde_json::json;

use super::{HELLO, Server};

/// What a stream has said by its end: the id and the name of each event.
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

pub(super) async fn a_stream_tells_every_event_and_ends_with_the_execution(server: Server) {
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

pub(super) async fn a_stream_resumes_after_the_last_event_heard(server: Server) {
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

pub(super) async fn a_listener_that_has_heard_all_is_told_not_to_come_back(server: Server) {
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
