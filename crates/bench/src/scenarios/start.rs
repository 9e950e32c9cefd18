//! Startup: the time until a server answers, and its memory when idle.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::ScenarioParameters;
use crate::database::MeasuredDatabase;
use crate::numbers::{Runs, mebibytes};
use crate::plot::{Plot, PlotLine, PlotStyle};
use crate::process::binary;
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation};

const STARTS: usize = 15;
/// The idle time before the memory of a server is measured.
const IDLE: Duration = Duration::from_secs(2);
const READY_MAX: f64 = 300.0;
const IDLE_MAX: f64 = 60.0;

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    let begun = Instant::now();
    MeasuredSystem::start(&database, WorkerLocation::InProcess).await?.stop()?;
    let first = begun.elapsed();
    let mut ready = Runs::default();
    for _ in 0..setting.size.runs(STARTS) {
        let begun = Instant::now();
        let system = MeasuredSystem::start(&database, WorkerLocation::InProcess).await?;
        ready.push(begun.elapsed().as_secs_f64() * 1000.0);
        system.stop()?;
    }
    let system = MeasuredSystem::start(&database, WorkerLocation::InProcess).await?;
    tokio::time::sleep(IDLE).await;
    let idle = mebibytes(system.server().usage()?.resident);
    system.stop()?;
    let path = binary()?;
    let size = path.metadata().with_context(|| format!("look at {}", path.display()))?.len();
    sheet.figure("to the first answer, on an empty database", first.as_secs_f64() * 1000.0, "ms");
    sheet.runs("to the first answer, on one that is up to date", ready.clone(), "ms");
    sheet.figure("size of the binary", mebibytes(size), "MiB");
    let (soonest, latest) = (ready.median(), ready.most());
    sheet.goal("ready within, ms (median)", soonest, AcceptedRange::AtMost(READY_MAX));
    sheet.goal("memory with nothing to do, MiB", idle, AcceptedRange::AtMost(IDLE_MAX));
    let values = [first.as_secs_f64() * 1000.0, soonest, latest];
    let points = (0u32..).map(f64::from).zip(values).collect();
    sheet.plot(Plot {
        title: format!("From start to answer on {}", setting.store.title()),
        x: "",
        y: "ms",
        shape: PlotStyle::Bars(&["empty database", "median", "slowest"]),
        lines: vec![PlotLine { name: "to the first answer".to_owned(), points }],
    });
    Ok(sheet)
}
