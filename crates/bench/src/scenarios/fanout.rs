//! A parallel loop: the rate of its items, and whether the last items cost the same as the first.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use noetl_model::Recorded;
use serde_json::{Value, json};

use super::{ScenarioParameters, many};
use crate::database::{MeasuredDatabase, log};
use crate::numbers::{Runs, len, mebibytes, micros, number};
use crate::playbooks::fanout;
use crate::plot::{Plot, PlotLine, PlotStyle};
use crate::sheet::{AcceptedRange, FigureTable, Sheet};
use crate::system::{MeasuredExecutions, MeasuredSystem, WorkerLocation, completions};

/// The numbers of items and of repetitions.
const LOOPS: [(u64, usize); 3] = [(1000, 5), (10_000, 3), (100_000, 1)];
const ITEMS_PER_SECOND_MIN: f64 = 5000.0;
/// The largest accepted ratio of the cost of the last tenth to that of the first.
const FLAT_MAX: f64 = 1.3;
const PEAK_MAX: f64 = 200.0;

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    let system = MeasuredSystem::start(&database, WorkerLocation::InProcess).await?;
    let store = database.store().await?;
    let payload = |items: u64| json!({ "items": (0..items).collect::<Value>() });
    let playbook = fanout();
    system.run(&database, &*store, &playbook, &[payload(500)]).await?;
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for (full, runs) in LOOPS {
        let items = setting.size.of(full);
        let mut found = LoopMeasurements::default();
        for _ in 0..setting.size.runs(runs) {
            system.forget_peak()?;
            let ran = system.run(&database, &*store, &playbook, &[payload(items)]).await?;
            let log = log(&*store, ran.executions[0]).await?;
            let raw = many::rows_of(&*store, &ran.executions).await?;
            let raw = len(&raw) / database.raw_inserts(&raw).await?.as_secs_f64();
            found.add(items, &ran, &log, raw)?;
        }
        found.tell(&mut sheet, items);
        rows.push(found.row(items));
        lines.push(PlotLine { name: format!("{items} items"), points: found.points });
    }
    system.stop()?;
    sheet.table(FigureTable {
        columns: vec![
            "items",
            "items/s",
            "events/s",
            "raw events/s",
            "us/item first",
            "us/item last",
            "CPU us/item",
            "peak MiB",
        ],
        rows,
    });
    sheet.plot(Plot {
        title: format!("A loop in parallel on {}", setting.store.title()),
        x: "% of the items",
        y: "us each",
        shape: PlotStyle::Lines,
        lines,
    });
    Ok(sheet)
}

/// The measurements of loops of one length.
#[derive(Default)]
struct LoopMeasurements {
    items_per_second: Runs,
    events_per_second: Runs,
    raw: Runs,
    cpu: Runs,
    database_cpu: Runs,
    /// The cost of an item in the first and the last tenth.
    first: Runs,
    last: Runs,
    peak: Runs,
    points: Vec<(f64, f64)>,
    counts: Option<crate::database::Counts>,
}

impl LoopMeasurements {
    fn add(
        &mut self,
        items: u64,
        ran: &MeasuredExecutions,
        log: &[Recorded],
        raw: f64,
    ) -> Result<()> {
        let done = completions(log);
        ensure!(len(&done) == number(items), "{} items ran", done.len());
        let seconds = ran.wall().as_secs_f64();
        self.items_per_second.push(number(items) / seconds);
        self.events_per_second.push(len(log) / seconds);
        self.raw.push(raw);
        self.cpu.push(micros(ran.cpu()) / number(items));
        self.database_cpu.push(micros(ran.cpu_of_database()) / number(items));
        self.peak.push(mebibytes(ran.after.server.peak));
        let tenths = tenths(&done);
        self.first.push(*tenths.first().context("there is a first tenth")?);
        self.last.push(*tenths.last().context("there is a last tenth")?);
        self.points = (1u32..).map(|tenth| 10.0 * f64::from(tenth)).zip(tenths).collect();
        self.counts = Some(ran.counts());
        Ok(())
    }

    fn tell(&self, sheet: &mut Sheet, items: u64) {
        let name = |what: &str| format!("{items} items: {what}");
        sheet.runs(name("a second"), self.items_per_second.clone(), "items/s");
        sheet.runs(name("CPU time of the server"), self.cpu.clone(), "us/item");
        sheet.runs(name("CPU time of the database"), self.database_cpu.clone(), "us/item");
        let share = self.events_per_second.median() / self.raw.median();
        sheet.figure(name("events a second, as a share of the raw rate"), share, "");
        if let Some(counts) = self.counts {
            counts.tell(sheet, &format!("{items} items"), "each item", items);
        }
        let ratio = self.last.median() / self.first.median();
        let goal = name("an item of the last tenth to one of the first");
        sheet.goal(goal, ratio, AcceptedRange::AtMost(FLAT_MAX));
        sheet.goal(
            name("memory of the server, MiB"),
            self.peak.most(),
            AcceptedRange::AtMost(PEAK_MAX),
        );
        if items == LOOPS[1].0 {
            let rate = self.items_per_second.median();
            sheet.goal(name("a second"), rate, AcceptedRange::AtLeast(ITEMS_PER_SECOND_MIN));
        }
    }

    fn row(&self, items: u64) -> Vec<f64> {
        let runs = [
            &self.items_per_second,
            &self.events_per_second,
            &self.raw,
            &self.first,
            &self.last,
            &self.cpu,
            &self.peak,
        ];
        std::iter::once(number(items)).chain(runs.map(Runs::median)).collect()
    }
}

/// Returns the cost of an item in each tenth in microseconds, from the end of the first item on, so
/// that opening the loop does not count.
fn tenths(done: &[&Recorded]) -> Vec<f64> {
    let size = (done.len().saturating_sub(1) / 10).max(1);
    let ends: Vec<Duration> = done.iter().map(|item| item.at.since(done[0].at)).collect();
    let spans = ends.windows(size + 1).step_by(size);
    let each = number(u64::try_from(size).unwrap_or(u64::MAX));
    spans.map(|span| micros(span[size].saturating_sub(span[0])) / each).take(10).collect()
}
