//! Tests of the stream of all executions.

use axum::body::Body;
use axum::http::Request;
use expect_test::expect;

use super::listener::{Heard, Listener};
use super::{HELLO, PARENT, Server};

fn names(events: &[Heard]) -> String {
    let line = |it: &Heard| {
        let status = it.data["status"].as_str().unwrap_or("-");
        format!("{} {} {status}\n", it.data["path"].as_str().unwrap_or("-"), it.event)
    };
    events.iter().map(line).collect()
}

/// Reads `count` events, without those of an execution from before the stream began: the stream shows
/// them if a transaction was open on its shard at that moment.
async fn events_after(listener: &mut Listener, before: &str, count: usize) -> Vec<Heard> {
    let mut events = Vec::new();
    while events.len() < count {
        let more = listener.events(1).await;
        events.extend(more.into_iter().filter(|it| it.data["execution_id"] != before));
    }
    events
}

pub(super) async fn a_stream_of_everything_shows_all_executions_and_resumes(server: Server) {
    server.register(HELLO).await;
    let before = server.start("tests/hello").await;
    let mut listener = Listener::at(&server, "/api/stream", None).await;
    let begun = listener.block().await;
    assert!(!begun.id.is_empty() && begun.event.is_empty(), "a place to come back to, no event");
    let first = server.start("tests/hello").await;
    let events = events_after(&mut listener, &before, 3).await;
    expect![[r#"
        tests/hello playbook_started STARTED
        tests/hello step.enter ENTERED
        tests/hello command.issued PENDING
    "#]]
    .assert_eq(&names(&events));
    assert!(events.iter().all(|it| it.data["execution_id"] == first.as_str()));
    let second = server.start("tests/hello").await;
    let rest = listener.events(3).await;
    assert!(rest.iter().all(|it| it.data["execution_id"] == second.as_str()));
    let mut again = Listener::at(&server, "/api/stream", Some(&events[1].id)).await;
    let events = again.events(4).await;
    assert_eq!(events[0].event, "command.issued");
    assert_eq!(events[3].data["execution_id"], second.as_str());
    let mut late = Listener::at(&server, "/api/stream", Some(&begun.id)).await;
    let events = events_after(&mut late, &before, 6).await;
    assert_eq!(events[0].data["execution_id"], first.as_str());
}

pub(super) async fn a_stream_of_everything_shows_what_is_asked_for(server: Server) {
    server.register(HELLO).await;
    server.register(PARENT).await;
    server.start("tests/hello").await;
    server.start("tests/parent").await;
    let path = "/api/stream?from=start&type=playbook*,step.enter&path=tests/par*";
    let mut listener = Listener::at(&server, path, None).await;
    expect![[r#"
        tests/parent playbook_started STARTED
        tests/parent step.enter ENTERED
    "#]]
    .assert_eq(&names(&listener.events(2).await));
    let mut pending = Listener::at(&server, "/api/stream?from=start&status=pending", None).await;
    expect![[r#"
        tests/hello command.issued PENDING
    "#]]
    .assert_eq(&names(&pending.events(1).await));
}

pub(super) async fn an_invalid_cursor_of_the_stream_is_refused(server: Server) {
    assert_eq!(server.get("/api/stream?from=yesterday").await.problem(), "422 bad-cursor");
    let request = Request::get("/api/stream").header("last-event-id", "never");
    let answer = server.send(request.body(Body::empty()).expect("a request")).await;
    assert_eq!(answer.problem(), "422 bad-cursor");
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_everything_ends_when_the_server_drains() {
    let server = Server::with_hello().await;
    let drain = async { server.state.drain() };
    let (heard, ()) = tokio::join!(server.get("/api/stream"), drain);
    assert_eq!(heard.status, 200);
}
