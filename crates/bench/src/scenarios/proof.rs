//! The cost of a verifiable log: the digest of every event, and the verification of the whole log.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use noetl_model::{Digest, Recorded};
use reqwest::Method;
use serde_json::json;

use super::ScenarioParameters;
use crate::database::{MeasuredDatabase, log};
use crate::numbers::{len, ratio};
use crate::playbooks::{NOTHING, chain_of};
use crate::sheet::{AcceptedRange, Sheet};
use crate::system::{MeasuredSystem, WorkerLocation};

const STEPS: u64 = 1000;
/// The number of passes over the whole log.
const TIMES: u32 = 50;
/// The largest accepted share of a run's CPU time that digests take.
const SHARE_MAX: f64 = 0.05;

pub(super) async fn measure(setting: &ScenarioParameters<'_>) -> Result<Sheet> {
    let mut sheet = setting.sheet();
    let database = MeasuredDatabase::new(setting.store, setting.directory).await?;
    let system = MeasuredSystem::start(&database, WorkerLocation::InProcess).await?;
    let store = database.store().await?;
    let playbook = chain_of(setting.size.of(STEPS), "bench/proof", NOTHING);
    let ran = system.run(&database, &*store, &playbook, &[json!({})]).await?;
    let execution = *ran.executions.first().context("it was run")?;
    let events = log(&*store, execution).await?;
    let count = len(&events);
    sheet.figure("events", count, "events");

    let json: Vec<Vec<u8>> =
        events.iter().map(|it| serde_json::to_vec(&it.event)).collect::<Result<_, _>>()?;
    let bytes = len(&json.concat());
    sheet.figure("length of an event as JSON", bytes / count, "bytes");
    let digest = each(&events, |it: &Recorded| it.digest_after(&Digest::UNKNOWN));
    let written = each(&events, |it| serde_json::to_vec(&it.event).map_or(0, |json| json.len()));
    let hashed = each(&json, |it| Digest::of(it));
    let nanos = |duration: Duration| duration.as_secs_f64() * 1e9;
    sheet.figure("digest of an event", nanos(digest), "ns");
    sheet.figure("an event written as JSON", nanos(written), "ns");
    sheet.figure("SHA-256 of that", nanos(hashed), "ns");
    sheet.figure("digest, to JSON and SHA-256", ratio(digest, written + hashed), "times");
    let share = digest.as_secs_f64() * count / ran.cpu().as_secs_f64();
    let goal = "digests, share of the processor time of the run";
    sheet.goal(goal, share, AcceptedRange::AtMost(SHARE_MAX));

    let begun = Instant::now();
    let path = format!("api/executions/{execution}/verify");
    let verdict = system.ask(Method::GET, &path, None).await?;
    let verified = begun.elapsed();
    ensure!(verdict["valid"] == true, "it cannot be proved: {verdict}");
    sheet.figure("verified by the server", count / verified.as_secs_f64(), "events/s");
    system.stop()?;
    Ok(sheet)
}

/// Returns the average time of a function over many values.
fn each<T, R>(things: &[T], what: impl Fn(&T) -> R) -> Duration {
    let begun = Instant::now();
    for _ in 0..TIMES {
        for thing in things {
            black_box(what(black_box(thing)));
        }
    }
    let count = u32::try_from(things.len()).unwrap_or(u32::MAX);
    begun.elapsed() / TIMES / count.max(1)
}
