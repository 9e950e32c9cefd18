//! Ingest: the rate at which messages of a broker become executions, compared with only fetching
//! them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use async_nats::jetstream;
use async_nats::jetstream::consumer::pull;
use futures::StreamExt as _;
use noetl_model::ExecutionStatus;
use noetl_testkit::{NatsServer, Publisher};

use super::ScenarioParameters;
use super::outbox::published;
use crate::database::MeasuredDatabase;
use crate::numbers::{mebibytes, micros, number};
use crate::plot::{Plot, PlotLine, PlotStyle};
use crate::sheet::Sheet;
use crate::system::{MeasuredSystem, WorkerLocation};

const MESSAGES: u64 = 100_000;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(900);
const ACK_WAIT: Duration = Duration::from_secs(60);
const STREAM: &str = "RAW";

const PLAYBOOK: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: measured_message, path: bench/message}
workflow:
  - step: take
    tool: {kind: noop, result: '{{ workload.n }}'}
";

const PATH: &str = "subscriptions/measured";

/// The subscription; the address of the broker is filled in.
const SUBSCRIPTION: &str = "\
apiVersion: noetl.io/v1
kind: Subscription
metadata: {name: measured_messages, path: subscriptions/measured}
spec:
  source: nats
  mode: pull
  url: BROKER
  stream: RAW
  consumer: drain
  runtime: {batch: 500, timeout_ms: 500}
  dispatch: {playbook: bench/message, batch_dispatch: true, batch_max: 500}
  limits: {max_in_flight: 2000}
";

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let count = setting.size.of(MESSAGES);
    let nats = NatsServer::start();
    let context = jetstream::new(async_nats::connect(nats.url()).await?);
    let bodies: Vec<Vec<u8>> = (0..count).map(|n| format!("{{\"n\":{n}}}").into_bytes()).collect();
    published(&context, &bodies).await?;
    let publisher = Publisher::connect(&nats.url()).await;
    publisher.make_consumer(STREAM, "drain", ACK_WAIT).await;

    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    let system = MeasuredSystem::start(&database, WorkerLocation::InProcess).await?;
    let store = database.store().await?;
    system.register(PLAYBOOK).await?;
    let before = system.moment(&database).await?;
    let begun = Instant::now();
    system.register(&SUBSCRIPTION.replace("BROKER", &nats.url())).await?;
    let fetching = system.fetch(&database, PATH)?;
    while publisher.left(STREAM, "drain").await != Some(0) {
        ensure!(begun.elapsed() < PATIENCE, "messages are left");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    let taken = begun.elapsed();
    while store.count(ExecutionStatus::Completed, u64::MAX).await? < count {
        ensure!(begun.elapsed() < PATIENCE, "executions are left");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    let ended = begun.elapsed();
    let after = system.moment(&database).await?;
    let peak = system.server().usage()?.peak;
    let fetching_cpu = fetching.usage()?.cpu;
    fetching.stop()?;
    system.stop()?;
    let fetched = fetched(&context, count).await?;

    let rate = |took: Duration| number(count) / took.as_secs_f64();
    sheet.figure("messages that became executions", rate(taken), "messages/s");
    sheet.figure("until those executions had ended", rate(ended), "messages/s");
    sheet.figure("the same messages merely fetched", rate(fetched), "messages/s");
    sheet.figure("share of that rate", rate(taken) / rate(fetched), "");
    let cpu = after.server.cpu.saturating_sub(before.server.cpu);
    sheet.figure("CPU time of the server", micros(cpu) / number(count), "us/message");
    let cpu = micros(fetching_cpu) / number(count);
    sheet.figure("CPU time of the process that fetches", cpu, "us/message");
    sheet.figure("memory of the server, most", mebibytes(peak), "MiB");
    (after.counts - before.counts).tell(&mut sheet, "a message and its step", "each", count);
    let line =
        |name: &str, value: f64| PlotLine { name: name.to_owned(), points: vec![(0.0, value)] };
    sheet.plot(Plot {
        title: format!("Messages of JetStream on {}", setting.store.title()),
        x: "",
        y: "messages a second",
        shape: PlotStyle::Bars(&["100,000 messages"]),
        lines: vec![line("started", rate(taken)), line("ended", rate(ended))],
    });
    Ok(sheet)
}

/// Measures the time to fetch and acknowledge all messages without further work.
async fn fetched(context: &jetstream::Context, count: u64) -> Result<Duration> {
    let stream = context.get_stream(STREAM).await?;
    let consumer = stream.create_consumer(pull::Config::default()).await?;
    let begun = Instant::now();
    let mut messages = consumer.messages().await?.take(usize::try_from(count)?);
    while let Some(message) = messages.next().await {
        let acknowledged = message?.ack().await;
        acknowledged.map_err(anyhow::Error::from_boxed).context("acknowledge a message")?;
    }
    Ok(begun.elapsed())
}
