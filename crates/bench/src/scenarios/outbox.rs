//! The outbox: the rate at which pending messages reach JetStream, compared with only publishing
//! them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use async_nats::jetstream;
use async_nats::jetstream::consumer::pull;
use futures::StreamExt as _;
use noetl_testkit::NatsServer;

use super::ScenarioParameters;
use crate::database::MeasuredDatabase;
use crate::generated;
use crate::numbers::{len, number};
use crate::plot::{Plot, PlotLine, PlotStyle};
use crate::sheet::Sheet;
use crate::system::{MeasuredSystem, WorkerLocation};

const MESSAGES: u64 = 100_000;
/// The number of messages in flight when they are only published.
const IN_FLIGHT: usize = 256;
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(600);
/// The stream to which the same messages are published directly.
const RAW: &str = "RAW";

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let count = setting.size.of(MESSAGES);
    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    let store = database.writer().await?;
    generated::fill_outbox(&*store, count).await?;
    drop(store);
    let nats = NatsServer::start();
    let jetstream = jetstream::new(async_nats::connect(nats.url()).await?);

    let begun = Instant::now();
    let url = nats.url();
    let system =
        MeasuredSystem::start_with(&database, WorkerLocation::None, &["--nats", &url]).await?;
    let ready = begun.elapsed();
    let stream = drained(&jetstream, count, begun).await?;
    let sent = begun.elapsed();
    let usage = system.server().usage()?;
    system.stop()?;

    let payloads = fetched(&jetstream, &stream, count).await?;
    let raw = published(&jetstream, &payloads).await?;
    let (rate, raw) = (number(count) / sent.as_secs_f64(), len(&payloads) / raw.as_secs_f64());
    sheet.figure("sent to JetStream, from the start of the server", rate, "messages/s");
    sheet.figure("of which the server took to start", ready.as_secs_f64() * 1000.0, "ms");
    sheet.figure("the same messages merely published", raw, "messages/s");
    sheet.figure("share of that rate", rate / raw, "");
    let cpu = usage.cpu.as_secs_f64() * 1e6 / number(count);
    sheet.figure("CPU time of the server", cpu, "us/message");
    let line =
        |name: &str, value: f64| PlotLine { name: name.to_owned(), points: vec![(0.0, value)] };
    sheet.plot(Plot {
        title: format!("Owed messages to JetStream on {}", setting.store.title()),
        x: "",
        y: "messages a second",
        shape: PlotStyle::Bars(&["100,000 messages"]),
        lines: vec![line("outbox", rate), line("raw publish", raw)],
    });
    Ok(sheet)
}

/// Waits until a stream has all messages. Returns its name.
async fn drained(context: &jetstream::Context, count: u64, begun: Instant) -> Result<String> {
    loop {
        let mut names = context.stream_names();
        while let Some(name) = names.next().await {
            let name = name.context("list the streams")?;
            let messages = context.get_stream(&name).await?.get_info().await?.state.messages;
            if messages >= count {
                return Ok(name);
            }
        }
        ensure!(begun.elapsed() < PATIENCE, "the messages are not sent");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns the payloads of all messages of a stream.
async fn fetched(context: &jetstream::Context, stream: &str, count: u64) -> Result<Vec<Vec<u8>>> {
    let stream = context.get_stream(stream).await?;
    let consumer = stream.create_consumer(pull::Config::default()).await?;
    let mut messages = consumer.messages().await?.take(usize::try_from(count)?);
    let mut payloads = Vec::new();
    while let Some(message) = messages.next().await {
        let message = message?;
        // The server limits the number of unacknowledged messages.
        let acknowledged = message.ack().await;
        acknowledged.map_err(anyhow::Error::from_boxed).context("acknowledge a message")?;
        payloads.push(message.payload.to_vec());
    }
    Ok(payloads)
}

/// Measures the time to publish messages to a stream on disk, with many in flight.
pub(super) async fn published(
    context: &jetstream::Context,
    payloads: &[Vec<u8>],
) -> Result<Duration> {
    let config = jetstream::stream::Config {
        name: RAW.to_owned(),
        subjects: vec!["raw.>".to_owned()],
        ..Default::default()
    };
    context.create_stream(config).await?;
    let begun = Instant::now();
    let mut acknowledged = futures::stream::iter(payloads.iter().cloned())
        .map(|payload| async move { context.publish("raw.message", payload.into()).await?.await })
        .buffer_unordered(IN_FLIGHT);
    while let Some(acknowledgement) = acknowledged.next().await {
        acknowledgement?;
    }
    Ok(begun.elapsed())
}
