//! Raw measurements of PostgreSQL.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::TryStreamExt as _;
use noetl_model::ExecutionId;
use sqlx::{PgConnection, Row as _};

use super::{BATCH, CONNECTIONS, RawRow};
use crate::database::connect;

pub(super) async fn single_commits(
    connection: &mut PgConnection,
    count: usize,
) -> Result<Vec<Duration>> {
    make_table(connection).await?;
    let body = "x".repeat(400);
    let mut durations = Vec::with_capacity(count);
    for seq in 0..i64::try_from(count)? {
        let started = Instant::now();
        sqlx::query(include_str!("../../sql/insert_raw.sql"))
            .bind(seq)
            .bind(&body)
            .execute(&mut *connection)
            .await?;
        durations.push(started.elapsed());
    }
    Ok(durations)
}

/// Inserts all rows over several connections, each batch by one statement in its own transaction.
pub(super) async fn raw_inserts(url: &str, rows: &[RawRow]) -> Result<Duration> {
    make_table(&mut connect(url).await?).await?;
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut connection = connect(url).await?;
        insert(&mut connection, &[]).await?;
        connections.push(connection);
    }
    let batches: Vec<&[RawRow]> = rows.chunks(BATCH).collect();
    let started = Instant::now();
    let writers = connections.into_iter().enumerate().map(|(writer, mut connection)| {
        let own = batches.iter().skip(writer).step_by(CONNECTIONS).copied();
        let own: Vec<Vec<RawRow>> = own.map(<[RawRow]>::to_vec).collect();
        tokio::spawn(async move {
            for batch in own {
                insert(&mut connection, &batch).await?;
            }
            anyhow::Ok(())
        })
    });
    for written in futures::future::try_join_all(writers.collect::<Vec<_>>()).await? {
        written?;
    }
    Ok(started.elapsed())
}

/// Reads the body of every event of an execution.
pub(super) async fn raw_read(url: &str, execution: ExecutionId) -> Result<Duration> {
    let mut connection = connect(url).await?;
    let begun = Instant::now();
    let mut rows = sqlx::query(include_str!("../../sql/read_raw.sql"))
        .bind(execution.0)
        .fetch(&mut connection);
    let mut bytes = 0;
    while let Some(row) = rows.try_next().await? {
        bytes += row.try_get_raw(1)?.as_bytes().map_or(0, <[u8]>::len);
    }
    ensure!(bytes > 0, "nothing was read");
    Ok(begun.elapsed())
}

async fn make_table(connection: &mut PgConnection) -> Result<()> {
    sqlx::query(include_str!("../../sql/drop_raw.sql")).execute(&mut *connection).await?;
    sqlx::query(include_str!("../../sql/make_raw.sql")).execute(&mut *connection).await?;
    Ok(())
}

async fn insert(connection: &mut PgConnection, rows: &[RawRow]) -> Result<()> {
    let column = |of: fn(&RawRow) -> i64| rows.iter().map(of).collect::<Vec<i64>>();
    sqlx::query(include_str!("../../sql/insert_raw_batch.sql"))
        .bind(column(|row| row.execution))
        .bind(column(|row| row.seq))
        .bind(column(|row| row.event_id))
        .bind(rows.iter().map(|row| row.event_type).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.step.as_deref()).collect::<Vec<_>>())
        .bind(column(|row| row.at))
        .bind(rows.iter().map(|row| row.body.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.prev.as_deref()).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(())
}
