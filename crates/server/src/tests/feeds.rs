//! Tests of feeds, as their consumers use them.

use axum::http::{Method, StatusCode};
use expect_test::expect;
use serde_json::{Value, json};

use super::listener::Listener;
use super::{HELLO, Server};

async fn with_feed(server: Server, feed: Value) -> Server {
    server.register(HELLO).await;
    let answer = server.post("/api/feeds", feed).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    server
}

async fn read(server: &Server, query: &str) -> (Vec<String>, String) {
    let answer = server.get(&format!("/api/feeds/f/events?{query}")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let word = |event: &Value, key: &str| event[key].as_str().unwrap_or("-").to_owned();
    let events = answer.body["events"].as_array().expect("events").iter();
    let told = events.map(|it| {
        format!("{} {} {}", word(it, "path"), word(it, "event_type"), word(it, "status"))
    });
    (told.collect(), word(&answer.body, "cursor"))
}

pub(super) async fn unacknowledged_events_are_delivered_again(server: Server) {
    let server = with_feed(server, json!({ "name": "f", "from": "start" })).await;
    server.start("tests/hello").await;
    let (first, cursor) = read(&server, "wait_ms=10000").await;
    expect![[r#"
        [
            "tests/hello playbook_started STARTED",
            "tests/hello step.enter ENTERED",
            "tests/hello command.issued PENDING",
        ]
    "#]]
    .assert_debug_eq(&first);
    assert_eq!(read(&server, "wait_ms=10000").await.0, first);
    let answer = server.post("/api/feeds/f/ack", json!({ "cursor": cursor })).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(read(&server, "").await.0, [""; 0]);
    let answer = server.post("/api/feeds/f/seek", json!({ "to": "start" })).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(read(&server, "wait_ms=10000").await.0, first);
}

pub(super) async fn a_feed_shows_what_its_filter_asks_for(server: Server) {
    let filter = json!({
        "name": "f", "from": "start", "types": ["playbook*"], "path": "tests/*",
        "statuses": ["completed"]
    });
    let server = with_feed(server, filter).await;
    server.start("tests/hello").await;
    server.work().await;
    server.work().await;
    let (shown, _) = read(&server, "wait_ms=1000").await;
    assert_eq!(shown, ["tests/hello playbook.completed COMPLETED"]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_waits_for_what_comes() {
    let server = with_feed(Server::new(), json!({ "name": "f" })).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(read(&server, "wait_ms=2000").await.0, [""; 0]);
    assert_eq!(begun.elapsed().as_millis(), 2000);
    let (told, id) =
        tokio::join!(read(&server, "wait_ms=30000&limit=1"), server.start("tests/hello"));
    assert_eq!(told.0, ["tests/hello playbook_started STARTED"]);
    assert!(!id.is_empty());
}

pub(super) async fn a_listener_resumes_after_its_last_event(server: Server) {
    let server = with_feed(server, json!({ "name": "f", "from": "start" })).await;
    server.start("tests/hello").await;
    let first = server.get("/api/feeds/f/events?limit=1&wait_ms=10000").await;
    let first = first.body["cursor"].clone();
    let first = first.as_str().expect("a cursor");
    let mut listener = Listener::at(&server, "/api/feeds/f/stream", Some(first)).await;
    let heard = listener.events(1).await;
    assert_eq!(heard[0].event, "step.enter");
    assert!(!heard[0].id.is_empty());
}

pub(super) async fn feeds_are_made_once_listed_and_forgotten(server: Server) {
    let server = with_feed(server, json!({ "name": "f", "types": ["a"] })).await;
    let again = server.post("/api/feeds", json!({ "name": "f", "types": ["a"] })).await;
    assert_eq!(again.status, StatusCode::OK);
    let other = server.post("/api/feeds", json!({ "name": "f" })).await;
    assert_eq!(other.problem(), "409 feed-exists");
    let listed = server.get("/api/feeds").await;
    assert_eq!(listed.body["feeds"][0]["filter"], json!({ "types": ["a"] }));
    let gone = server.call(Method::DELETE, "/api/feeds/f", Value::Null).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert_eq!(server.get("/api/feeds/f").await.problem(), "404 unknown-feed");
}

pub(super) async fn an_invalid_feed_or_cursor_is_refused(server: Server) {
    let server = with_feed(server, json!({ "name": "f" })).await;
    let answer = server.post("/api/feeds", json!({ "name": "a b" })).await;
    assert_eq!(answer.problem(), "422 invalid-name");
    let answer = server.get("/api/feeds/f/events?after=xyz").await;
    assert_eq!(answer.problem(), "422 bad-cursor");
    let answer = server.post("/api/feeds/f/seek", json!({ "to": "yesterday" })).await;
    assert_eq!(answer.problem(), "422 bad-cursor");
    let answer = server.post("/api/feeds/f/retry", json!({})).await;
    assert_eq!(answer.problem(), "409 no-subject");
}
