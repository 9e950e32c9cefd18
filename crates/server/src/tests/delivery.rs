//! Feeds that go onto subjects of a real broker.

use std::time::Duration;

use noetl_testkit::{NatsServer, Publisher};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::stores::Backing;
use super::{HELLO, Server};
use crate::routes::deliver_feeds;

/// How long events may take to arrive.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many events the executions of a server have together.
async fn told(server: &Server, executions: &[String]) -> u64 {
    let mut count = 0;
    for execution in executions {
        count += server.story(execution).await.lines().count() as u64;
    }
    count
}

async fn arrive(publisher: &Publisher, count: u64) {
    let arriving = async {
        while publisher.count("noetl_events").await != Some(count) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, arriving).await.expect("every event arrives");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_go_onto_a_subject_once_each_and_go_on_after_the_server_has_died() {
    let broker = NatsServer::start();
    let backing = Backing::postgres(1).await.with_broker(&broker);
    let server = backing.server().await;
    server.register(HELLO).await;
    let feed = json!({ "name": "out", "from": "start", "subject": "noetl.events.{event_type}" });
    let added = server.post("/api/feeds", feed).await;
    assert_eq!(added.body["subject"], "noetl.events.{event_type}", "{}", added.body);
    let first = server.start("tests/hello").await;
    let stop = CancellationToken::new();
    let one = tokio::spawn(deliver_feeds(server.state.clone(), "one".to_owned(), stop.clone()));
    let publisher = Publisher::connect(&broker.url()).await;
    arrive(&publisher, told(&server, std::slice::from_ref(&first)).await).await;
    one.abort();
    let second = server.start("tests/hello").await;
    // The one that has died keeps its turn for a while; the same server takes it up at once.
    let again = tokio::spawn(deliver_feeds(server.state.clone(), "one".to_owned(), stop.clone()));
    arrive(&publisher, told(&server, &[first, second]).await).await;
    again.abort();
    let moved = server.get("/api/feeds/out").await.body["cursor"].clone();
    assert_ne!(moved, "start");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_a_broker_takes_no_subject_and_no_server_a_bad_one() {
    let server = Server::new();
    let feed = json!({ "name": "out", "subject": "noetl.events" });
    assert_eq!(server.post("/api/feeds", feed).await.problem(), "422 no-broker");
}
