//! A message source on a durable JetStream consumer. Several processes may fetch from one consumer.

use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer};
use async_nats::jetstream::stream::ConsumerErrorKind;
use async_nats::jetstream::{self, AckKind, Message};
use async_nats::{Client, HeaderMap};
use async_trait::async_trait;
use futures::StreamExt as _;
use noetl_model::{Arrival, Bytes, ErrorKind, ToolError};
use serde_json::{Map, Value, json};

use super::{FetchedMessage, PullSource, Receipt};
use crate::kinds::nats::connection::{NatsConnections, NatsEndpoint};
use crate::kinds::nats::{failed, missing};
use crate::protect::credentials::CredentialResolver;
use crate::run::call::Call;
use crate::run::keys::ToolConfig;

/// The redelivery time of a consumer created here.
const ACK_WAIT: Duration = Duration::from_secs(30);
/// The maximum number of unacknowledged messages of a consumer created here, over all processes.
const ACK_PENDING_MAX: i64 = 10_000;

/// A JetStream pull consumer as a message source.
pub(super) struct NatsSource {
    client: Client,
    consumer: PullConsumer,
    ack_wait: Duration,
}

/// Opens the consumer named by the keys; creates it if it does not exist.
pub(super) async fn open(
    connections: &NatsConnections,
    credentials: &dyn CredentialResolver,
    call: &Call,
) -> Result<NatsSource, ToolError> {
    let keys = ToolConfig::new("subscription", &call.config);
    let stream = keys.required_text(&["stream"])?;
    let name = keys.required_text(&["consumer"])?;
    let subject = keys.text(&["subject", "filter_subject"])?;
    let place = NatsEndpoint::read(call, keys, credentials).await?;
    let client = connections.get(place).await?;
    let context = jetstream::new(client.clone());
    let opened = context.get_stream(&stream).await;
    let opened =
        opened.map_err(|_| missing("stream", &stream, "make it with `nats stream add`"))?;
    let config = Config {
        durable_name: Some(name.clone()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: ACK_WAIT,
        max_ack_pending: ACK_PENDING_MAX,
        filter_subject: subject.unwrap_or_default(),
        ..Config::default()
    };
    let consumer = opened.get_or_create_consumer(&name, config).await.map_err(|error| {
        let kind = match error.kind() {
            ConsumerErrorKind::InvalidConsumerType | ConsumerErrorKind::InvalidName => {
                ErrorKind::Config
            }
            ConsumerErrorKind::TimedOut
            | ConsumerErrorKind::Request
            | ConsumerErrorKind::JetStream(_)
            | ConsumerErrorKind::Other => ErrorKind::Connection,
        };
        failed(kind, &format!("cannot open the pull consumer `{name}`"), &error)
    })?;
    let settings = &consumer.cached_info().config;
    if settings.max_deliver > 0 {
        let max_deliver = settings.max_deliver;
        tracing::warn!(
            stream,
            consumer = name,
            max_deliver,
            "the consumer has a maximum number of deliveries; a message whose worker dies at the last one is lost"
        );
    }
    let ack_wait = if settings.ack_wait.is_zero() { ACK_WAIT } else { settings.ack_wait };
    Ok(NatsSource { client, consumer, ack_wait })
}

impl NatsSource {
    async fn tell(&self, receipt: &Receipt, word: AckKind) -> Result<(), ToolError> {
        self.client
            .publish(receipt.as_str().to_owned(), word.into())
            .await
            .map_err(|error| broken(&error))
    }
}

#[async_trait]
impl PullSource for NatsSource {
    /// Returns the available messages at once, and waits for the first only if there is none. A
    /// pull request is never abandoned, because its messages would be lost until their redelivery.
    async fn fetch(&self, max: usize, wait: Duration) -> Result<Vec<FetchedMessage>, ToolError> {
        if self.client.connection_state() != State::Connected {
            return Err(broken(&"there is no connection to NATS"));
        }
        let here = |max: usize| async move {
            let messages = self.consumer.fetch().max_messages(max).messages().await;
            let mut messages = messages.map_err(|error| broken(&error))?;
            let mut fetched = Vec::new();
            while let Some(message) = messages.next().await {
                fetched.push(arrived(&message.map_err(|error| broken(&error))?)?);
            }
            Ok::<_, ToolError>(fetched)
        };
        let mut fetched = here(max).await?;
        if !fetched.is_empty() || wait.is_zero() {
            return Ok(fetched);
        }
        let first = self.consumer.batch().max_messages(1).expires(wait).messages().await;
        let mut first = first.map_err(|error| broken(&error))?;
        while let Some(message) = first.next().await {
            fetched.push(arrived(&message.map_err(|error| broken(&error))?)?);
        }
        if !fetched.is_empty() && max > 1 {
            fetched.extend(here(max - 1).await?);
        }
        Ok(fetched)
    }

    async fn ack(&self, receipt: &Receipt) -> Result<(), ToolError> {
        self.tell(receipt, AckKind::Ack).await
    }

    async fn nak(&self, receipt: &Receipt, delay: Duration) -> Result<(), ToolError> {
        let delay = Some(delay).filter(|delay| !delay.is_zero());
        self.tell(receipt, AckKind::Nak(delay)).await
    }

    async fn terminate(&self, receipt: &Receipt) -> Result<(), ToolError> {
        self.tell(receipt, AckKind::Term).await
    }

    async fn in_progress(&self, receipt: &Receipt) -> Result<(), ToolError> {
        self.tell(receipt, AckKind::Progress).await
    }

    fn ack_wait(&self) -> Duration {
        self.ack_wait
    }
}

fn arrived(message: &Message) -> Result<FetchedMessage, ToolError> {
    let receipt = message.reply.as_ref().map(|reply| Receipt::new(reply.to_string()));
    let receipt = receipt.ok_or_else(|| broken(&"a message cannot be acknowledged"))?;
    let place = message.info().map_err(|error| broken(&error))?;
    let id = format!("{}:{}", place.stream, place.stream_sequence);
    let headers = message.headers.as_ref().map(last_values).unwrap_or_default();
    let metadata = json!({
        "subject": message.subject.as_str(),
        "stream": place.stream,
        "consumer": place.consumer,
        "stream_seq": place.stream_sequence,
        "consumer_seq": place.consumer_sequence,
        "delivered": place.delivered,
    });
    let Value::Object(metadata) = metadata else { unreachable!("it is written as a map") };
    let arrival = Arrival {
        // A recreated stream counts from one again; the publication time makes the id unique.
        once: format!("{id}@{}", place.published.unix_timestamp_nanos()),
        id,
        attributes: headers.clone(),
        headers,
        metadata,
        body: Bytes(message.payload.to_vec()),
    };
    Ok(FetchedMessage { arrival, receipt })
}

/// Returns the headers by lower-case name, each with the last of its values.
fn last_values(headers: &HeaderMap) -> Map<String, Value> {
    let pairs = headers.iter().filter_map(|(name, values)| {
        let value = values.last()?.as_str();
        Some((name.to_string().to_ascii_lowercase(), json!(value)))
    });
    let mut pairs: Vec<(String, Value)> = pairs.collect();
    // The client keeps headers in no order.
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    pairs.into_iter().collect()
}

fn broken(error: &dyn std::fmt::Display) -> ToolError {
    ToolError::new(ErrorKind::Connection, format!("subscription: the source failed: {error}"))
}
