//! Feeds, as their consumers see them.

use axum::http::{Method, StatusCode};
use expect_test::expect;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::{Server, Way};

async fn with_feed(feed: Value) -> Server {
    let server = Server::with_hello().await;
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

#[tokio::test(start_paused = true)]
async fn what_is_not_acknowledged_is_shown_again() {
    let server = with_feed(json!({ "name": "f", "from": "start" })).await;
    server.start("tests/hello").await;
    let (first, cursor) = read(&server, "").await;
    expect![[r#"
        [
            "tests/hello playbook_started STARTED",
            "tests/hello step.enter ENTERED",
            "tests/hello command.issued PENDING",
        ]
    "#]]
    .assert_debug_eq(&first);
    assert_eq!(read(&server, "").await.0, first);
    let answer = server.post("/api/feeds/f/ack", json!({ "cursor": cursor })).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(read(&server, "").await.0, [""; 0]);
    let answer = server.post("/api/feeds/f/seek", json!({ "to": "start" })).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(read(&server, "").await.0, first);
}

#[tokio::test(start_paused = true)]
async fn a_feed_shows_what_its_filter_asks_for() {
    let filter = json!({
        "name": "f", "from": "start", "types": ["playbook*"], "path": "tests/*",
        "statuses": ["completed"]
    });
    let server = with_feed(filter).await;
    server.start("tests/hello").await;
    server.work().await;
    server.work().await;
    let (shown, _) = read(&server, "wait_ms=1000").await;
    assert_eq!(shown, ["tests/hello playbook.completed COMPLETED"]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_waits_for_what_comes() {
    let server = with_feed(json!({ "name": "f" })).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(read(&server, "wait_ms=2000").await.0, [""; 0]);
    assert_eq!(begun.elapsed().as_millis(), 2000);
    let (told, id) =
        tokio::join!(read(&server, "wait_ms=30000&limit=1"), server.start("tests/hello"));
    assert_eq!(told.0, ["tests/hello playbook_started STARTED"]);
    assert!(!id.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_listener_goes_on_after_the_last_event_that_it_heard() {
    let server = with_feed(json!({ "name": "f", "from": "start" })).await;
    server.start("tests/hello").await;
    let first = server.get("/api/feeds/f/events?limit=1").await.body["cursor"].clone();
    let request = axum::http::Request::get("/api/feeds/f/stream")
        .header("last-event-id", first.as_str().expect("a cursor"))
        .body(axum::body::Body::empty())
        .expect("a request");
    let Way::Direct(router) = &server.way else { panic!("it is asked directly") };
    let response = router.as_ref().clone().oneshot(request).await.expect("an answer");
    let mut frames = response.into_body().into_data_stream();
    let frame = frames.next().await.expect("a frame").expect("bytes");
    let text = String::from_utf8_lossy(&frame).into_owned();
    assert!(text.contains("event: step.enter"), "{text}");
    assert!(text.contains("id: "), "{text}");
}

#[tokio::test(start_paused = true)]
async fn feeds_are_made_once_listed_and_forgotten() {
    let server = with_feed(json!({ "name": "f", "types": ["a"] })).await;
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

#[tokio::test(start_paused = true)]
async fn what_is_no_feed_or_no_cursor_is_refused() {
    let server = with_feed(json!({ "name": "f" })).await;
    let answer = server.post("/api/feeds", json!({ "name": "a b" })).await;
    assert_eq!(answer.problem(), "422 invalid-name");
    let answer = server.get("/api/feeds/f/events?after=xyz").await;
    assert_eq!(answer.problem(), "422 bad-cursor");
    let answer = server.post("/api/feeds/f/seek", json!({ "to": "yesterday" })).await;
    assert_eq!(answer.problem(), "422 bad-cursor");
}
