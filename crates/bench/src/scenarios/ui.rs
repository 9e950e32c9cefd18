//! Pages of the web interface on large stores: lists, long executions, positions, graphs, the
//! editor, updates.
//!
//! A page is fetched as a browser does, compressed; the time is that until its last byte.

mod editor;
mod live;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use noetl_model::ChildExecutions;
use serde_json::json;

use super::ScenarioParameters;
use super::history::{LongExecution, grow};
use crate::database::MeasuredDatabase;
use crate::generated::{fill_short, path_of};
use crate::numbers::{len, megabytes, micros, number, percentile};
use crate::playbooks::layered;
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation, fresh};

/// The number of executions in the list.
const EXECUTIONS: u64 = 1_000_000;
/// The number of events of the executions whose pages are opened.
const LONG: u64 = 200_000;
const LONGEST: u64 = 1_000_000;
/// The number of events of the execution whose positions are shown.
const SCRUBBED: u64 = 100_000;
/// The number of steps of the graph.
const STEPS: u64 = 1000;
/// The number of requests for each question.
const TIMES: u64 = 200;
/// The number of times that a page is opened.
const OPENINGS: usize = 20;

/// Goals, in milliseconds and megabytes.
const FIRST_PAGE_MAX: f64 = 200.0;
const FILTER_MAX: f64 = 300.0;
const OPENED_MAX: f64 = 500.0;
const POSITION_MAX: f64 = 300.0;
const GRAPH_MAX: f64 = 1000.0;
const GROWTH_MAX: f64 = 50.0;

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    lists(setting, &mut sheet).await?;
    let database = MeasuredDatabase::new(setting.store, &fresh(setting.directory, "long")?).await?;
    for events in [LONG, LONGEST] {
        let long = grow(&database, setting.size.of(events)).await?;
        open_pages(&database, &mut sheet, &long).await?;
    }
    let scrubbed = grow(&database, setting.size.of(SCRUBBED)).await?;
    positions(&database, &mut sheet, &scrubbed).await?;
    graph(&database, &mut sheet).await?;
    editor::measure(&database, &mut sheet).await?;
    live::measure(&database, &mut sheet, setting.size.runs(3)).await?;
    Ok(sheet)
}

/// A browser without scripts.
struct PageReader {
    client: reqwest::Client,
    base: String,
}

impl PageReader {
    fn new(system: &MeasuredSystem) -> Self {
        Self { client: reqwest::Client::new(), base: format!("{}/ui/", system.url()) }
    }

    /// Fetches a page below `/ui/`; returns its text and how long it took.
    async fn fetch(&self, path: &str) -> Result<(String, Duration)> {
        let begun = Instant::now();
        let response = self.client.get(format!("{}{path}", self.base)).send().await?;
        let status = response.status();
        let text = response.text().await?;
        ensure!(status.is_success(), "{path} answers {status}");
        Ok((text, begun.elapsed()))
    }

    /// Fetches pages one after another; returns how long each took.
    async fn fetch_all(&self, paths: impl Iterator<Item = String>) -> Result<Vec<Duration>> {
        let mut durations = Vec::new();
        for path in paths {
            durations.push(self.fetch(&path).await?.1);
        }
        Ok(durations)
    }
}

/// Returns the text between two others.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    text.split_once(before)?.1.split_once(after).map(|(found, _)| found)
}

fn millis(duration: Duration) -> f64 {
    micros(duration) / 1000.0
}

/// Adds median and p95 of durations as figures, and the p95 as a goal.
fn add_durations(sheet: &mut Sheet, name: &str, durations: &[Duration], most: f64) {
    sheet.figure(format!("{name}, p50"), millis(percentile(durations, 50)), "ms");
    let late = millis(percentile(durations, 95));
    sheet.goal(format!("{name}, p95, ms"), late, AcceptedRange::AtMost(most));
}

/// Measures the list of executions and its filters.
async fn lists(setting: &ScenarioParameters<'_>, sheet: &mut Sheet) -> Result<()> {
    let database = MeasuredDatabase::new(setting.store, &fresh(setting.directory, "many")?).await?;
    let count = setting.size.of(EXECUTIONS);
    fill_short(&*database.writer().await?, count).await?;
    database.analyze().await?;
    let system = MeasuredSystem::start(&database, WorkerLocation::None).await?;
    let reader = PageReader::new(&system);
    let (list, _) = reader.fetch("executions").await?;
    ensure!(list.contains(&path_of(0)), "the list shows the executions");
    sheet.figure("executions in the list", number(count), "executions");
    let first = reader.fetch_all((0..TIMES).map(|_| "executions".to_owned())).await?;
    add_durations(sheet, "first page of the list", &first, FIRST_PAGE_MAX);
    let overview = reader.fetch_all((0..TIMES).map(|_| String::new())).await?;
    add_durations(sheet, "overview", &overview, FIRST_PAGE_MAX);
    let filters = filters();
    let changes = (0..TIMES).zip(filters.iter().cycle()).map(|(_, filter)| filter.clone());
    let changes = reader.fetch_all(changes).await?;
    add_durations(sheet, "list after a change of the filter", &changes, FILTER_MAX);
    for (place, filter) in filters.iter().enumerate() {
        let of = changes.iter().skip(place).step_by(filters.len()).copied();
        let slowest = of.max().unwrap_or_default();
        sheet.figure(format!("slowest of {filter}"), millis(slowest), "ms");
    }
    system.stop()
}

/// Addresses of the list, each with another filter; one matches nothing.
fn filters() -> Vec<String> {
    let path = path_of(2).replace('/', "%2F");
    let queries = [
        "status=FAILED",
        "status=RUNNING",
        "playbook=TEAM_1",
        &format!("playbook={path}&status=FAILED"),
        "from=2020-01-01T00:00&until=2100-01-01T00:00",
        "playbook=nowhere",
    ];
    queries.iter().map(|query| format!("executions?{query}")).collect()
}

/// Measures the page of a long execution, opened by a server that has not seen it.
async fn open_pages(
    database: &MeasuredDatabase,
    sheet: &mut Sheet,
    long: &LongExecution,
) -> Result<()> {
    let system = MeasuredSystem::start(database, WorkerLocation::None).await?;
    let reader = PageReader::new(&system);
    reader.fetch("").await?;
    reader.fetch("executions").await?;
    let before = system.server().usage()?.resident;
    let page = format!("executions/{}", long.execution);
    let (text, first) = reader.fetch(&page).await?;
    ensure!(text.contains(&format!("data-last=\"{}\"", long.events)), "the page is at the end");
    let again = reader.fetch_all((0..OPENINGS).map(|_| page.clone())).await?;
    let peak = system.server().usage()?.peak;
    let what = format!("page of an execution with {} events", long.events);
    let goal = format!("{what}, first response, ms");
    sheet.goal(goal, millis(first), AcceptedRange::AtMost(OPENED_MAX));
    sheet.figure(format!("{what}, again, p50"), millis(percentile(&again, 50)), "ms");
    sheet.figure(format!("{what}, size"), len(text.as_bytes()) / 1000.0, "kB");
    let growth = megabytes(peak.saturating_sub(before));
    let goal = format!("{what}, growth of the server, MB");
    sheet.goal(goal, growth, AcceptedRange::AtMost(GROWTH_MAX));
    system.client().cancel(long.execution, "measured", ChildExecutions::default()).await?;
    system.stop()
}

/// Measures the pages of positions all over an execution, and the difference between two of them.
async fn positions(
    database: &MeasuredDatabase,
    sheet: &mut Sheet,
    long: &LongExecution,
) -> Result<()> {
    let system = MeasuredSystem::start(database, WorkerLocation::None).await?;
    let reader = PageReader::new(&system);
    let page = format!("executions/{}", long.execution);
    // A prime number steps through the log without a pattern.
    let at = |time: u64| 1 + time * 7919 % long.events;
    let moves = (0..TIMES).map(|time| format!("{page}?at={}", at(time)));
    let moves = reader.fetch_all(moves).await?;
    let what = format!("a position among {} events", long.events);
    add_durations(sheet, &what, &moves, POSITION_MAX);
    let pairs = (0..TIMES)
        .map(|time| format!("{page}?at={}&to={}&tab=variables", at(time), at(time * 31 + 7)));
    let pairs = reader.fetch_all(pairs).await?;
    let what = format!("the difference of two positions among {} events", long.events);
    sheet.figure(format!("{what}, p50"), millis(percentile(&pairs, 50)), "ms");
    sheet.figure(format!("{what}, p95"), millis(percentile(&pairs, 95)), "ms");
    system.client().cancel(long.execution, "measured", ChildExecutions::default()).await?;
    system.stop()
}

/// Measures the pages with the graph of a large playbook, which are not in any cache at first.
async fn graph(database: &MeasuredDatabase, sheet: &mut Sheet) -> Result<()> {
    let system = MeasuredSystem::start(database, WorkerLocation::None).await?;
    let reader = PageReader::new(&system);
    let playbook = system.register(&layered(STEPS, "bench/layered")).await?;
    let (text, first) = reader.fetch("playbooks/bench/layered").await?;
    ensure!(text.contains("s999"), "the graph has all steps");
    let goal = format!("playbook with {STEPS} steps, first response, ms");
    sheet.goal(goal, millis(first), AcceptedRange::AtMost(GRAPH_MAX));
    let started = system.execute(playbook, &[json!({})]).await?;
    let execution = started.first().context("it was started")?;
    let (text, first) = reader.fetch(&format!("executions/{execution}")).await?;
    let nodes = text.matches("data-step=\"").count();
    ensure!(u64::try_from(nodes)? == STEPS, "the graph has {nodes} nodes");
    let goal = format!("execution of {STEPS} steps, first response, ms");
    sheet.goal(goal, millis(first), AcceptedRange::AtMost(GRAPH_MAX));
    system.stop()
}
