//! Writes rows into a PostgreSQL table by COPY.

use std::io::Cursor;

use futures::SinkExt as _;
use noetl_model::{ErrorKind, ToolError};
use serde_json::Value;
use tokio_postgres::CopyInSink;
use tokio_postgres::types::Type;

use super::WriteMode;
use super::chunk::RowChunk;
use super::table::{TargetTable, list};
use crate::kinds::postgres::failure;
use crate::kinds::postgres::literal::text;
use crate::kinds::postgres::session::PostgresSession;

/// The temporary table for rows to be merged.
const STAGE: &str = "noetl_stage";

/// Writes one chunk: directly into the table, or for an upsert through the temporary table.
pub(super) async fn write(
    session: &PostgresSession,
    table: &TargetTable,
    chunk: &RowChunk,
) -> Result<(), ToolError> {
    let columns = list(&chunk.columns);
    let described = format!("SELECT {columns} FROM {}", table.quoted());
    let prepared = session.client().prepare(&described).await;
    let prepared = prepared.map_err(|error| failure::of(&error))?;
    let kinds: Vec<Type> = prepared.columns().iter().map(|column| column.type_().clone()).collect();
    match table.mode {
        WriteMode::Append | WriteMode::Replace => {
            copy(session, &table.quoted(), &columns, &kinds, chunk).await
        }
        WriteMode::Upsert => {
            session
                .execute(&format!(
                    "CREATE TEMP TABLE {STAGE} ON COMMIT DROP AS {described} WITH NO DATA"
                ))
                .await?;
            copy(session, STAGE, &columns, &kinds, chunk).await?;
            let conflict = table.on_conflict(&chunk.columns);
            session
                .execute(&format!(
                    "INSERT INTO {} ({columns}) SELECT {columns} FROM {STAGE}{conflict}; DROP TABLE {STAGE}",
                    table.quoted()
                ))
                .await
        }
    }
}

async fn copy(
    session: &PostgresSession,
    table: &str,
    columns: &str,
    kinds: &[Type],
    chunk: &RowChunk,
) -> Result<(), ToolError> {
    let mut lines = String::new();
    for row in &chunk.rows {
        line(&mut lines, kinds, row)?;
    }
    let sink: CopyInSink<Cursor<Vec<u8>>> = session
        .client()
        .copy_in(&format!("COPY {table} ({columns}) FROM STDIN"))
        .await
        .map_err(|error| failure::of(&error))?;
    let mut sink = std::pin::pin!(sink);
    sink.send(Cursor::new(lines.into_bytes())).await.map_err(|error| failure::of(&error))?;
    sink.finish().await.map_err(|error| failure::of(&error))?;
    Ok(())
}

/// Appends a row in COPY's text format.
fn line(lines: &mut String, kinds: &[Type], row: &[Value]) -> Result<(), ToolError> {
    for (place, (value, kind)) in row.iter().zip(kinds).enumerate() {
        if 0 < place {
            lines.push('\t');
        }
        let text = text(kind, value).map_err(|unfit| {
            let message = format!("the value for column {} is {unfit}", place + 1);
            ToolError::new(ErrorKind::Transform, message)
        })?;
        match text {
            None => lines.push_str("\\N"),
            Some(text) => {
                for c in text.chars() {
                    match c {
                        '\\' => lines.push_str("\\\\"),
                        '\t' => lines.push_str("\\t"),
                        '\n' => lines.push_str("\\n"),
                        '\r' => lines.push_str("\\r"),
                        c => lines.push(c),
                    }
                }
            }
        }
    }
    lines.push('\n');
    Ok(())
}
