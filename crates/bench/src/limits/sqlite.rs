//! Raw measurements of SQLite, in a file that is as durable as the store's.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::TryStreamExt as _;
use noetl_model::ExecutionId;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, SqliteConnection};

use super::{BATCH, RawRow};

/// The number of rows in a statement, large enough to make the statement overhead small.
const ROWS: usize = 100;

async fn plain(home: &Path) -> Result<SqliteConnection> {
    let path = home.join("raw.db");
    for suffix in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        // There is no file the first time.
        let _absent = std::fs::remove_file(file);
    }
    let mut connection = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .disable_statement_logging()
        .connect()
        .await?;
    sqlx::query(include_str!("../../sql/make_raw_sqlite.sql")).execute(&mut connection).await?;
    Ok(connection)
}

pub(super) async fn single_commits(home: &Path, count: usize) -> Result<Vec<Duration>> {
    let mut connection = plain(home).await?;
    let body = "x".repeat(400);
    let mut durations = Vec::with_capacity(count);
    for seq in 0..i64::try_from(count)? {
        let started = Instant::now();
        sqlx::query("INSERT INTO raw_event VALUES (0, ?1, ?1, '', NULL, 0, ?2, NULL)")
            .bind(seq)
            .bind(&body)
            .execute(&mut connection)
            .await?;
        durations.push(started.elapsed());
    }
    connection.close().await?;
    Ok(durations)
}

/// Reads the body of every event of an execution.
pub(super) async fn raw_read(path: &Path, execution: ExecutionId) -> Result<Duration> {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    let mut connection = options.disable_statement_logging().connect().await?;
    let begun = Instant::now();
    let mut rows = sqlx::query(include_str!("../../sql/read_raw_sqlite.sql"))
        .bind(execution.0)
        .fetch(&mut connection);
    let mut bytes = 0;
    while let Some(row) = rows.try_next().await? {
        bytes += row.try_get::<&str, _>(1)?.len();
    }
    ensure!(bytes > 0, "nothing was read");
    Ok(begun.elapsed())
}

/// Inserts all rows over one connection, each batch in its own transaction.
pub(super) async fn raw_inserts(home: &Path, rows: &[RawRow]) -> Result<Duration> {
    let mut connection = plain(home).await?;
    let statement_of = |rows: usize| {
        format!(
            "INSERT INTO raw_event VALUES {}",
            vec!["(?, ?, ?, ?, ?, ?, ?, ?)"; rows].join(", ")
        )
    };
    let usual = statement_of(ROWS);
    let started = Instant::now();
    for batch in rows.chunks(BATCH) {
        let mut transaction = connection.begin().await?;
        for rows in batch.chunks(ROWS) {
            let last = statement_of(rows.len());
            let text = if rows.len() == ROWS { &usual } else { &last };
            let mut statement = sqlx::query(sqlx::AssertSqlSafe(text.as_str()));
            for row in rows {
                statement = statement
                    .bind(row.execution)
                    .bind(row.seq)
                    .bind(row.event_id)
                    .bind(row.event_type)
                    .bind(&row.step)
                    .bind(row.at)
                    .bind(&row.body)
                    .bind(&row.prev);
            }
            statement.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
    }
    let took = started.elapsed();
    connection.close().await?;
    Ok(took)
}
