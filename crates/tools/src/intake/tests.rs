//! Tests of message sources on a real broker.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::{self, stream};
use noetl_testkit::NatsServer;
use serde_json::json;

use super::*;
use crate::FixedCredentials;

const NOW: Duration = Duration::ZERO;

struct Broker {
    server: NatsServer,
    context: jetstream::Context,
}

impl Broker {
    async fn start() -> Self {
        let server = NatsServer::start();
        let client = async_nats::connect(server.url()).await.unwrap();
        let context = jetstream::new(client);
        let subjects = vec!["s.>".to_owned()];
        let config = stream::Config { name: "S".to_owned(), subjects, ..Default::default() };
        context.create_stream(config).await.unwrap();
        Self { server, context }
    }

    async fn publish(&self, subject: &str, body: &str) {
        let mut headers = HeaderMap::new();
        headers.insert("X-Key", "first");
        headers.append("X-Key", "last");
        let sent =
            self.context.publish_with_headers(subject.to_owned(), headers, body.to_owned().into());
        sent.await.unwrap().await.unwrap();
    }

    async fn open(&self, settings: Value) -> Result<Arc<dyn PullSource>, ToolError> {
        let credentials = Arc::new(FixedCredentials::default());
        let sources =
            StandardSources::new(credentials, Some(self.server.url()), crate::Egress::Any);
        let Value::Object(settings) = settings else { panic!("a map") };
        sources.open(ExecutionId(7), "nats", &settings, None).await
    }
}

fn bodies(fetched: &[FetchedMessage]) -> Vec<String> {
    let text = |it: &FetchedMessage| String::from_utf8(it.arrival.body.0.clone()).unwrap();
    fetched.iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_fetched_in_order_and_come_again_until_they_are_dealt_with() {
    let broker = Broker::start().await;
    for body in ["1", "2", "3"] {
        broker.publish("s.a", body).await;
    }
    let source = broker.open(json!({ "stream": "S", "consumer": "c" })).await.unwrap();
    let first = source.fetch(2, NOW).await.unwrap();
    assert_eq!(bodies(&first), ["1", "2"]);
    let arrival = &first[0].arrival;
    assert_eq!(arrival.id, "S:1");
    assert!(arrival.once.starts_with("S:1@1"), "{}", arrival.once);
    assert_eq!(json!(arrival.headers), json!({ "x-key": "last" }));
    assert_eq!(arrival.metadata["subject"], "s.a");
    source.ack(&first[0].receipt).await.unwrap();
    source.nak(&first[1].receipt, NOW).await.unwrap();
    // A returned message may arrive after messages that were not fetched yet.
    let mut rest = source.fetch(10, Duration::from_secs(5)).await.unwrap();
    while rest.len() < 2 {
        rest.extend(source.fetch(10, Duration::from_secs(5)).await.unwrap());
    }
    let mut again = bodies(&rest);
    again.sort_unstable();
    assert_eq!(again, ["2", "3"]);
    for fetched in &rest {
        source.terminate(&fetched.receipt).await.unwrap();
    }
    assert_eq!(bodies(&source.fetch(10, NOW).await.unwrap()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_comes_while_waiting_is_not_kept_waiting() {
    let broker = Broker::start().await;
    let source = broker.open(json!({ "stream": "S", "consumer": "c" })).await.unwrap();
    let begun = std::time::Instant::now();
    let (fetched, ()) =
        tokio::join!(source.fetch(10, Duration::from_secs(30)), broker.publish("s.a", "1"));
    assert_eq!(bodies(&fetched.unwrap()), ["1"]);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_of_some_subjects_sees_no_others() {
    let broker = Broker::start().await;
    broker.publish("s.a", "1").await;
    broker.publish("s.b", "2").await;
    let settings = json!({ "stream": "S", "consumer": "c", "subject": "s.b" });
    let source = broker.open(settings).await.unwrap();
    assert_eq!(bodies(&source.fetch(10, NOW).await.unwrap()), ["2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_setting_or_stream_is_named() {
    let broker = Broker::start().await;
    let refused = |settings| async {
        match broker.open(settings).await {
            Ok(_) => panic!("it is opened"),
            Err(error) => error.to_string(),
        }
    };
    let said = refused(json!({ "stream": "T", "consumer": "c" })).await;
    assert!(said.contains("stream `T`"), "{said}");
    let said = refused(json!({ "stream": "S" })).await;
    assert!(said.contains("`consumer`"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_that_names_no_broker_uses_that_of_the_control_plane() {
    let broker = Broker::start().await;
    broker.publish("s.a", "1").await;
    let sources =
        StandardSources::new(Arc::new(FixedCredentials::default()), None, crate::Egress::Any);
    let open = async |settings: Value, url: Option<&str>| {
        let Value::Object(settings) = settings else { panic!("a map") };
        sources.open(ExecutionId(7), "nats", &settings, url).await
    };
    let url = broker.server.url();
    let plain = json!({ "stream": "S", "consumer": "c" });
    let source = open(plain.clone(), Some(&url)).await.unwrap();
    assert_eq!(bodies(&source.fetch(2, NOW).await.unwrap()), ["1"]);
    assert!(open(plain, None).await.is_err(), "there is none to use");
    let named = json!({ "stream": "S", "consumer": "c", "url": "nats://127.0.0.1:1" });
    assert!(open(named, Some(&url)).await.is_err(), "its own address counts");
}
