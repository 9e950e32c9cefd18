//! Tests of feeds that are published on a real broker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::http::StatusCode;
use noetl_app::{AppSettings, SubjectPrefix, deliver_feeds};
use noetl_bus::{Bus, BusError, BusMessage, Hint, HintReceiver, LocalBus, Reach};
use noetl_store::{FailedStanding, FeedDelivery};
use noetl_testkit::{NatsServer, Publisher};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::stores::Backing;
use super::{HELLO, Server, TestSettings, in_memory, settings};
use crate::{Authentication, Hosts};

/// Maximum time for events to arrive.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the number of events of these executions.
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
    let one =
        tokio::spawn(deliver_feeds(server.state.app().clone(), "one".to_owned(), stop.clone()));
    let publisher = Publisher::connect(&broker.url()).await;
    arrive(&publisher, told(&server, std::slice::from_ref(&first)).await).await;
    one.abort();
    let second = server.start("tests/hello").await;
    // The stopped task keeps its lock for a while; the same holder continues at once.
    let again =
        tokio::spawn(deliver_feeds(server.state.app().clone(), "one".to_owned(), stop.clone()));
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

/// A broker that accepts only some subjects.
#[derive(Default)]
struct PartBroker {
    local: LocalBus,
    /// Words after `noetl.events.` that are refused, and (`unanswered`) that get no answer.
    refused: Mutex<Vec<&'static str>>,
    unanswered: Mutex<Vec<&'static str>>,
    /// For each word, the number of accepted events and of tries.
    taken: Mutex<BTreeMap<String, (usize, usize)>>,
}

#[async_trait]
impl Bus for PartBroker {
    async fn publish(&self, hint: Hint) {
        self.local.publish(hint).await;
    }

    async fn put(&self, messages: &[BusMessage]) -> Result<(), BusError> {
        let Some(first) = messages.first() else { return Ok(()) };
        let word = first.subject.split('.').nth(2).expect("a word").to_owned();
        let mut taken = self.taken.lock().expect("nobody panics");
        let (events, tries) = taken.entry(word.clone()).or_default();
        *tries += 1;
        if self.refused.lock().expect("nobody panics").contains(&word.as_str()) {
            return Err(BusError::Refused("no stream takes it".into()));
        }
        if self.unanswered.lock().expect("nobody panics").contains(&word.as_str()) {
            return Err(BusError::Unavailable("it does not answer".into()));
        }
        *events += messages.len();
        Ok(())
    }

    fn subscribe(&self) -> HintReceiver {
        self.local.subscribe()
    }

    fn reach(&self) -> Reach {
        Reach::Connected
    }
}

impl PartBroker {
    fn taken(&self, word: &str) -> (usize, usize) {
        self.taken.lock().expect("nobody panics").get(word).copied().unwrap_or_default()
    }
}

async fn delivery(server: &Server, feed: &str) -> (String, u64) {
    let delivery = server.get(&format!("/api/feeds/{feed}")).await.body["delivery"].clone();
    let status = delivery["status"].as_str().expect("a status").to_owned();
    (status, delivery["failures"].as_u64().unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn a_feed_that_cannot_be_delivered_delays_no_other_and_is_dead_in_the_end() {
    let broker = Arc::new(PartBroker::default());
    *broker.refused.lock().expect("nobody panics") = vec!["bad"];
    *broker.unanswered.lock().expect("nobody panics") = vec!["mute"];
    let (store, clock) = in_memory();
    let server =
        Server::on(settings(Authentication::Open, Hosts::Any), store, broker.clone(), clock);
    server.register(HELLO).await;
    for name in ["bad", "good", "mute"] {
        let subject = format!("noetl.events.{name}");
        let feed = json!({ "name": name, "from": "start", "subject": subject });
        assert_eq!(server.post("/api/feeds", feed).await.status, StatusCode::OK);
    }
    server.start("tests/hello").await;
    let stop = CancellationToken::new();
    let state = server.state.clone();
    let delivering =
        tokio::spawn(deliver_feeds(state.app().clone(), "one".to_owned(), stop.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(broker.taken("good").0, 3, "it does not wait for the others");
    assert_eq!(delivery(&server, "good").await, ("working".to_owned(), 0));
    let (status, failures) = delivery(&server, "bad").await;
    assert_eq!(status, "retrying");
    assert!((1..=2).contains(&failures), "{failures}");

    // 1 + 2 + 4 + … + 256 seconds, and then every 256: the twentieth try is within 70 minutes.
    tokio::time::sleep(Duration::from_secs(70 * 60)).await;
    assert_eq!(delivery(&server, "bad").await, ("dead".to_owned(), 20));
    assert_eq!(broker.taken("bad"), (0, 20), "each try is counted, and there are no others");
    let (status, failures) = delivery(&server, "mute").await;
    assert_eq!(status, "retrying", "a broker that does not answer may do so again");
    assert!((20..30).contains(&failures), "{failures}");

    broker.refused.lock().expect("nobody panics").clear();
    broker.unanswered.lock().expect("nobody panics").clear();
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(delivery(&server, "mute").await, ("working".to_owned(), 0));
    assert_eq!(broker.taken("mute").0, 3);
    assert_eq!(broker.taken("bad"), (0, 20), "a dead one waits for somebody");
    let retried = server.post("/api/feeds/bad/retry", json!({})).await;
    assert_eq!(retried.body["delivery"], json!({ "status": "working" }));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(broker.taken("bad").0, 3);
    delivering.abort();
}

#[tokio::test(start_paused = true)]
async fn a_feed_goes_onto_subjects_below_the_prefix_of_the_operator_and_onto_no_others() {
    let broker = Arc::new(PartBroker::default());
    let (store, clock) = in_memory();
    let wide = settings(Authentication::Open, Hosts::Any);
    let prefix = SubjectPrefix::parse("audit").expect("a prefix");
    let narrow = TestSettings {
        app: AppSettings { feed_prefix: prefix, ..wide.app.clone() },
        ..wide.clone()
    };
    let server = Server::on(wide, store.clone(), broker.clone(), clock.clone());
    for subject in ["$JS.API.STREAM.PURGE.X", "orders.new", "noetl.events.*", "noetl.events"] {
        let feed = json!({ "name": "out", "subject": subject });
        let answer = server.post("/api/feeds", feed).await;
        assert_eq!(answer.problem(), "422 invalid-subject", "{subject}");
    }
    server.register(HELLO).await;
    let feed = json!({ "name": "out", "from": "start", "subject": "noetl.events.out" });
    assert_eq!(server.post("/api/feeds", feed).await.status, StatusCode::OK);
    server.start("tests/hello").await;
    let narrow = Server::on(narrow, store, broker.clone(), clock);
    let state = narrow.state.clone();
    let stop = CancellationToken::new();
    let delivering =
        tokio::spawn(deliver_feeds(state.app().clone(), "one".to_owned(), stop.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(delivery(&narrow, "out").await.0, "dead", "made under another prefix");
    assert_eq!(broker.taken("out"), (0, 0));
    delivering.abort();
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_turn_it_is_not_leaves_the_failures_of_a_feed_alone() {
    let broker = Arc::new(PartBroker::default());
    let (store, clock) = in_memory();
    let server =
        Server::on(settings(Authentication::Open, Hosts::Any), store, broker.clone(), clock);
    server.register(HELLO).await;
    let feed = json!({ "name": "bad", "from": "start", "subject": "noetl.events.bad" });
    assert_eq!(server.post("/api/feeds", feed).await.status, StatusCode::OK);
    server.start("tests/hello").await;
    let (records, store) = (&server.records, &server.store);
    let is_taken = records.acquire_lock("feed/bad", "another", Duration::from_secs(3600)).await;
    assert!(is_taken.expect("the store answers"));
    let standing = FailedStanding::Waiting { until: server.state.now() };
    let failed = FeedDelivery::Failed { failures: 3, reason: "no stream".to_owned(), standing };
    assert!(store.put_feed_delivery("bad", &failed).await.expect("the store answers"));
    let stop = CancellationToken::new();
    let state = server.state.clone();
    let delivering =
        tokio::spawn(deliver_feeds(state.app().clone(), "one".to_owned(), stop.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(delivery(&server, "bad").await, ("retrying".to_owned(), 3));
    assert_eq!(broker.taken("bad"), (0, 0));
    delivering.abort();
}
