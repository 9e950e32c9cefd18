//! A long chain: the cost of a step in single-row commits, and whether the last step costs the same
//! as the first.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use super::ScenarioParameters;
use crate::database::{MeasuredDatabase, log};
use crate::numbers::{Runs, median, micros, number, percentile, ratio};
use crate::playbooks::{NOTHING, chain_of};
use crate::plot::{Plot, PlotLine, PlotStyle};
use crate::sheet::{AcceptedRange, FigureTable, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation, completions, fresh};

const STEPS: u64 = 1000;
const RUNS: usize = 5;
/// The number of steps measured near either end, without the outermost `EDGE` ones; a single step
/// is mostly noise.
const WINDOW: usize = 100;
const EDGE: usize = 10;
/// The number of steps in a row of the table.
const ROW: usize = 100;
/// The largest accepted ratio of the cost at the end of a chain to the cost at its start.
const FLAT_MAX: f64 = 1.1;

/// The measurements with the worker in one location.
struct ChainMeasurements {
    /// The latency of each step but the first, for each run.
    latencies: Vec<Vec<Duration>>,
    /// The durations of single-row commits, measured after each run.
    commits: Vec<Duration>,
}

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let mut lines = Vec::new();
    let mut commits = Vec::new();
    for (worker, commits_max) in [(WorkerLocation::InProcess, 2.5), (WorkerLocation::Separate, 5.0)]
    {
        let found = chains(setting, worker, &mut sheet).await?;
        tell(&mut sheet, worker, &found, commits_max);
        let points = by_row(&found).into_iter().map(|row| (row[0], row[1])).collect();
        lines.push(PlotLine { name: worker.name().to_owned(), points });
        sheet.table(FigureTable { columns: vec!["up to step", "median us"], rows: by_row(&found) });
        commits.extend(found.commits);
    }
    let commit = micros(median(&commits));
    let points = vec![(0.0, commit), (number(STEPS), commit)];
    lines.push(PlotLine { name: "a row committed".to_owned(), points });
    sheet.plot(Plot {
        title: format!("A chain on {}", setting.store.title()),
        x: "step",
        y: "median latency, us",
        shape: PlotStyle::Lines,
        lines,
    });
    Ok(sheet)
}

async fn chains(
    setting: &ScenarioParameters<'_>,
    worker: WorkerLocation,
    sheet: &mut Sheet,
) -> Result<ChainMeasurements> {
    let home = fresh(setting.directory, worker.name())?;
    let database = MeasuredDatabase::new(setting.store, &home).await?;
    let system = MeasuredSystem::start(&database, worker).await?;
    let store = database.store().await?;
    let steps = setting.size.of(STEPS);
    let playbook = chain_of(steps, "bench/chain", NOTHING);
    let warm_up = chain_of(steps / 5, "bench/warm_up", NOTHING);
    system.run(&database, &*store, &warm_up, &[json!({})]).await?;
    let mut found =
        ChainMeasurements { latencies: Vec::new(), commits: database.single_commits().await? };
    let mut cpu = Runs::default();
    for run in 0..setting.size.runs(RUNS) {
        let ran = system.run(&database, &*store, &playbook, &[json!({})]).await?;
        let log = log(&*store, ran.executions[0]).await?;
        let done = completions(&log);
        ensure!(number(steps) == crate::numbers::len(&done), "{} steps ran", done.len());
        // The latency of a step is the time from the end of the previous step to its own end.
        let latencies = done.windows(2).map(|pair| pair[1].at.since(pair[0].at));
        found.latencies.push(latencies.collect());
        found.commits.extend(database.single_commits().await?);
        cpu.push(micros(ran.cpu()) / number(steps));
        if run == 0 {
            ran.counts().tell(sheet, worker.name(), "each step", steps);
        }
    }
    sheet.runs(format!("{}: CPU time of server and worker", worker.name()), cpu, "us/step");
    system.stop()?;
    Ok(found)
}

fn tell(sheet: &mut Sheet, worker: WorkerLocation, found: &ChainMeasurements, commits_max: f64) {
    let name = worker.name();
    let runs = &found.latencies;
    let commit = median(&found.commits);
    let of = |of: fn(&[Duration]) -> Duration| -> Runs {
        runs.iter().map(|latencies| micros(of(latencies))).collect()
    };
    let steps = of(median);
    sheet.runs(format!("{name}: a step, median"), steps.clone(), "us");
    sheet.runs(format!("{name}: a step, p99"), of(|latencies| percentile(latencies, 99)), "us");
    let first: Vec<Duration> = runs.iter().flat_map(|run| first(run)).copied().collect();
    let last: Vec<Duration> = runs.iter().flat_map(|run| last(run)).copied().collect();
    let (first, last) = (median(&first), median(&last));
    sheet.figure(format!("{name}: a step around the 10th, median"), micros(first), "us");
    sheet.figure(format!("{name}: a step around the 10th from the end"), micros(last), "us");
    sheet.figure(format!("{name}: a single row committed, median"), micros(commit), "us");
    let in_commits = steps.median() / micros(commit);
    sheet.goal(
        format!("{name}: a step, in commits"),
        in_commits,
        AcceptedRange::AtMost(commits_max),
    );
    let goal = format!("{name}: a late step to an early one");
    sheet.goal(goal, ratio(last, first), AcceptedRange::AtMost(FLAT_MAX));
}

fn first(latencies: &[Duration]) -> &[Duration] {
    let from = EDGE.min(latencies.len());
    &latencies[from..latencies.len().min(from + WINDOW)]
}

fn last(latencies: &[Duration]) -> &[Duration] {
    let to = latencies.len().saturating_sub(EDGE);
    &latencies[to.saturating_sub(WINDOW)..to]
}

/// Returns the medians of each hundred steps, over all runs.
fn by_row(found: &ChainMeasurements) -> Vec<Vec<f64>> {
    let steps = found.latencies.first().map_or(0, Vec::len);
    let rows = (0..steps).step_by(ROW).zip(1u32..);
    rows.map(|(from, row)| {
        let of_run = |run: &Vec<Duration>| run[from..run.len().min(from + ROW)].to_vec();
        let all: Vec<Duration> = found.latencies.iter().flat_map(of_run).collect();
        vec![f64::from(row) * 100.0, micros(median(&all))]
    })
    .collect()
}
