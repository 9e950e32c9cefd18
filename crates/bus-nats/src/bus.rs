//! The bus itself.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::{ContextBuilder, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::{Client, ConnectOptions};
use async_trait::async_trait;
use futures::FutureExt as _;
use noetl_bus::{Bus, BusError, Hint, HintReceiver, LocalBus, Notification, Parcel, Reach, wire};
use thiserror::Error;
use tokio_util::task::AbortOnDropHandle;

use crate::hints;
use crate::link::{Attendant, Link};
use crate::settings::{AddressError, NatsSettings, read_address};
use crate::stream;

/// How long NATS has for one answer.
const ACK_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest pause between two tries to connect.
const RECONNECT_MAX: Duration = Duration::from_secs(1);
/// How often a silent connection is tried; a dead one is given up after the third time.
const PING_EVERY: Duration = Duration::from_secs(4);

/// Why there is no bus. That NATS cannot be reached is no reason.
#[derive(Debug, Error)]
pub enum ConnectError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("the NATS client cannot be set up")]
    Client(#[source] async_nats::ConnectError),
}

/// A bus on NATS. Lives in the background for as long as it is kept.
pub struct NatsBus {
    local: LocalBus,
    client: Client,
    jetstream: Context,
    link: Arc<Link>,
    server_url: String,
    _background: [AbortOnDropHandle<()>; 2],
}

impl NatsBus {
    /// A bus on the NATS that `settings` names, connected as soon as that can be reached.
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
                async move { told.heard(&event) }
            });
        let client =
            credentials.apply(options).connect(servers).await.map_err(ConnectError::Client)?;
        let jetstream = ContextBuilder::new().timeout(ACK_TIMEOUT).build(client.clone());
        let local = LocalBus::new();
        let attendant = Attendant {
            link: Arc::clone(&link),
            client: client.clone(),
            jetstream: jetstream.clone(),
            stream,
            hints: local.clone(),
        };
        let background = [
            AbortOnDropHandle::new(tokio::spawn(attendant.attend())),
            AbortOnDropHandle::new(tokio::spawn(hints::hear(client.clone(), local.clone()))),
        ];
        Ok(Self { local, client, jetstream, link, server_url, _background: background })
    }

    /// Whether notifications reach the stream at the moment.
    pub fn is_connected(&self) -> bool {
        self.is_linked() && self.link.is_open()
    }

    fn is_linked(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Sends in order, and waits for the answers afterwards.
    async fn put_all(&self, parcels: &[Parcel]) -> Result<(), PublishError> {
        let mut answers = Vec::with_capacity(parcels.len());
        for Parcel { subject, id, body } in parcels {
            let message =
                PublishMessage::build().payload(body.clone().into()).message_id(id.clone());
            answers.push(self.jetstream.send_publish(subject.clone(), message).await?);
        }
        for answer in answers {
            answer.await?;
        }
        Ok(())
    }

    /// Sends, unless the connection is lost meanwhile.
    async fn put_while_linked(
        &self,
        parcels: &[Parcel],
    ) -> Result<Result<(), PublishError>, BusError> {
        tokio::select! {
            sent = self.put_all(parcels) => Ok(sent),
            () = self.link.cut() => {
                Err(BusError::Unavailable("the connection to NATS was lost".into()))
            }
        }
    }

    /// Makes the stream of events, if all of these go there; the answer is whether it is there.
    async fn make_event_stream(&self, parcels: &[Parcel]) -> bool {
        if !parcels.iter().all(|parcel| parcel.subject.starts_with(stream::EVENTS_PREFIX)) {
            return false;
        }
        match stream::ensure_events(&self.jetstream).await {
            Ok(()) => true,
            Err(error) => {
                let error: &dyn Error = &error;
                tracing::warn!(error, "the stream of events is not there");
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
            // A client that has too much to send loses the hint.
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
                self.link.doubt();
                Err(BusError::Unavailable(error))
            }
        }
    }

    async fn put(&self, parcels: &[Parcel]) -> Result<(), BusError> {
        if !self.is_linked() {
            return Err(BusError::Unavailable("NATS is not connected".into()));
        }
        let mut sent = self.put_while_linked(parcels).await?;
        let is_missing = |sent: &Result<_, PublishError>| matches!(sent, Err(error) if error.kind() == PublishErrorKind::StreamNotFound);
        if is_missing(&sent) && self.make_event_stream(parcels).await {
            sent = self.put_while_linked(parcels).await?;
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
    match u32::try_from(attempts) {
        Ok(0 | 1) => Duration::ZERO,
        Ok(attempts @ 2..10) => Duration::from_millis(2u64.pow(attempts)).min(RECONNECT_MAX),
        Ok(_) | Err(_) => RECONNECT_MAX,
    }
}
