//! Fairness: the latency of small executions alone, and beside a loop over 200,000 items.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use noetl_api::AnyId;
use noetl_model::ExecutionId;
use noetl_store::Store;
use reqwest::Method;
use serde_json::{Value, json};

use super::ScenarioParameters;
use crate::database::MeasuredDatabase;
use crate::numbers::{median, micros, number, percentile, ratio};
use crate::playbooks::{NOTHING, chain_of, fanout};
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation, now};

const ITEMS: u64 = 200_000;
const SMALL: u64 = 100;
const WARM_UP: u64 = 20;
/// The number of items that have to be done before the small executions are started.
const BEGUN: u64 = 500;
/// The largest accepted ratio of the latency beside the loop to the latency alone.
const SLOWER_MAX: f64 = 5.0;
const POLL_INTERVAL: Duration = Duration::from_millis(2);

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    let system = MeasuredSystem::start(&database, WorkerLocation::InProcess).await?;
    let store = database.store().await?;
    let small = system.register(&chain_of(1, "bench/small", NOTHING)).await?;
    latencies(&system, &*store, small, WARM_UP).await?;
    let alone = latencies(&system, &*store, small, setting.size.of(SMALL)).await?;

    let large = system.register(&fanout()).await?;
    let items: Value = (0..setting.size.of(ITEMS)).collect();
    let started = system.execute(large, &[json!({ "items": items })]).await?;
    let large = *started.first().context("the loop was started")?;
    events_reached(&*store, large, BEGUN).await?;
    let beside = latencies(&system, &*store, small, setting.size.of(SMALL)).await?;
    let summary = store.summary(large).await?.context("the loop is there")?;
    ensure!(summary.ended_at.is_none(), "the loop ended before the small executions did");
    let path = format!("api/executions/{large}/cancel");
    system.ask(Method::POST, &path, Some(&json!({ "reason": "measured" }))).await?;
    system.stop()?;

    for (name, latencies) in [("alone", &alone), ("beside the loop", &beside)] {
        sheet.figure(format!("{name}: median"), micros(median(latencies)) / 1e3, "ms");
        sheet.figure(format!("{name}: p99"), micros(percentile(latencies, 99)) / 1e3, "ms");
    }
    sheet.figure("events of the loop by then", number(summary.seq.0), "");
    let slower = ratio(median(&beside), median(&alone));
    sheet.goal(
        "latency beside the loop to latency alone",
        slower,
        AcceptedRange::AtMost(SLOWER_MAX),
    );
    Ok(sheet)
}

/// Runs executions one after another; returns the time from each request to the end of its
/// execution.
async fn latencies(
    system: &MeasuredSystem,
    store: &dyn Store,
    playbook: AnyId,
    count: u64,
) -> Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    for _ in 0..count {
        let asked_at = now()?;
        let started = system.execute(playbook, &[json!({})]).await?;
        let ended_at = loop {
            let summary = store.summary(started[0]).await?.context("the execution is there")?;
            if let Some(ended_at) = summary.ended_at {
                break ended_at;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        latencies.push(ended_at.since(asked_at));
    }
    Ok(latencies)
}

/// Waits until an execution has a number of events.
async fn events_reached(store: &dyn Store, execution: ExecutionId, count: u64) -> Result<()> {
    loop {
        let summary = store.summary(execution).await?.context("the loop is there")?;
        if summary.seq.0 >= count {
            return Ok(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
