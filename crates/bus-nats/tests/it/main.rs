//! Tests of the bus against a real NATS server, one for each test.

mod hints;
mod outage;
mod relays;
mod stream;

use std::time::Duration;

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::{self, AckKind, Context};
use futures::StreamExt as _;
use noetl_bus::{Bus as _, Hint, Notification, NotificationReason};
use noetl_bus_nats::{NatsBus, NatsSettings};
use noetl_model::{CommandName, EventId, ExecutionId, Pool, StepName};
use noetl_testkit::NatsServer;

/// The timeout after which a test counts as stuck.
const PATIENCE: Duration = Duration::from_secs(20);

async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("it happens soon")
}

fn settings(nats: &NatsServer) -> NatsSettings {
    let public_server_url = "http://127.0.0.1:58082".to_owned();
    NatsSettings { public_server_url, ..NatsSettings::at(nats.url()) }
}

async fn bus_on(nats: &NatsServer) -> NatsBus {
    let bus = NatsBus::connect(settings(nats)).await.expect("a bus");
    connected(&bus).await;
    bus
}

/// Waits until notifications go through, which the bus announces with [`Hint::LookAgain`].
async fn connected(bus: &NatsBus) {
    let mut hints = bus.subscribe();
    while !bus.is_connected() {
        assert_eq!(soon(hints.next()).await, Hint::LookAgain);
    }
}

/// Returns a plain client of the same NATS server.
async fn outsider(nats: &NatsServer) -> Context {
    jetstream::new(async_nats::connect(nats.url()).await.expect("NATS is there"))
}

fn notification(row: i64, pool: &str) -> Notification {
    Notification {
        reason: NotificationReason::Issued { row },
        pool: Pool::new(pool),
        command: CommandName {
            execution: ExecutionId(7),
            step: StepName::new("start"),
            event_id: EventId(100 + row),
            item: None,
        },
        trace: None,
    }
}

/// A worker of the public protocol: a durable pull consumer that acknowledges one message at a
/// time.
struct Worker {
    consumer: jetstream::consumer::Consumer<pull::Config>,
}

impl Worker {
    async fn new(nats: &NatsServer, filter: &str) -> Self {
        let stream = outsider(nats).await.get_stream("noetl_commands").await.expect("a stream");
        let config = pull::Config {
            durable_name: Some("worker-pool".to_owned()),
            filter_subject: filter.to_owned(),
            ..Default::default()
        };
        let consumer = stream.get_or_create_consumer("worker-pool", config).await;
        Self { consumer: consumer.expect("a consumer") }
    }

    async fn pull(&self) -> async_nats::Message {
        let mut fetched = soon(self.consumer.batch().max_messages(1).expires(PATIENCE).messages())
            .await
            .expect("a fetch");
        let message = soon(fetched.next()).await.expect("a message").expect("no error");
        message.ack_with(AckKind::Ack).await.expect("an acknowledgement");
        message.message.clone()
    }
}
