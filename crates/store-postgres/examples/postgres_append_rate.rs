//! Measures how many events a second the store makes durable, compared with the same bytes inserted
//! into a plain table by one statement for each commit.
//!
//! `DATABASE_URL=postgres://… cargo run --release -p noetl-store-postgres --example
//! postgres_append_rate`
//!
//! Use a disposable database: the measured rows stay in it.

#![expect(clippy::print_stdout, reason = "it is run to be read")]

use std::error::Error;
use std::time::Instant;

use noetl_model::{Event, EventId, ExecutionId, IdGenerator, Seq};
use noetl_store::conformance::given::{add, events_after, lease, remove};
use noetl_store::{Append, Clock as _, EventLog as _, SystemClock};
use noetl_store_postgres::{ClusterSettings, Shards, TimeSource};
use serde_json::json;
use sqlx::{Connection as _, Executor as _, PgConnection};

/// The approximate size of each event's data, in bytes.
const BODY: usize = 400;
const EVENTS: u64 = 5;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let settings = ClusterSettings::from_env(|name| std::env::var(name).ok())?;
    let store = Shards::connect(settings, TimeSource::Database).await?;
    let mut bare = PgConnection::connect(&std::env::var("DATABASE_URL")?).await?;
    bare.execute(
        "CREATE TABLE IF NOT EXISTS public.bare (
            execution_id bigint, seq bigint, event_id bigint, body text,
            PRIMARY KEY (execution_id, seq))",
    )
    .await?;
    let ids = IdGenerator::new(1);
    for (executions, rounds) in [(50u32, 200u32), (1, 1000)] {
        let started: Vec<i64> = (0..executions).map(|_| ids.next(SystemClock.now())).collect();
        let batches: Vec<Vec<Append>> = (0..rounds)
            .map(|round| started.iter().map(|id| step(*id, u64::from(round), &ids)).collect())
            .collect();
        let stored = Instant::now();
        for batch in &batches {
            let answers = store.append(batch).await?;
            assert!(answers.iter().all(Result::is_ok), "nobody else writes");
        }
        let stored = stored.elapsed().as_secs_f64();
        let limit = Instant::now();
        for batch in &batches {
            put_bare(&mut bare, batch).await?;
        }
        let limit = limit.elapsed().as_secs_f64();
        let commits = f64::from(rounds);
        let events = commits * f64::from(executions) * 5.0;
        println!(
            "{executions:>3} executions x {EVENTS} events a commit: {:>6.0} events/s, {:.2} ms each; bare {:>6.0} events/s; ratio {:.2}",
            events / stored,
            1000.0 * stored / commits,
            events / limit,
            limit / stored,
        );
    }
    Ok(())
}

/// Returns the append of one execution that completes a command, and issues and claims the next.
fn step(id: i64, round: u64, ids: &IdGenerator) -> Append {
    let mut append = events_after(ExecutionId(id), Seq(round * EVENTS), EVENTS);
    for recorded in &mut append.events {
        let body = json!({ "rows": "x".repeat(BODY), "round": round });
        recorded.event_id = EventId(ids.next(SystemClock.now()));
        recorded.event = Event::Reported { name: "measured".to_owned(), step: None, body };
    }
    append.queue = vec![remove(round), add(round + 1), lease(round + 1, 1, 30)];
    append
}

/// Inserts the same bytes without the store: one statement, one commit.
async fn put_bare(connection: &mut PgConnection, batch: &[Append]) -> Result<(), Box<dyn Error>> {
    let rows =
        || batch.iter().flat_map(|append| append.events.iter().map(|it| (append.execution, it)));
    let execution_ids: Vec<i64> = rows().map(|(execution, _)| execution.0).collect();
    let seqs =
        rows().map(|(_, event)| i64::try_from(event.seq.0)).collect::<Result<Vec<_>, _>>()?;
    let event_ids: Vec<i64> = rows().map(|(_, event)| event.event_id.0).collect();
    let bodies = rows()
        .map(|(_, event)| serde_json::to_string(&event.event))
        .collect::<Result<Vec<_>, _>>()?;
    let statement = "INSERT INTO public.bare
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])";
    sqlx::query(statement)
        .bind(execution_ids)
        .bind(seqs)
        .bind(event_ids)
        .bind(bodies)
        .execute(connection)
        .await?;
    Ok(())
}
