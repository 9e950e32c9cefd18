//! A client that publishes messages to streams of a broker, and retries while the broker is away.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::{self, Context, stream};
use async_nats::{ConnectOptions, HeaderMap, HeaderName, HeaderValue};

/// The timeout of one answer from the broker.
const ANSWER_WAIT: Duration = Duration::from_millis(500);
/// The pause before a message is sent again.
const AGAIN: Duration = Duration::from_millis(100);
/// The maximum number of attempts for a message.
const TRIES_MAX: u32 = 600;

pub struct Publisher {
    context: Context,
}

impl Publisher {
    /// Connects to a broker as soon as it is reachable.
    pub async fn connect(url: &str) -> Self {
        let options = ConnectOptions::new()
            .retry_on_initial_connect()
            .connection_timeout(ANSWER_WAIT)
            .request_timeout(Some(ANSWER_WAIT))
            .reconnect_delay_callback(|_| AGAIN);
        let client = options.connect(url).await.expect("an address");
        let mut context = jetstream::new(client);
        context.set_timeout(ANSWER_WAIT);
        Self { context }
    }

    /// Creates a stream of everything below a subject.
    pub async fn make_stream(&self, name: &str, subject: &str) {
        let (name, subjects) = (name.to_owned(), vec![format!("{subject}.>")]);
        let config = stream::Config { name, subjects, ..stream::Config::default() };
        self.context.create_stream(config).await.expect("it has room");
    }

    /// Creates a durable consumer that redelivers a message after `ack_wait`.
    pub async fn make_consumer(&self, stream: &str, name: &str, ack_wait: Duration) {
        let config = pull::Config {
            durable_name: Some(name.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait,
            max_ack_pending: 10_000,
            ..pull::Config::default()
        };
        let made = self.context.create_consumer_on_stream(config, stream.to_owned()).await;
        made.expect("there is the stream");
    }

    /// Stores a message once, sending it as often as needed. Returns the number of attempts.
    pub async fn publish(
        &self,
        subject: &str,
        id: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> u32 {
        let mut map = HeaderMap::new();
        map.insert("Nats-Msg-Id", id);
        for (name, value) in headers {
            let name: HeaderName = name.parse().expect("the name of a header");
            let value: HeaderValue = value.parse().expect("the value of a header");
            map.insert(name, value);
        }
        for tries in 1..=TRIES_MAX {
            let body = body.to_owned().into();
            let sent = self.context.publish_with_headers(subject.to_owned(), map.clone(), body);
            let is_stored = match sent.await {
                Ok(stored) => stored.await.is_ok(),
                Err(_) => false,
            };
            if is_stored {
                return tries;
            }
            tokio::time::sleep(AGAIN).await;
        }
        panic!("message {id} was sent {TRIES_MAX} times and not stored");
    }

    /// Returns the number of messages in a stream that a consumer has not acknowledged.
    pub async fn left(&self, stream: &str, consumer: &str) -> Option<u64> {
        let stream = self.context.get_stream(stream).await.ok()?;
        let mut consumer: jetstream::consumer::PullConsumer =
            stream.get_consumer(consumer).await.ok()?;
        let info = consumer.info().await.ok()?;
        Some(info.num_pending + u64::try_from(info.num_ack_pending).unwrap_or(u64::MAX))
    }

    /// Returns the number of messages in a stream.
    pub async fn count(&self, stream: &str) -> Option<u64> {
        let mut stream = self.context.get_stream(stream).await.ok()?;
        Some(stream.info().await.ok()?.state.messages)
    }
}
