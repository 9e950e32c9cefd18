//! Reads of executions: the cost of an answer may not depend on the amount of other stored data.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use noetl_model::{ExecutionId, Seq};
use noetl_store::{READ_EVENTS_MAX, Store};
use reqwest::Method;

use super::ScenarioParameters;
use crate::database::MeasuredDatabase;
use crate::generated::{GeneratedStore, path_of};
use crate::numbers::{megabytes, micros, number, percentile};
use crate::plot::{Plot, PlotLine, PlotStyle};
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation, fresh};

/// The number of events in the large store, and the factor by which the other is smaller.
const EVENTS: u64 = 3_200_000;
const SMALLER: u64 = 100;
/// The minimum number of events; below it, the small store has too few executions to read.
const EVENTS_MIN: u64 = 800_000;
/// The number of measured requests for each question.
const TIMES: usize = 400;
/// The number of requests before the measurement, to fill caches.
const WARM_UP: usize = 20;
/// The largest accepted ratio of the cost of an answer with a hundred times as much data.
const RATIO_MAX: f64 = 2.0;
/// The maximum memory of a server during a replay, in megabytes.
const REPLAY_PEAK_MAX: f64 = 150.0;
/// The largest accepted time of repeating a long replay, as a share of the first time.
const AGAIN_MAX: f64 = 0.2;

#[derive(Debug, Clone, Copy)]
enum Question {
    List,
    OfStatus,
    OfPath,
    OfPartOfPath,
    Status,
    Detail,
    FirstEvents,
    FirstEventsOfLongest,
    Replay,
}

impl Question {
    const ALL: [Self; 9] = [
        Self::List,
        Self::OfStatus,
        Self::OfPath,
        Self::OfPartOfPath,
        Self::Status,
        Self::Detail,
        Self::FirstEvents,
        Self::FirstEventsOfLongest,
        Self::Replay,
    ];

    /// The short names for the plot.
    const NAMES: &'static [&'static str] =
        &["list", "status=", "path=", "path~", "status", "detail", "events", "longest", "replay"];

    fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::OfStatus => "list by status",
            Self::OfPath => "list by path",
            Self::OfPartOfPath => "list by part of a path",
            Self::Status => "status",
            Self::Detail => "detail",
            Self::FirstEvents => "first page of events",
            Self::FirstEventsOfLongest => "first page of events of the longest",
            Self::Replay => "replay of an ordinary execution",
        }
    }

    /// Returns the path of the n-th request. The limit of a list is a number of rows that even the
    /// small store has for each filter.
    fn path(self, of: &GeneratedStore, time: usize) -> String {
        // Distant executions, so that they are not all in the same pages.
        let execution = of.executions[time * 7919 % of.executions.len()];
        let longest = of.longest;
        match self {
            Self::List => "api/executions?limit=15".to_owned(),
            Self::OfStatus => "api/executions?limit=15&status=FAILED".to_owned(),
            Self::OfPath => format!("api/executions?limit=15&path_exact={}", path_of(2)),
            Self::OfPartOfPath => "api/executions?limit=15&path=TEAM_2".to_owned(),
            Self::Status => format!("api/executions/{execution}/status"),
            Self::Detail => format!("api/executions/{execution}"),
            Self::FirstEvents => format!("api/executions/{execution}/events?limit=100"),
            Self::FirstEventsOfLongest => format!("api/executions/{longest}/events?limit=100"),
            Self::Replay => format!("api/replay/state?execution_id={execution}"),
        }
    }

    async fn measure(self, system: &MeasuredSystem, of: &GeneratedStore) -> Result<Vec<Duration>> {
        let mut durations = Vec::with_capacity(TIMES);
        for time in 0..WARM_UP + TIMES {
            let path = self.path(of, time);
            let started = Instant::now();
            let answer = system.ask(Method::GET, &path, None).await?;
            durations.push(started.elapsed());
            let is_empty = answer.as_array().is_some_and(Vec::is_empty) || answer.is_null();
            ensure!(!is_empty, "`{}` finds nothing", self.name());
        }
        Ok(durations.split_off(WARM_UP))
    }
}

/// A filled store, and a server on it.
struct FilledStore {
    database: MeasuredDatabase,
    system: MeasuredSystem,
    content: GeneratedStore,
    events: u64,
    took: Duration,
}

impl FilledStore {
    async fn of(setting: &ScenarioParameters<'_>, name: &str, events: u64) -> Result<Self> {
        let database =
            MeasuredDatabase::new(setting.store, &fresh(setting.directory, name)?).await?;
        let begun = Instant::now();
        let content = GeneratedStore::fill(&*database.writer().await?, events).await?;
        let took = begun.elapsed();
        database.analyze().await?;
        let system = MeasuredSystem::start(&database, WorkerLocation::None).await?;
        Ok(Self { database, system, content, events, took })
    }
}

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let events = setting.size.of(EVENTS).max(EVENTS_MIN);
    let small = FilledStore::of(setting, "small", events / SMALLER).await?;
    let large = FilledStore::of(setting, "large", events).await?;
    sheet.figure("events in the store", number(large.events), "events");
    let rate = number(large.events) / large.took.as_secs_f64();
    sheet.figure("written in batches", rate, "events/s");
    let mut points = (Vec::new(), Vec::new());
    for (place, question) in (0u32..).map(f64::from).zip(Question::ALL) {
        let name = question.name();
        let before = question.measure(&small.system, &small.content).await?;
        let after = question.measure(&large.system, &large.content).await?;
        let (few, many) = (percentile(&before, 50), percentile(&after, 50));
        sheet.figure(format!("{name}, p50"), micros(many), "us");
        sheet.figure(format!("{name}, p99"), micros(percentile(&after, 99)), "us");
        sheet.figure(format!("{name}, p50 with 1/{SMALLER} stored"), micros(few), "us");
        let late = micros(percentile(&before, 99));
        sheet.figure(format!("{name}, p99 with 1/{SMALLER} stored"), late, "us");
        let goal = format!("{name}, p50 to that");
        sheet.goal(goal, micros(many) / micros(few), AcceptedRange::AtMost(RATIO_MAX));
        points.0.push((place, micros(few)));
        points.1.push((place, micros(many)));
    }
    let line = |events: u64, points| PlotLine { name: format!("{events} events"), points };
    sheet.plot(Plot {
        title: format!("Answers on {}, by what is stored", setting.store.title()),
        x: "",
        y: "p50, us",
        shape: PlotStyle::Bars(Question::NAMES),
        lines: vec![line(small.events, points.0), line(large.events, points.1)],
    });
    small.system.stop()?;
    replays(&mut sheet, large).await?;
    Ok(sheet)
}

/// Measures the longest execution: replayed by the server, and only read from the store.
async fn replays(sheet: &mut Sheet, large: FilledStore) -> Result<()> {
    let FilledStore { database, system, content, .. } = large;
    let events = number(content.length);
    let execution = replay(&system, &content, "projection=execution").await?;
    let again = replay(&system, &content, "projection=execution").await?;
    // The answer has an entry for every command.
    let all = replay(&system, &content, "projection=all").await?;
    let two = replays_at_once(&system, &content).await?;
    let store = database.store().await?;
    let read = read_all(&*store, content.longest).await?;
    let raw = database.raw_read(content.longest).await?;
    sheet.figure("events of the longest execution", events, "events");
    let rate = |took: Duration| events / took.as_secs_f64();
    sheet.figure("its rows merely read", rate(raw), "events/s");
    sheet.figure("its events read as events", rate(read), "events/s");
    sheet.figure("its events replayed by the server", rate(execution.took), "events/s");
    sheet.figure("replayed with every command shown", rate(all.took), "events/s");
    sheet.figure("replayed for the first time", micros(execution.took) / 1000.0, "ms");
    sheet.figure("replayed again", micros(again.took) / 1000.0, "ms");
    for (what, peak) in [
        ("", execution.peak),
        (" with every command", all.peak),
        (" with every command, twice at once", two),
    ] {
        let goal = format!("memory while it is replayed{what}, MB");
        sheet.goal(goal, peak, AcceptedRange::AtMost(REPLAY_PEAK_MAX));
    }
    let share = again.took.as_secs_f64() / execution.took.as_secs_f64();
    sheet.goal("replayed again, to the first time", share, AcceptedRange::AtMost(AGAIN_MAX));
    system.stop()
}

/// The cost of a replay by the server.
struct ReplayCost {
    took: Duration,
    /// The peak memory of the server during the replay, in MB.
    peak: f64,
}

/// Returns the peak memory of the server during two concurrent replays with all commands, in MB.
async fn replays_at_once(system: &MeasuredSystem, of: &GeneratedStore) -> Result<f64> {
    let one = || replay(system, of, "projection=all");
    let (one, other) = futures::try_join!(one(), one())?;
    Ok(one.peak.max(other.peak))
}

async fn replay(
    system: &MeasuredSystem,
    of: &GeneratedStore,
    projection: &str,
) -> Result<ReplayCost> {
    system.forget_peak()?;
    let (longest, limit) = (of.longest, of.length + 1);
    let path = format!("api/replay/state?execution_id={longest}&{projection}&limit={limit}");
    let begun = Instant::now();
    let answer = system.ask(Method::GET, &path, None).await?;
    let took = begun.elapsed();
    ensure!(answer["event_count"] == of.length, "the replay was cut short");
    Ok(ReplayCost { took, peak: megabytes(system.server().usage()?.peak) })
}

async fn read_all(store: &dyn Store, execution: ExecutionId) -> Result<Duration> {
    let begun = Instant::now();
    let mut after = Seq::ZERO;
    loop {
        let page = store.read(execution, after, READ_EVENTS_MAX).await?;
        match page.last() {
            Some(last) => after = last.seq,
            None => break,
        }
    }
    ensure!(after > Seq::ZERO, "nothing was read");
    Ok(begun.elapsed())
}
