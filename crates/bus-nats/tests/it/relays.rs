//! A test with eight relays over one outbox, killed at random: every message arrives, none is
//! stuck, and the messages of an execution arrive in order.
//!
//! `NOETL_RELAYS=full` sends 100,000 messages.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use futures::future::join_all;
use futures::stream;
use noetl_model::{CommandId, Message};
use noetl_store::conformance::given::start;
use noetl_store::{Append, EventLog as _, Outbox as _, OutboxConsumer, OutboxRow, Take};
use noetl_store_postgres::{ClusterSettings, Shards, TimeSource};
use noetl_testkit::PostgresServer;
use serde_json::Value;

use super::*;

const RELAYS: usize = 8;
/// The number of messages that a relay takes at once: few, so that relays are killed between takes.
const TAKE: usize = 50;
/// The time after which other relays may take the messages of a dead one.
const HOLD: Duration = Duration::from_secs(3);
/// The environment variables that tell a relay process its database and broker.
const DATABASE: &str = "NOETL_TEST_RELAY_DATABASE";
const BROKER: &str = "NOETL_TEST_RELAY_BROKER";

#[derive(Debug, Clone, Copy)]
struct Size {
    executions: i64,
    each: i64,
    /// The number of messages sent between two kills: kills by time would miss a fast machine.
    kill_every: usize,
    /// The time limit of the whole test.
    patience: Duration,
}

impl Size {
    fn chosen() -> Self {
        if std::env::var_os("NOETL_RELAYS").is_some_and(|size| size == "full") {
            let patience = Duration::from_secs(280);
            Self { executions: 2000, each: 50, kill_every: 2000, patience }
        } else {
            let patience = Duration::from_secs(60);
            Self { executions: 60, each: 30, kill_every: 200, patience }
        }
    }

    fn messages(self) -> usize {
        usize::try_from(self.executions * self.each).expect("a count fits")
    }
}

async fn connect(url: &str) -> Shards {
    let settings =
        ClusterSettings::from_env(|name| (name == "DATABASE_URL").then(|| url.to_owned()));
    let settings = settings.expect("the settings are right");
    Shards::connect(settings, TimeSource::Database).await.expect("the database opens")
}

/// Returns the n-th message of an execution, with the number in its event id.
fn message(execution: i64, number: i64) -> Message {
    Message::CommandReady {
        pool: Pool::shared(),
        command: CommandId(u64::try_from(number).expect("it counts up")),
        event_id: EventId(execution * 1000 + number),
        step: StepName::new("start"),
        item: None,
        trace: None,
    }
}

/// Fills the outbox, a few executions at a time.
async fn fill(store: &Shards, size: Size) {
    let ids: Vec<i64> = (1..=size.executions).map(|number| 1_000_000 + number).collect();
    for some in ids.chunks(100) {
        let batch: Vec<Append> = some
            .iter()
            .map(|id| Append {
                outbox: (1..=size.each).map(|number| message(*id, number)).collect(),
                ..start(ExecutionId(*id))
            })
            .collect();
        for appended in store.append(&batch).await.expect("the store appends") {
            appended.expect("a start");
        }
    }
}

/// A relay process, killed when dropped.
struct Relay(Child);

impl Relay {
    fn spawn(database: &str, nats: &NatsServer) -> Self {
        let binary = std::env::current_exe().expect("a test is a program");
        let child = Command::new(binary)
            .args(["relays::one_relay", "--exact", "--ignored"])
            .env(DATABASE, database)
            .env(BROKER, nats.url())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("it runs"))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _killed = self.0.kill();
        let _buried = self.0.wait();
    }
}

/// Runs one relay that takes, publishes and marks messages until it is killed.
#[tokio::test]
#[ignore = "a process that the test below starts and kills"]
async fn one_relay() {
    let (Ok(database), Ok(broker)) = (std::env::var(DATABASE), std::env::var(BROKER)) else {
        return;
    };
    let store = connect(&database).await;
    let bus = NatsBus::connect(NatsSettings::at(broker)).await.expect("a bus");
    connected(&bus).await;
    loop {
        let take = Take { consumer: OutboxConsumer::Publisher, limit: TAKE, hold: HOLD };
        let taken = store.take(take).await.expect("the store gives");
        if taken.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        }
        let mut by_execution: BTreeMap<ExecutionId, Vec<&OutboxRow>> = BTreeMap::new();
        for row in &taken {
            by_execution.entry(row.execution).or_default().push(row);
        }
        // Messages of one execution are sent in sequence, different executions in parallel.
        join_all(by_execution.values().map(async |rows| {
            for row in rows {
                let notification = noetl_control::notification(row).expect("it is for the bus");
                bus.notify(&notification).await.expect("NATS takes it");
            }
        }))
        .await;
        let ids: Vec<i64> = taken.iter().map(|row| row.id).collect();
        store.sent(&ids).await.expect("the store marks");
    }
}

/// Measures the messages a second that JetStream accepts directly, with the same size and
/// concurrency.
async fn raw_rate(nats: &NatsServer, messages: usize) -> f64 {
    let context = outsider(nats).await;
    let subjects = vec!["raw.>".to_owned()];
    let config =
        jetstream::stream::Config { name: "raw".to_owned(), subjects, ..Default::default() };
    context.create_stream(config).await.expect("a stream");
    let body = vec![b'x'; 200];
    let begun = Instant::now();
    let sending = stream::iter(0..messages).map(|number| {
        let (context, body) = (context.clone(), body.clone());
        async move {
            let sent = context.publish(format!("raw.{}", number % 8), body.into()).await;
            sent.expect("NATS takes it").await.expect("and says so");
        }
    });
    sending.buffer_unordered(RELAYS * 64).for_each(async |()| {}).await;
    #[expect(clippy::cast_precision_loss, reason = "a rate is told to a few digits")]
    let rate = messages as f64 / begun.elapsed().as_secs_f64();
    rate
}

/// Returns the execution and event of every message, in the order of arrival.
async fn arrived(nats: &NatsServer) -> Vec<(i64, i64)> {
    let stream = outsider(nats).await.get_stream("noetl_commands").await.expect("a stream");
    let count = stream.cached_info().state.messages;
    let consumer = stream.create_consumer(pull::Config::default()).await.expect("a consumer");
    let mut found = Vec::new();
    while (found.len() as u64) < count {
        let mut batch = consumer.fetch().max_messages(1000).messages().await.expect("a fetch");
        while let Some(message) = batch.next().await {
            let message = message.expect("no error");
            message.ack().await.expect("an acknowledgement");
            let body: Value = serde_json::from_slice(&message.payload).expect("JSON");
            let name = body["command_id"].as_str().expect("a name").to_owned();
            let parts: Vec<&str> = name.split(':').collect();
            let number = |part: &str| part.parse().expect("a number");
            found.push((number(parts[0]), number(parts[2])));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_that_are_killed_deliver_everything_in_order() {
    let size = Size::chosen();
    let (postgres, nats) = (PostgresServer::private(), Arc::new(NatsServer::start()));
    let database = postgres.url("postgres");
    let store = connect(&database).await;
    fill(&store, size).await;
    let raw = raw_rate(&nats, size.messages()).await;
    // The stream exists before the first relay starts.
    drop(bus_on(&nats).await);

    let begun = Instant::now();
    let mut relays: Vec<Relay> = (0..RELAYS).map(|_| Relay::spawn(&database, &nats)).collect();
    let (mut kills, mut dice) = (0, 0x9e37_79b9_u32);
    loop {
        let owed = usize::try_from(store.owed().await.expect("a count")).expect("a count fits");
        if owed == 0 {
            break;
        }
        assert!(begun.elapsed() < size.patience, "{owed} are owed");
        if size.messages() - owed >= (kills + 1) * size.kill_every {
            // The killed relay may be at any point of its loop, which differs from run to run.
            dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let chosen = usize::try_from(dice >> 16).expect("a small number") % RELAYS;
            relays[chosen] = Relay::spawn(&database, &nats);
            kills += 1;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = begun.elapsed();
    drop(relays);

    let mut per_execution: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (execution, event) in arrived(&nats).await {
        let events = per_execution.entry(execution).or_default();
        if !events.contains(&event) {
            events.push(event);
        }
    }
    assert_eq!(per_execution.len(), usize::try_from(size.executions).expect("a count fits"));
    for (execution, events) in &per_execution {
        let expected: Vec<i64> = (1..=size.each).map(|number| execution * 1000 + number).collect();
        assert_eq!(*events, expected, "the messages of {execution}, in order");
    }
    assert!(kills > 0, "somebody was killed");
    #[expect(clippy::cast_precision_loss, reason = "a rate is told to a few digits")]
    let rate = size.messages() as f64 / took.as_secs_f64();
    println!(
        "{} messages by {RELAYS} relays, {kills} killed: {rate:.0}/s; JetStream alone: {raw:.0}/s",
        size.messages()
    );
}
