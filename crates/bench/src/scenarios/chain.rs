//! A long chain: the last step may cost no more than one of the first.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Map;

use super::{FLAT_MAX, Scenario};
use crate::limits;
use crate::numbers::{median, micros, ratio};
use crate::sheet::{Sheet, Table};
use crate::system::{System, completions};

const STEPS: usize = 1000;
const FIRST: Range<usize> = 10..110;
const LAST: Range<usize> = 890..990;
/// How many steps a row of the table is about.
const ROW: usize = 100;
const COMMITS: usize = 300;

pub(super) async fn measure(directory: &Path) -> Result<Sheet> {
    let before = limits::commits(&fresh(directory, "before")?, COMMITS).await?;
    let system = System::open(directory).await?;
    let tool = "{kind: noop}";
    let ran = system.run(&chain_of(STEPS, "bench/chain", tool), Map::new()).await?;
    let log = system.log(ran.execution).await?;
    system.close().await?;
    let after = limits::commits(&fresh(directory, "after")?, COMMITS).await?;
    let commit = median(&[before, after].concat());

    let done = completions(&log)?;
    ensure!(done.len() == STEPS, "{} steps ran", done.len());
    // The latency of a step is the time from the end of the one before to its own.
    let latencies: Vec<Duration> =
        done.windows(2).map(|pair| pair[1].at.since(pair[0].at)).collect();
    let (first, last) = (median(&latencies[FIRST]), median(&latencies[LAST]));
    let rows = (1u32..)
        .zip(latencies.chunks(ROW))
        .map(|(row, chunk)| vec![100.0 * f64::from(row), micros(median(chunk))]);

    let mut sheet = Sheet::new(Scenario::Chain);
    sheet.table(Table { columns: vec!["steps", "median us/step"], rows: rows.collect() });
    sheet.figure("the whole chain", ran.wall().as_secs_f64(), "s");
    sheet.figure("CPU time of a step", micros(ran.ended.cpu - ran.begun.cpu) / 1000.0, "us");
    sheet.figure("a step of 10..110, median", micros(first), "us");
    sheet.figure("a step of 890..990, median", micros(last), "us");
    sheet.figure("a row committed by SQLite meanwhile, median", micros(commit), "us");
    sheet.figure("a step in such commits", ratio(median(&latencies), commit), "commits");
    sheet.goal("a step of 890..990 to one of 10..110", ratio(last, first), FLAT_MAX);
    Ok(sheet)
}

fn fresh(directory: &Path, name: &str) -> Result<std::path::PathBuf> {
    let path = directory.join(name);
    std::fs::create_dir(&path)?;
    Ok(path)
}

/// A playbook whose steps follow each other, all with the same tool.
pub(super) fn chain_of(steps: usize, path: &str, tool: &str) -> String {
    let mut playbook = format!(
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: measured, path: {path}}}\nworkflow:\n"
    );
    for step in 1..=steps {
        let next = match step {
            last if last == steps => String::new(),
            _ => format!("    next: {{arcs: [{{step: s{}}}]}}\n", step + 1),
        };
        write!(playbook, "  - step: s{step}\n    tool: {tool}\n{next}").expect("strings grow");
    }
    playbook
}
