//! Many small executions at once: the rate of the system as a share of only writing its rows.

use std::time::Duration;

use anyhow::Result;
use noetl_model::ExecutionId;
use noetl_store::Store;
use serde_json::{Value, json};

use super::ScenarioParameters;
use crate::database::{Counts, MeasuredDatabase, log};
use crate::limits::RawRow;
use crate::numbers::{Runs, len, mebibytes, micros, number};
use crate::playbooks::{NOTHING, chain_of};
use crate::plot::{Plot, PlotLine, PlotStyle};
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation, fresh};

const EXECUTIONS: u64 = 2000;
const STEPS: u64 = 5;
const RUNS: usize = 5;
/// The smallest accepted share of the raw rate.
const SHARE_MIN: f64 = 0.25;
const STEPS_PER_SECOND_MIN: f64 = 5000.0;

#[derive(Default)]
struct ThroughputMeasurements {
    steps: Runs,
    events: Runs,
    raw: Runs,
    cpu: Runs,
    database_cpu: Runs,
    counts: Option<Counts>,
    peak: u64,
    /// The time the database spent by statement, over all steps.
    spent: Vec<(String, Duration)>,
    all_steps: f64,
}

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let mut points = (Vec::new(), Vec::new());
    for (place, worker) in
        [WorkerLocation::InProcess, WorkerLocation::Separate].into_iter().enumerate()
    {
        let found = executions(setting, worker).await?;
        tell(&mut sheet, setting, worker, &found);
        let place = number(u64::try_from(place)?);
        points.0.push((place, found.events.median()));
        points.1.push((place, found.raw.median()));
    }
    let line = |name: &str, points| PlotLine { name: name.to_owned(), points };
    sheet.plot(Plot {
        title: format!("Many executions at once on {}", setting.store.title()),
        x: "",
        y: "events a second",
        shape: PlotStyle::Bars(&["worker in the server", "worker apart"]),
        lines: vec![line("noetl", points.0), line("raw inserts", points.1)],
    });
    Ok(sheet)
}

async fn executions(
    setting: &ScenarioParameters<'_>,
    worker: WorkerLocation,
) -> Result<ThroughputMeasurements> {
    let home = fresh(setting.directory, worker.name())?;
    let database = MeasuredDatabase::new(setting.store, &home).await?;
    let system = MeasuredSystem::start(&database, worker).await?;
    let store = database.store().await?;
    let count = usize::try_from(setting.size.of(EXECUTIONS))?;
    let payloads: Vec<Value> = vec![json!({}); count];
    let playbook = chain_of(STEPS, "bench/many", NOTHING);
    let warm_up = &payloads[..count / 4];
    if setting.profile {
        database.look_into_functions().await?;
    }
    system.run(&database, &*store, &playbook, warm_up).await?;
    let mut found = ThroughputMeasurements {
        all_steps: len(warm_up) * number(STEPS),
        ..ThroughputMeasurements::default()
    };
    for _ in 0..setting.size.runs(RUNS) {
        let ran = system.run(&database, &*store, &playbook, &payloads).await?;
        let rows = rows_of(&*store, &ran.executions).await?;
        let raw = database.raw_inserts(&rows).await?;
        let (steps, seconds) = (len(&payloads) * number(STEPS), ran.wall().as_secs_f64());
        found.all_steps += steps;
        found.steps.push(steps / seconds);
        found.events.push(len(&rows) / seconds);
        found.raw.push(len(&rows) / raw.as_secs_f64());
        found.cpu.push(micros(ran.cpu()) / steps);
        found.database_cpu.push(micros(ran.cpu_of_database()) / steps);
        found.peak = ran.after.server.peak;
        found.counts = Some(ran.counts());
    }
    if setting.profile {
        found.spent = database.spent().await?;
    }
    system.stop()?;
    Ok(found)
}

/// Returns all events of some executions as raw rows.
pub(super) async fn rows_of(store: &dyn Store, executions: &[ExecutionId]) -> Result<Vec<RawRow>> {
    let mut rows = Vec::new();
    for execution in executions {
        for recorded in log(store, *execution).await? {
            rows.push(RawRow::of(*execution, &recorded)?);
        }
    }
    Ok(rows)
}

fn tell(
    sheet: &mut Sheet,
    setting: &ScenarioParameters<'_>,
    worker: WorkerLocation,
    found: &ThroughputMeasurements,
) {
    let name = worker.name();
    sheet.runs(format!("{name}: steps"), found.steps.clone(), "steps/s");
    sheet.runs(format!("{name}: events"), found.events.clone(), "events/s");
    sheet.runs(format!("{name}: the same rows inserted raw"), found.raw.clone(), "events/s");
    sheet.runs(format!("{name}: CPU time of server and worker"), found.cpu.clone(), "us/step");
    sheet.runs(format!("{name}: CPU time of the database"), found.database_cpu.clone(), "us/step");
    sheet.figure(format!("{name}: memory of the server, most"), mebibytes(found.peak), "MiB");
    if let Some(counts) = found.counts {
        counts.tell(sheet, name, "each step", setting.size.of(EXECUTIONS) * STEPS);
    }
    for (statement, spent) in &found.spent {
        let spent = micros(*spent) / found.all_steps;
        sheet.figure(format!("{name}: {statement}"), spent, "us/step");
    }
    let share = found.events.median() / found.raw.median();
    match worker {
        WorkerLocation::InProcess => {
            let goal = "events a second, as a share of the raw rate";
            sheet.goal(goal, share, AcceptedRange::AtLeast(SHARE_MIN));
            let goal = "durable steps a second";
            sheet.goal(goal, found.steps.median(), AcceptedRange::AtLeast(STEPS_PER_SECOND_MIN));
        }
        WorkerLocation::Separate | WorkerLocation::None => {
            sheet.figure(format!("{name}: share of the raw rate"), share, "");
        }
    }
}
