//! The NATS bus.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::{ContextBuilder, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::{Client, ConnectOptions};
use async_trait::async_trait;
use backon::{BackoffBuilder as _, ExponentialBuilder};
use futures::FutureExt as _;
use noetl_bus::{
    Bus, BusError, BusMessage, Hint, HintReceiver, LocalBus, Notification, Reach, wire,
};
use thiserror::Error;
use tokio_util::task::AbortOnDropHandle;

use crate::hints;
use crate::link::{Link, LinkMonitor};
use crate::settings::{AddressError, NatsSettings, read_address};
use crate::stream;

/// The timeout of one answer from NATS.
const ACK_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest pause between two connection attempts.
const RECONNECT_MIN: Duration = Duration::from_millis(4);
const RECONNECT_MAX: Duration = Duration::from_secs(1);
/// The ping interval of an idle connection; a dead one is closed after the third ping.
const PING_EVERY: Duration = Duration::from_secs(4);

/// The reason a bus could not be set up. An unreachable NATS server is not an error here.
#[derive(Debug, Error)]
pub enum ConnectError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("the NATS client cannot be set up")]
    Client(#[source] async_nats::ConnectError),
}

/// A bus on NATS. Its background tasks end when it is dropped.
pub struct NatsBus {
    local: LocalBus,
    client: Client,
    jetstream: Context,
    link: Arc<Link>,
    server_url: String,
    _background: [AbortOnDropHandle<()>; 2],
}

impl NatsBus {
    /// Creates a bus on the NATS server of `settings`, and connects in the background as soon as
    /// the server is reachable.
    pub async fn connect(settings: NatsSettings) -> Result<Self, ConnectError> {
        let NatsSettings { url, stream, public_server_url: server_url } = settings;
        let (servers, credentials) = read_address(&url)?;
        let link = Arc::new(Link::new());
        let told = Arc::clone(&link);
        let options = ConnectOptions::new()
            .name("noetl")
            .no_echo()
            .retry_on_initial_connect()
            .ping_interval(PING_EVERY)
            .connection_timeout(ACK_TIMEOUT)
            .request_timeout(Some(ACK_TIMEOUT))
            .reconnect_delay_callback(reconnect_delay)
            .event_callback(move |event| {
                let told = Arc::clone(&told);
                async move { told.apply_event(&event) }
            });
        let client =
            credentials.apply(options).connect(servers).await.map_err(ConnectError::Client)?;
        let jetstream = ContextBuilder::new().timeout(ACK_TIMEOUT).build(client.clone());
        let local = LocalBus::new();
        let monitor = LinkMonitor {
            link: Arc::clone(&link),
            client: client.clone(),
            jetstream: jetstream.clone(),
            stream,
            hints: local.clone(),
        };
        let background = [
            AbortOnDropHandle::new(tokio::spawn(monitor.run())),
            AbortOnDropHandle::new(tokio::spawn(hints::forward_hints(
                client.clone(),
                local.clone(),
            ))),
        ];
        Ok(Self { local, client, jetstream, link, server_url, _background: background })
    }

    /// True if notifications currently reach the stream.
    pub fn is_connected(&self) -> bool {
        self.is_linked() && self.link.is_open()
    }

    fn is_linked(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Publishes all messages in order, then waits for their acknowledgements.
    async fn put_all(&self, messages: &[BusMessage]) -> Result<(), PublishError> {
        let mut answers = Vec::with_capacity(messages.len());
        for BusMessage { subject, id, body } in messages {
            let message =
                PublishMessage::build().payload(body.clone().into()).message_id(id.clone());
            answers.push(self.jetstream.send_publish(subject.clone(), message).await?);
        }
        for answer in answers {
            answer.await?;
        }
        Ok(())
    }

    /// Publishes the messages. Fails if the connection is lost in the meantime.
    async fn put_while_linked(
        &self,
        messages: &[BusMessage],
    ) -> Result<Result<(), PublishError>, BusError> {
        tokio::select! {
            sent = self.put_all(messages) => Ok(sent),
            () = self.link.cut() => {
                Err(BusError::Unavailable("the connection to NATS was lost".into()))
            }
        }
    }

    /// Creates the event stream if all messages go to it. Returns true if the stream exists.
    async fn make_event_stream(&self, messages: &[BusMessage]) -> bool {
        if !messages.iter().all(|parcel| parcel.subject.starts_with(stream::EVENTS_PREFIX)) {
            return false;
        }
        match stream::ensure_events(&self.jetstream).await {
            Ok(()) => true,
            Err(error) => {
                let error: &dyn Error = &error;
                tracing::warn!(error, "the NATS stream does not exist");
                false
            }
        }
    }

    async fn send(&self, notification: &Notification) -> Result<(), PublishError> {
        let message = PublishMessage::build()
            .payload(wire::body(notification, &self.server_url).into())
            .message_id(wire::message_id(notification));
        let subject = wire::subject(notification);
        self.jetstream.send_publish(subject, message).await?.await?;
        Ok(())
    }
}

#[async_trait]
impl Bus for NatsBus {
    async fn publish(&self, hint: Hint) {
        if self.is_linked() {
            let sending = self.client.publish(hints::subject(&hint), hints::body(&hint).into());
            // A client with a full send buffer drops the hint.
            match sending.now_or_never() {
                Some(Ok(())) => {}
                Some(Err(_)) | None => tracing::debug!(?hint, "hint lost"),
            }
        }
        self.local.publish(hint).await;
    }

    async fn notify(&self, notification: &Notification) -> Result<(), BusError> {
        if !self.is_connected() {
            return Err(BusError::Unavailable("NATS is not connected".into()));
        }
        let sent = tokio::select! {
            sent = self.send(notification) => sent,
            () = self.link.cut() => {
                return Err(BusError::Unavailable("the connection to NATS was lost".into()));
            }
        };
        let Err(error) = sent else { return Ok(()) };
        let kind = error.kind();
        let error: Box<dyn Error + Send + Sync> = error.into();
        match kind {
            PublishErrorKind::MaxPayloadExceeded => Err(BusError::Refused(error)),
            PublishErrorKind::StreamNotFound
            | PublishErrorKind::WrongLastMessageId
            | PublishErrorKind::WrongLastSequence
            | PublishErrorKind::TimedOut
            | PublishErrorKind::BrokenPipe
            | PublishErrorKind::MaxAckPending
            | PublishErrorKind::Other => {
                self.link.mark_suspect();
                Err(BusError::Unavailable(error))
            }
        }
    }

    async fn put(&self, messages: &[BusMessage]) -> Result<(), BusError> {
        if !self.is_linked() {
            return Err(BusError::Unavailable("NATS is not connected".into()));
        }
        let mut sent = self.put_while_linked(messages).await?;
        let is_missing = |sent: &Result<_, PublishError>| matches!(sent, Err(error) if error.kind() == PublishErrorKind::StreamNotFound);
        if is_missing(&sent) && self.make_event_stream(messages).await {
            sent = self.put_while_linked(messages).await?;
        }
        let Err(error) = sent else { return Ok(()) };
        let kind = error.kind();
        let error: Box<dyn Error + Send + Sync> = error.into();
        match kind {
            PublishErrorKind::StreamNotFound | PublishErrorKind::MaxPayloadExceeded => {
                Err(BusError::Refused(error))
            }
            PublishErrorKind::WrongLastMessageId
            | PublishErrorKind::WrongLastSequence
            | PublishErrorKind::TimedOut
            | PublishErrorKind::BrokenPipe
            | PublishErrorKind::MaxAckPending
            | PublishErrorKind::Other => Err(BusError::Unavailable(error)),
        }
    }

    fn subscribe(&self) -> HintReceiver {
        self.local.subscribe()
    }

    fn reach(&self) -> Reach {
        if self.is_connected() { Reach::Connected } else { Reach::Disconnected }
    }
}

fn reconnect_delay(attempts: usize) -> Duration {
    let Some(retries) = attempts.checked_sub(2) else { return Duration::ZERO };
    let delays = ExponentialBuilder::new()
        .with_min_delay(RECONNECT_MIN)
        .with_max_delay(RECONNECT_MAX)
        .without_max_times()
        .with_jitter();
    // The longest delay is reached long before.
    delays.build().nth(retries.min(16)).unwrap_or(RECONNECT_MAX)
}
