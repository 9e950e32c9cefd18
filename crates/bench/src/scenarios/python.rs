//! Python steps: a warm interpreter has to be far cheaper than a new one for each step.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value};

use super::Scenario;
use super::chain::chain_of;
use crate::limits;
use crate::numbers::{micros, ratio};
use crate::sheet::Sheet;
use crate::system::System;

const STEPS: usize = 1000;
/// How many starts are measured, half of them before the steps and half after: one takes as long as
/// the other, so a part of them tells how long as many as there are steps would take.
const STARTS: u32 = 100;
/// How dear a step may be in starts of the interpreter.
const STARTS_MAX: f64 = 0.1;

const TOOL: &str = "{kind: python, code: 'result = {\"n\": 1 + 1}'}";

const LOOP: &str = "\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: measured_python, path: bench/python_loop}
workflow:
  - step: each
    loop:
      in: '{{ workload.items }}'
      iterator: item
      spec: {mode: parallel}
    tool:
      kind: python
      input: {n: '{{ item }}'}
      code: 'result = {\"n\": n + 1}'
";

pub(super) async fn measure(directory: &Path) -> Result<Sheet> {
    let cores = std::thread::available_parallelism()?.get();
    // Around the steps, so that whatever else goes on meets both alike.
    let (alone_before, together_before) = starts(cores)?;
    let system = System::open(directory).await?;
    let chain = system.run(&chain_of(STEPS, "bench/python_chain", TOOL), Map::new()).await?;
    let items = (0..u64::try_from(STEPS)?).collect::<Value>();
    let items = Map::from_iter([("items".to_owned(), items)]);
    let each = system.run(LOOP, items).await?;
    system.close().await?;
    let (alone_after, together_after) = starts(cores)?;
    let a_thousand = |before: Duration, after: Duration| (before + after) * 1000 / STARTS;
    let alone = a_thousand(alone_before, alone_after);
    let together = a_thousand(together_before, together_after);

    let mut sheet = Sheet::new(Scenario::Python);
    let mut figure = |name, duration: Duration| {
        sheet.figure(name, micros(duration) / 1000.0, "us each");
    };
    figure("interpreter starts, one after another", alone);
    figure("Python steps of a chain, one after another", chain.wall());
    figure("interpreter starts, one per core at a time", together);
    figure("Python items of a parallel loop", each.wall());
    sheet.goal("a step of a chain to a start", ratio(chain.wall(), alone), STARTS_MAX);
    sheet.goal("an item of a loop to a start", ratio(each.wall(), together), STARTS_MAX);
    Ok(sheet)
}

/// Half of the starts, one after another and one per core at a time.
fn starts(cores: usize) -> Result<(Duration, Duration)> {
    let half = usize::try_from(STARTS / 2)?;
    let alone = limits::interpreter_starts(half, 1)?;
    let together = limits::interpreter_starts(half, cores)?;
    Ok((alone, together))
}
