//! A long parallel loop: neither the cost of an item nor the size of the state may grow.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};

use super::{FLAT_MAX, Scenario};
use crate::limits;
use crate::machine::Usage;
use crate::numbers::{micros, number};
use crate::plane::MARK_EVERY;
use crate::sheet::{Sheet, Table};
use crate::system::{Ran, System, completions};

const ITEMS: u64 = 10_000;
/// After how many items the state is looked at early and late.
const EARLY: usize = 1000;
const LATE: usize = 9000;
const MEBIBYTE: f64 = 1024.0 * 1024.0;

const PLAYBOOK: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: measured_loop, path: bench/loop}
workflow:
  - step: each
    loop:
      in: '{{ workload.items }}'
      iterator: item
      spec: {mode: parallel}
    tool: {kind: noop, result: '{{ item }}'}
";

pub(super) async fn measure(directory: &Path) -> Result<Sheet> {
    let system = System::open(directory).await?;
    let payload = Map::from_iter([("items".to_owned(), (0..ITEMS).collect::<Value>())]);
    let ran = system.run(PLAYBOOK, payload).await?;
    let marks = system.plane().marks();
    let log = system.log(ran.execution).await?;
    let done = completions(&log)?;
    ensure!(number(u64::try_from(done.len())?) == number(ITEMS), "{} items ran", done.len());
    let early = system.state_len(ran.execution, done[EARLY - 1].seq).await?;
    let late = system.state_len(ran.execution, done[LATE - 1].seq).await?;
    let bytes = json!(log.iter().map(|recorded| &recorded.event).collect::<Vec<_>>());
    let events = u64::try_from(log.len())?;
    let log_len = u64::try_from(bytes.to_string().len())?;
    let path = system.close().await?;
    let raw = limits::batched_inserts(directory, &log).await?;

    let mut sheet = Sheet::new(Scenario::Loop);
    let costs = costs(&ran, &marks);
    let seconds = ran.wall().as_secs_f64();
    sheet.figure("items a second", number(ITEMS) / seconds, "items/s");
    sheet.figure("events a second", number(events) / seconds, "events/s");
    let raw_rate = number(events) / raw.as_secs_f64();
    sheet.figure("the same events as raw inserts in batches", raw_rate, "events/s");
    let share = raw.as_secs_f64() / seconds;
    sheet.figure("share of that rate which is reached", 100.0 * share, "%");
    sheet.figure("log, each item", number(log_len) / number(ITEMS), "bytes");
    sheet.figure("database file", number(path.metadata()?.len()) / MEBIBYTE, "MiB");
    sheet.figure("state after 1,000 items", number(early), "bytes");
    sheet.figure("state after 9,000 items", number(late), "bytes");
    sheet.goal("state after 9,000 items to that after 1,000", number(late) / number(early), 1.1);
    let (first, last) = (costs.first().context("a first")?, costs.last().context("a last")?);
    let end = ran.ended.at - marks.last().context("a last")?.at;
    sheet.figure("results gathered at the end, once", micros(end) / 1000.0, "ms");
    sheet.goal("CPU time of an item, last to first thousand", last.cpu / first.cpu, FLAT_MAX);
    sheet.table(Table {
        columns: vec!["items", "wall us/item", "CPU us/item", "resident MiB"],
        rows: costs
            .iter()
            .map(|cost| vec![cost.items, cost.wall, cost.cpu, cost.resident])
            .collect(),
    });
    Ok(sheet)
}

/// What the items of one thousand cost.
struct Cost {
    /// How many had been done at its end.
    items: f64,
    /// Microseconds each.
    wall: f64,
    cpu: f64,
    resident: f64,
}

fn costs(ran: &Ran, marks: &[Usage]) -> Vec<Cost> {
    let befores = std::iter::once(&ran.begun).chain(marks);
    let every = number(MARK_EVERY);
    (1u32..)
        .zip(befores.zip(marks))
        .map(|(thousand, (before, after))| Cost {
            items: f64::from(thousand) * every,
            wall: micros(after.at - before.at) / every,
            cpu: micros(after.cpu - before.cpu) / every,
            resident: number(after.resident) / MEBIBYTE,
        })
        .collect()
}
