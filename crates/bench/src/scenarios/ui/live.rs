//! The time from the commit of an event until the page shows it.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use noetl_model::{Recorded, Timestamp};
use serde_json::json;

use super::{PageReader, add_durations, between};
use crate::database::{MeasuredDatabase, log};
use crate::playbooks::chain_of;
use crate::sheet::Sheet;
use crate::system::{MeasuredSystem, WorkerLocation, now};

/// The largest accepted time until an event is visible, in milliseconds.
const VISIBLE_MAX: f64 = 500.0;
const STEPS: u64 = 30;
/// A step that takes a while, so that its events are shown one after another.
const TOOL: &str = "{kind: shell, command: sleep 0.1}";

/// A position that the page showed, and when.
struct ShownPosition {
    position: u64,
    at: Timestamp,
}

pub(super) async fn measure(
    database: &MeasuredDatabase,
    sheet: &mut Sheet,
    runs: usize,
) -> Result<()> {
    let system = MeasuredSystem::start(database, WorkerLocation::InProcess).await?;
    let playbook = system.register(&chain_of(STEPS, "bench/live", TOOL)).await?;
    let mut delays = Vec::new();
    for _ in 0..runs {
        let started = system.execute(playbook, &[json!({})]).await?;
        let execution = *started.first().context("it was started")?;
        let shown = follow(&system, &format!("executions/{execution}")).await?;
        delays.extend(delays_of(&log(&*database.store().await?, execution).await?, &shown)?);
    }
    add_durations(sheet, "an event until the page shows it", &delays, VISIBLE_MAX);
    system.stop()
}

/// Reads the updates of a page until it is not live any more, and fetches the page at each.
async fn follow(system: &MeasuredSystem, page: &str) -> Result<Vec<ShownPosition>> {
    let reader = PageReader::new(system);
    let (text, _) = reader.fetch(page).await?;
    let updates = between(&text, "data-live=\"", "\"").context("the page is live")?;
    let updates = format!("{}{}", system.url(), updates.replace("&amp;", "&"));
    let mut stream = reader.client.get(updates).send().await?;
    ensure!(stream.status().is_success(), "the updates answer {}", stream.status());
    let mut shown = Vec::new();
    while let Some(chunk) = stream.chunk().await? {
        // Only an update has an id; other messages keep the connection alive.
        if !chunk.windows(3).any(|part| part == b"id:") {
            continue;
        }
        let (text, _) = reader.fetch(page).await?;
        let position = between(&text, "data-position=\"", "\"").context("it has a position")?;
        shown.push(ShownPosition { position: position.parse()?, at: now()? });
        if !text.contains("data-live=\"") {
            return Ok(shown);
        }
    }
    Ok(shown)
}

/// Returns for each event that was committed while the page was open how long it took to be shown.
fn delays_of(log: &[Recorded], shown: &[ShownPosition]) -> Result<Vec<Duration>> {
    let first = shown.first().context("the page was updated")?.position;
    let last = log.last().context("the log has events")?.seq.0;
    let seen = shown.iter().map(|it| it.position).max().unwrap_or_default();
    ensure!(seen == last, "the page showed event {seen} of {last}");
    let delays = log.iter().filter(|recorded| recorded.seq.0 > first).filter_map(|recorded| {
        let visible = shown.iter().find(|it| it.position >= recorded.seq.0)?;
        Some(visible.at.since(recorded.at))
    });
    Ok(delays.collect())
}
