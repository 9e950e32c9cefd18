//! Callers that start an execution and wait for its output in one request, in a closed loop, next to the
//! rate of executions that are started without waiting.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use noetl_model::ExecutionId;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::ScenarioParameters;
use crate::database::MeasuredDatabase;
use crate::numbers::{Runs, len, median, micros, number, percentile};
use crate::playbooks::{NOTHING, chain_of};
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation};

const CALLERS: u64 = 128;
const EXECUTIONS: u64 = 500;
const STEPS: u64 = 5;
const RUNS: usize = 5;
/// The smallest accepted rate of callers that wait, as a share of the rate without waiting.
const SHARE_MIN: f64 = 0.7;

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    let system = MeasuredSystem::start(&database, WorkerLocation::InProcess).await?;
    let store = database.store().await?;
    let playbook = chain_of(STEPS, "bench/wait", NOTHING);
    let payloads: Vec<Value> = vec![json!({}); usize::try_from(setting.size.of(EXECUTIONS))?];
    system.run(&database, &*store, &playbook, &payloads).await?;
    let id = ExecutionId::from(system.register(&playbook).await?);
    let (mut open, mut closed, mut shares) = (Runs::default(), Runs::default(), Runs::default());
    let mut latencies = Vec::new();
    for _ in 0..setting.size.runs(RUNS) {
        let ran = system.run(&database, &*store, &playbook, &payloads).await?;
        let without = len(&payloads) / ran.wall().as_secs_f64();
        let left = AtomicU64::new(setting.size.of(EXECUTIONS));
        let began = Instant::now();
        let callers = (0..CALLERS).map(|_| call_until_done(&system, id, &left));
        let answered: Vec<Duration> = try_join_all(callers).await?.concat();
        let waiting = len(&answered) / began.elapsed().as_secs_f64();
        ensure!(answered.len() == payloads.len(), "{} callers were answered", answered.len());
        open.push(without);
        closed.push(waiting);
        shares.push(waiting / without);
        latencies.extend(answered);
    }
    system.stop()?;
    sheet.runs("executions a second, started at once", open, "");
    sheet.runs("128 callers that wait: executions a second", closed, "");
    sheet.figure("request to output: median", micros(median(&latencies)) / 1e3, "ms");
    sheet.figure("request to output: p99", micros(percentile(&latencies, 99)) / 1e3, "ms");
    sheet.figure("requests", number(u64::try_from(latencies.len())?), "");
    let goal = "rate of callers that wait, as a share of the rate without";
    sheet.goal(goal, shares.median(), AcceptedRange::AtLeast(SHARE_MIN));
    Ok(sheet)
}

/// Starts one execution after another and waits for the output of each, until none is left to start.
/// Returns the time of each request.
async fn call_until_done(
    system: &MeasuredSystem,
    playbook: ExecutionId,
    left: &AtomicU64,
) -> Result<Vec<Duration>> {
    let http = reqwest::Client::new();
    let url = format!("{}/api/execute", system.url());
    let body = json!({ "catalog_id": playbook.to_string(), "payload": {} });
    let mut times = Vec::new();
    let take = |count: u64| count.checked_sub(1);
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
        let began = Instant::now();
        let request = http.post(&url).header("prefer", "wait=60").json(&body);
        let answer = request.send().await.context("start an execution and wait")?;
        ensure!(answer.status() == StatusCode::OK, "not ended: {}", answer.text().await?);
        let answer: Value = answer.json().await?;
        ensure!(answer["status"] == "COMPLETED", "{answer}");
        times.push(began.elapsed());
    }
    Ok(times)
}
