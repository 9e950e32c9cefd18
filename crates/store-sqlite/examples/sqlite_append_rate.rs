//! Measures how many events a second the store makes durable: with many executions in a batch, like
//! a busy server, and with one.
//!
//! `cargo run --release -p noetl-store-sqlite --example sqlite_append_rate -- [directory]`

#![expect(clippy::print_stdout, reason = "it is run to be read")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use noetl_model::{Event, ExecutionId, Seq};
use noetl_store::conformance::given::{add, events_after, lease, remove};
use noetl_store::{Append, EventLog, SystemClock};
use noetl_store_sqlite::SqliteStore;
use serde_json::json;

/// The approximate size of each event's data, in bytes.
const BODY: usize = 400;
const EVENTS: u64 = 5;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let base = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let directory = tempfile::tempdir_in(base)?;
    for (executions, rounds) in [(50, 200), (1, 1000)] {
        let path = directory.path().join(format!("{executions}.db"));
        let store = SqliteStore::open(&path, Arc::new(SystemClock)).await?;
        let started = Instant::now();
        for round in 0..rounds {
            let batch: Vec<Append> = (1..=executions).map(|id| step(id, round)).collect();
            let answers = store.append(&batch).await?;
            assert!(answers.iter().all(Result::is_ok), "nobody else writes");
        }
        let seconds = started.elapsed().as_secs_f64();
        let commits = f64::from(u32::try_from(rounds)?);
        let events = commits * f64::from(u32::try_from(executions)?) * 5.0;
        println!(
            "{executions:>3} executions x {EVENTS} events a commit: {:>7.0} events/s, {:>5.0} commits/s, {:.2} ms each",
            events / seconds,
            commits / seconds,
            1000.0 * seconds / commits,
        );
    }
    Ok(())
}

/// Returns the append of one execution that completes a command, and issues and claims the next.
fn step(id: i64, round: u64) -> Append {
    let mut append = events_after(ExecutionId(id), Seq(round * EVENTS), EVENTS);
    for recorded in &mut append.events {
        let body = json!({ "rows": "x".repeat(BODY), "round": round });
        recorded.event = Event::Reported { name: "measured".to_owned(), step: None, body };
    }
    append.queue = vec![remove(round), add(round + 1), lease(round + 1, 1, 30)];
    append
}
