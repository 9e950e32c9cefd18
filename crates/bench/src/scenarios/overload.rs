//! Overload: 64 clients start executions as fast as they are answered. Goodput has to stay near the
//! rate without overload, and executions must not wait for long.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures::future::try_join_all;
use noetl_model::ExecutionId;
use noetl_store::Store;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::ScenarioParameters;
use crate::database::MeasuredDatabase;
use crate::numbers::{len, median, micros, number, percentile};
use crate::playbooks::{NOTHING, chain_of};
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation, now};

const CLIENTS: u64 = 64;
const STEPS: u64 = 5;
const EXECUTIONS: u64 = 2000;
/// The time during which the clients start executions.
const SPELL: Duration = Duration::from_secs(20);
/// The smallest accepted goodput under overload, as a share of the rate without it.
const GOODPUT_MIN: f64 = 0.7;
/// The longest accepted time from start to end of an execution, in milliseconds, at the 99th
/// percentile.
const LATENCY_MAX: f64 = 5000.0;
/// The longest pause a client makes before it asks again.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The answers one client got.
#[derive(Default)]
struct StartAnswers {
    started: Vec<ExecutionId>,
    refused: u64,
}

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    let system = MeasuredSystem::start(&database, WorkerLocation::InProcess).await?;
    let store = database.store().await?;
    let playbook = chain_of(STEPS, "bench/overload", NOTHING);
    let payloads: Vec<Value> = vec![json!({}); usize::try_from(setting.size.of(EXECUTIONS))?];
    system.run(&database, &*store, &playbook, &payloads).await?;
    let ran = system.run(&database, &*store, &playbook, &payloads).await?;
    let capacity = len(&payloads) / ran.wall().as_secs_f64();

    let id = ExecutionId::from(system.register(&playbook).await?);
    let spell = SPELL / u32::try_from(EXECUTIONS / setting.size.of(EXECUTIONS))?;
    let (begun, begun_at) = (Instant::now(), now()?);
    let clients = (0..CLIENTS).map(|_| start_until(&system, id, begun + spell));
    let answers = try_join_all(clients).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let stopped_at = now()?;
    let refused: u64 = answers.iter().map(|answers| answers.refused).sum();
    let started: Vec<ExecutionId> =
        answers.into_iter().flat_map(|answers| answers.started).collect();
    let mut latencies = Vec::new();
    let (mut ended_meanwhile, mut last) = (0u64, stopped_at);
    for execution in &started {
        let (from, to) = span_of(&*store, *execution).await?;
        latencies.push(to.since(from));
        ended_meanwhile += u64::from(to <= stopped_at && to >= begun_at);
        last = last.max(to);
    }
    system.stop()?;

    let goodput = number(ended_meanwhile) / seconds;
    sheet.figure("executions a second without overload", capacity, "");
    sheet.figure("64 clients: started a second", len(&started) / seconds, "");
    sheet.figure("64 clients: refused a second", number(refused) / seconds, "");
    sheet.figure("64 clients: ended a second", goodput, "");
    sheet.figure(
        "the last ended after the clients stopped by",
        last.since(stopped_at).as_secs_f64(),
        "s",
    );
    sheet.figure("start to end: median", micros(median(&latencies)) / 1e3, "ms");
    let goal = "goodput under overload, as a share of the rate without";
    sheet.goal(goal, goodput / capacity, AcceptedRange::AtLeast(GOODPUT_MIN));
    let p99 = micros(percentile(&latencies, 99)) / 1e3;
    sheet.goal("start to end at the 99th percentile, ms", p99, AcceptedRange::AtMost(LATENCY_MAX));
    Ok(sheet)
}

/// Starts one execution after another until `end`, and waits as told after a refusal.
async fn start_until(
    system: &MeasuredSystem,
    playbook: ExecutionId,
    end: Instant,
) -> Result<StartAnswers> {
    let http = reqwest::Client::new();
    let url = format!("{}/api/execute", system.url());
    let body = json!({ "catalog_id": playbook.to_string(), "payload": {} });
    let mut answers = StartAnswers::default();
    while Instant::now() < end {
        let answer = http.post(&url).json(&body).send().await.context("start an execution")?;
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            answers.refused += 1;
            let after = answer.headers().get("retry-after").and_then(|it| it.to_str().ok());
            let after = after.and_then(|it| it.parse().ok()).map_or(PAUSE_MAX, Duration::from_secs);
            tokio::time::sleep(after.min(PAUSE_MAX)).await;
            continue;
        }
        ensure!(answer.status().is_success(), "not started: {}", answer.text().await?);
        let answer: Value = answer.json().await?;
        let id = answer["execution_id"].as_str().context("a start names its execution")?;
        answers.started.push(id.parse()?);
    }
    Ok(answers)
}

/// Waits until an execution has ended; returns when it started and when it ended.
async fn span_of(
    store: &dyn Store,
    execution: ExecutionId,
) -> Result<(noetl_model::Timestamp, noetl_model::Timestamp)> {
    loop {
        let summary = store.summary(execution).await?.context("the execution is there")?;
        if let Some(ended_at) = summary.ended_at {
            return Ok((summary.started_at, ended_at));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
