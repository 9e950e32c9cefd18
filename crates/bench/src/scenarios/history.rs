//! A long history: an execution with a million events has to load as fast as one with two thousand,
//! and take no more memory in the server.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use noetl_model::{ChildExecutions, Event, ExecutionId, ExecutionStatus, Seq};
use noetl_store::Store;
use reqwest::Method;
use serde_json::json;

use super::ScenarioParameters;
use crate::database::MeasuredDatabase;
use crate::numbers::{mebibytes, median, micros, number, percentile};
use crate::playbooks::PAUSED;
use crate::plot::{Plot, PlotLine, PlotStyle};
use crate::sheet::{AcceptedRange, FigureTable, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation};

/// The approximate number of events of each execution before it is loaded. The shortest has nearly
/// the maximum number of events since its last snapshot.
const EVENTS: [u64; 3] = [1900, 200_000, 1_000_000];
/// The number of events of a loop item.
const EVENTS_OF_ITEM: u64 = 4;
/// The maximum number of items in a round of the loop.
const ITEMS_MAX: u64 = 1000;
const LOADS: usize = 200;
/// The largest accepted ratio of the load time of the longest execution to that of the shortest.
const RATIO_MAX: f64 = 2.0;
/// The largest accepted ratio of the server's memory for the longest execution to that for the
/// shortest.
const MEMORY_RATIO_MAX: f64 = 1.5;
const PATIENCE: Duration = Duration::from_secs(900);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The measurements of an execution of one length.
struct HistoryMeasurements {
    events: u64,
    loads: Vec<Duration>,
    /// The peak memory of the server while the execution grew.
    growing: f64,
    /// The peak memory of a new server while it loaded the execution.
    loading: f64,
}

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    let mut all = Vec::new();
    for events in EVENTS {
        all.push(of_length(setting, &database, setting.size.of(events)).await?);
    }
    let row = |found: &HistoryMeasurements| {
        vec![
            number(found.events),
            micros(median(&found.loads)),
            micros(percentile(&found.loads, 99)),
            found.growing,
            found.loading,
        ]
    };
    let rows: Vec<Vec<f64>> = all.iter().map(row).collect();
    let columns = vec!["events", "load us", "load p99 us", "grow peak MiB", "load peak MiB"];
    sheet.plot(Plot {
        title: format!("Loading an execution on {}", setting.store.title()),
        x: "events it has had",
        y: "us",
        shape: PlotStyle::Lines,
        lines: vec![
            PlotLine { name: "median".to_owned(), points: column(&rows, 1) },
            PlotLine { name: "p99".to_owned(), points: column(&rows, 2) },
        ],
    });
    sheet.table(FigureTable { columns, rows });
    tell(&mut sheet, &all)?;
    Ok(sheet)
}

fn column(rows: &[Vec<f64>], column: usize) -> Vec<(f64, f64)> {
    rows.iter().map(|row| (row[0], row[column])).collect()
}

fn tell(sheet: &mut Sheet, all: &[HistoryMeasurements]) -> Result<()> {
    let short = all.first().context("there is a shortest")?;
    for long in all.iter().skip(1) {
        let events = long.events;
        let loads = micros(median(&long.loads)) / micros(median(&short.loads));
        let goal = format!("loading {events} events, to {}", short.events);
        sheet.goal(goal, loads, AcceptedRange::AtMost(RATIO_MAX));
        let goal = format!("memory while loading {events} events, to {}", short.events);
        sheet.goal(goal, long.loading / short.loading, AcceptedRange::AtMost(MEMORY_RATIO_MAX));
        let goal = format!("memory while growing to {events} events, to {}", short.events);
        sheet.goal(goal, long.growing / short.growing, AcceptedRange::AtMost(MEMORY_RATIO_MAX));
    }
    Ok(())
}

/// An execution that waits for a timer after many events.
pub(super) struct LongExecution {
    pub(super) execution: ExecutionId,
    pub(super) events: u64,
    /// The peak memory of the server while the execution grew.
    growing: f64,
}

/// Grows an execution by running items, until it is paused.
pub(super) async fn grow(database: &MeasuredDatabase, events: u64) -> Result<LongExecution> {
    let system = MeasuredSystem::start(database, WorkerLocation::InProcess).await?;
    let playbook = system.register(PAUSED).await?;
    let items = events / EVENTS_OF_ITEM;
    let rounds = items.div_ceil(ITEMS_MAX);
    let payload = json!({ "items": items / rounds, "rounds": rounds });
    let started = system.execute(playbook, &[payload]).await?;
    let execution = *started.first().context("it was started")?;
    let store = database.store().await?;
    let events = pauses(&*store, execution).await?;
    let growing = mebibytes(system.server().usage()?.peak);
    system.stop()?;
    Ok(LongExecution { execution, events, growing })
}

/// Grows an execution, and loads it in another server while it is paused.
async fn of_length(
    setting: &ScenarioParameters<'_>,
    database: &MeasuredDatabase,
    events: u64,
) -> Result<HistoryMeasurements> {
    let LongExecution { execution, events, growing } = grow(database, events).await?;
    let system = MeasuredSystem::start(database, WorkerLocation::None).await?;
    let path = format!("api/vars/{execution}");
    let mut loads = Vec::new();
    for _ in 0..setting.size.runs(LOADS) {
        let asked = Instant::now();
        system.ask(Method::GET, &path, None).await?;
        loads.push(asked.elapsed());
    }
    let loading = mebibytes(system.server().usage()?.peak);
    system.client().cancel(execution, "measured", ChildExecutions::default()).await?;
    system.stop()?;
    Ok(HistoryMeasurements { events, loads, growing, loading })
}

/// Waits until an execution waits for its timer. Returns its number of events.
async fn pauses(store: &dyn Store, execution: ExecutionId) -> Result<u64> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let summary = store.summary(execution).await?.context("it is there")?;
        ensure!(summary.status == ExecutionStatus::Running, "it ended: {:?}", summary.error);
        let last = Seq(summary.seq.0.saturating_sub(1));
        let last = store.read(execution, last, 1).await?;
        if last.iter().any(|recorded| matches!(recorded.event, Event::TimerSet { .. })) {
            return Ok(summary.seq.0);
        }
        ensure!(Instant::now() < deadline, "it does not come to its pause");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
