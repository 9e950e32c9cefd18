//! What the disk, SQLite and the interpreter can do by themselves: nothing built on them is faster.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use noetl_model::Recorded;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

/// How many rows a batch of raw inserts has: as many as the control plane's largest commit has
/// executions.
const BATCH: usize = 256;
const PAGE: [u8; 4096] = [0x5A; 4096];

/// How long it takes to append a page to a file and to make it durable, each time.
pub(crate) fn flushes(directory: &Path, count: usize) -> Result<Vec<Duration>> {
    let mut file = File::create(directory.join("flushes")).context("make a file to flush")?;
    (0..count)
        .map(|_| {
            let started = Instant::now();
            file.write_all(&PAGE)?;
            file.sync_data()?;
            Ok(started.elapsed())
        })
        .collect()
}

/// A table as plain as can be, in a file that is as durable as the store's.
async fn plain(directory: &Path, name: &str) -> Result<SqliteConnection> {
    let mut connection = SqliteConnectOptions::new()
        .filename(directory.join(name))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .disable_statement_logging()
        .connect()
        .await?;
    sqlx::query("CREATE TABLE plain (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
        .execute(&mut connection)
        .await?;
    Ok(connection)
}

/// How long it takes to make one row durable, each time.
pub(crate) async fn commits(directory: &Path, count: usize) -> Result<Vec<Duration>> {
    let mut connection = plain(directory, "commits.db").await?;
    let body = "x".repeat(400);
    let mut durations = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        insert(&mut connection, &body).await?;
        durations.push(started.elapsed());
    }
    Ok(durations)
}

/// How long it takes to make the bytes of a log durable, many events at a time.
pub(crate) async fn batched_inserts(directory: &Path, log: &[Recorded]) -> Result<Duration> {
    let bodies: Vec<String> = log
        .iter()
        .map(|recorded| serde_json::to_string(&recorded.event))
        .collect::<Result<_, serde_json::Error>>()?;
    let mut connection = plain(directory, "inserts.db").await?;
    let started = Instant::now();
    for batch in bodies.chunks(BATCH) {
        let mut transaction = connection.begin().await?;
        for body in batch {
            insert(&mut transaction, body).await?;
        }
        transaction.commit().await?;
    }
    Ok(started.elapsed())
}

async fn insert(connection: &mut SqliteConnection, body: &str) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO plain (body) VALUES (?1)").bind(body).execute(connection).await?;
    Ok(())
}

/// How long it takes to start the interpreter `count` times, `at_once` of them at a time.
pub(crate) fn interpreter_starts(count: usize, at_once: usize) -> Result<Duration> {
    let started = Instant::now();
    std::thread::scope(|scope| {
        let starters: Vec<_> = (0..at_once)
            .map(|starter| {
                let share = count / at_once + usize::from(starter < count % at_once);
                scope.spawn(move || (0..share).try_for_each(|_| start_interpreter()))
            })
            .collect();
        starters.into_iter().try_for_each(|starter| {
            starter.join().map_err(|_| anyhow::anyhow!("a thread that starts Python panicked"))?
        })
    })?;
    Ok(started.elapsed())
}

fn start_interpreter() -> Result<()> {
    let status = Command::new("python3")
        .args(["-c", "pass"])
        .stdin(Stdio::null())
        .status()
        .context("start python3")?;
    ensure!(status.success(), "python3 failed");
    Ok(())
}
