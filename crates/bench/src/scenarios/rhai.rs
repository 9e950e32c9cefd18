//! Small scripts: the rate of steps that run a Rhai script, as a share of the rate of steps that do
//! nothing.

use anyhow::Result;
use serde_json::{Value, json};

use super::ScenarioParameters;
use crate::database::MeasuredDatabase;
use crate::numbers::{Runs, len, number};
use crate::playbooks::{NOTHING, chain_of, fanout_of};
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation, fresh};

const EXECUTIONS: u64 = 2000;
const STEPS: u64 = 5;
const ITEMS: u64 = 10_000;
const RUNS: usize = 3;
/// The smallest accepted share of the rate of `noop` steps.
const SHARE_MIN: f64 = 0.8;

const SCRIPT: &str = "{kind: rhai, code: '40 + 2'}";
const ITEM_NOTHING: &str = "{kind: noop, result: '{{ item }}'}";
const ITEM_SCRIPT: &str = "{kind: rhai, input: {item: '{{ item }}'}, code: 'item + 1'}";

/// A playbook in two variants that differ only in the tool of their steps.
struct PlaybookPair {
    name: &'static str,
    noop: String,
    rhai: String,
    payloads: Vec<Value>,
    steps: f64,
}

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let (executions, items) = (setting.size.of(EXECUTIONS), setting.size.of(ITEMS));
    let payloads = vec![json!({}); usize::try_from(executions)?];
    let pairs = [
        PlaybookPair {
            name: "many",
            noop: chain_of(STEPS, "bench/noop", NOTHING),
            rhai: chain_of(STEPS, "bench/rhai", SCRIPT),
            steps: len(&payloads) * number(STEPS),
            payloads,
        },
        PlaybookPair {
            name: "fanout",
            noop: fanout_of("bench/noop_loop", ITEM_NOTHING),
            rhai: fanout_of("bench/rhai_loop", ITEM_SCRIPT),
            payloads: vec![json!({ "items": (0..items).collect::<Value>() })],
            steps: number(items),
        },
    ];
    for pair in &pairs {
        compare(setting, pair, &mut sheet).await?;
    }
    Ok(sheet)
}

/// Runs both variants alternately, so that changes of the machine's load affect both.
async fn compare(
    setting: &ScenarioParameters<'_>,
    pair: &PlaybookPair,
    sheet: &mut Sheet,
) -> Result<()> {
    let home = fresh(setting.directory, pair.name)?;
    let database = MeasuredDatabase::new(setting.store, &home).await?;
    let system = MeasuredSystem::start(&database, WorkerLocation::InProcess).await?;
    let store = database.store().await?;
    let (mut noop, mut rhai) = (Runs::default(), Runs::default());
    for run in 0..=setting.size.runs(RUNS) {
        for (playbook, rates) in [(&pair.noop, &mut noop), (&pair.rhai, &mut rhai)] {
            let ran = system.run(&database, &*store, playbook, &pair.payloads).await?;
            if run > 0 {
                rates.push(pair.steps / ran.wall().as_secs_f64());
            }
        }
    }
    system.stop()?;
    let name = pair.name;
    let share = rhai.median() / noop.median();
    sheet.runs(format!("{name}: noop"), noop, "steps/s");
    sheet.runs(format!("{name}: rhai"), rhai, "steps/s");
    let goal = format!("{name}: rate of rhai steps, as a share of that of noop steps");
    sheet.goal(goal, share, AcceptedRange::AtLeast(SHARE_MIN));
    Ok(())
}
