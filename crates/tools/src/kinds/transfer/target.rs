//! The targets of a transfer.
//!
//! In append and upsert mode each chunk is committed; in replace mode all rows are committed at the
//! end, or none.

use std::sync::Arc;

use noetl_duckdb::DuckdbConnection;
use noetl_model::ToolError;
use serde_json::Value;
use tokio::sync::mpsc::Receiver;

use super::chunk::{RowChunk, check_whole};
use super::file::{RowFile, RowWriter};
use super::source::connect;
use super::table::TargetTable;
use super::{Transfer, TransferProgress, WriteMode, postgres};
use crate::kinds::duckdb::engine::{DatabaseLocation, Engine, execute};
use crate::kinds::duckdb::said_by;
use crate::kinds::postgres::failure;
use crate::kinds::postgres::session::PostgresSession;
use crate::kinds::sqlite::database::SqliteDatabase;
use crate::run::call::Call;
use crate::run::keys::ToolConfig;
use crate::sql::lex::Dialect;
use crate::sql::params::BoundStatement;
use crate::sql::redact::SecretMasker;

/// An opened target for rows.
pub(super) enum TransferTarget {
    Postgres { session: Box<PostgresSession>, table: TargetTable, secrets: SecretMasker },
    Sqlite { database: Box<SqliteDatabase>, table: TargetTable },
    Duckdb { engine: Arc<Engine>, place: DatabaseLocation, table: TargetTable },
    File { file: RowFile, mode: WriteMode, mapping: Vec<(String, String)> },
}

impl TransferTarget {
    pub(super) async fn read(
        keys: ToolConfig<'_>,
        own: ToolConfig<'_>,
        mode: WriteMode,
        of: &Transfer,
        call: &Call,
    ) -> Result<Self, ToolError> {
        let kind = own.required_text(&["type", "tool", "kind"])?;
        match kind.as_str() {
            "postgres" => {
                let table = TargetTable::read(keys, own, mode)?;
                let (session, secrets) = connect(own, &of.pools, of, call).await?;
                Ok(TransferTarget::Postgres { session: Box::new(session), table, secrets })
            }
            "sqlite" => {
                let table = TargetTable::read(keys, own, mode)?;
                let database = Box::new(SqliteDatabase::open(own, &call.cancel).await?);
                Ok(TransferTarget::Sqlite { database, table })
            }
            "duckdb" => Ok(TransferTarget::Duckdb {
                table: TargetTable::read(keys, own, mode)?,
                engine: of.duckdb.clone(),
                place: DatabaseLocation::read(own, &call.memory)?,
            }),
            "file" | "csv" | "jsonl" if mode == WriteMode::Upsert => {
                Err(keys
                    .error("`mode: upsert` needs a table; a file can be appended to or replaced"))
            }
            "file" | "csv" | "jsonl" => Ok(TransferTarget::File {
                file: RowFile::read(own)?,
                mode,
                mapping: own.texts(&["mapping"])?,
            }),
            other => Err(own.error(format!(
                "`type` is `{other}`; known are postgres, sqlite, duckdb and file"
            ))),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            TransferTarget::Postgres { .. } => "postgres",
            TransferTarget::Sqlite { .. } => "sqlite",
            TransferTarget::Duckdb { .. } => "duckdb",
            TransferTarget::File { .. } => "file",
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            TransferTarget::Postgres { table, .. }
            | TransferTarget::Sqlite { table, .. }
            | TransferTarget::Duckdb { table, .. } => table.name.clone(),
            TransferTarget::File { file, .. } => file.path.display().to_string(),
        }
    }

    /// Writes all received rows. Returns the columns that were written.
    pub(super) async fn drain(
        self,
        from: Receiver<RowChunk>,
        progress: Arc<TransferProgress>,
        call: &Call,
    ) -> Result<Vec<String>, ToolError> {
        match self {
            TransferTarget::File { file, mode, mapping } => {
                drain_file(RowWriter::open(file, mode).await?, &mapping, from, &progress).await
            }
            TransferTarget::Postgres { session, table, secrets } => {
                let drained = drain_postgres(&session, &table, from, &progress).await;
                let columns = drained.map_err(|error| failure::redacted(error, &secrets))?;
                (*session).give_back().await?;
                Ok(columns)
            }
            TransferTarget::Sqlite { mut database, table } => {
                let drained = drain_sqlite(&mut database, &table, from, &progress).await;
                database.close().await;
                drained
            }
            TransferTarget::Duckdb { engine, place, table } => {
                let work = move |it: &DuckdbConnection| drain_duckdb(it, &table, from, &progress);
                engine.work(place, &call.cancel, work).await
            }
        }
    }
}

/// Converts a chunk to the columns of the table; for an upsert, with unique keys.
fn fitted(chunk: RowChunk, table: &TargetTable) -> Result<RowChunk, ToolError> {
    let mut chunk = chunk.mapped(&table.mapping)?;
    match table.mode {
        WriteMode::Append | WriteMode::Replace => {}
        WriteMode::Upsert if chunk.columns.is_empty() => {}
        WriteMode::Upsert => chunk.unique_by(&table.keys)?,
    }
    Ok(chunk)
}

async fn drain_file(
    mut writer: RowWriter,
    mapping: &[(String, String)],
    mut from: Receiver<RowChunk>,
    progress: &TransferProgress,
) -> Result<Vec<String>, ToolError> {
    let mut columns = Vec::new();
    let mut is_whole = false;
    while let Some(chunk) = from.recv().await {
        let chunk = chunk.mapped(mapping)?;
        writer.write(&chunk).await?;
        progress.add(chunk.rows.len());
        columns = chunk.columns.to_vec();
        is_whole = chunk.is_last;
    }
    check_whole(is_whole)?;
    writer.finish().await?;
    Ok(columns)
}

async fn drain_postgres(
    session: &PostgresSession,
    table: &TargetTable,
    mut from: Receiver<RowChunk>,
    progress: &TransferProgress,
) -> Result<Vec<String>, ToolError> {
    let at_once = table.mode == WriteMode::Replace;
    if at_once {
        session.execute(&format!("BEGIN; {}", table.delete())).await?;
    }
    let mut columns = Vec::new();
    let mut is_whole = false;
    while let Some(chunk) = from.recv().await {
        let given = chunk.rows.len();
        let chunk = fitted(chunk, table)?;
        if !chunk.rows.is_empty() {
            if !at_once {
                session.execute("BEGIN").await?;
            }
            postgres::write(session, table, &chunk).await?;
            if !at_once {
                session.execute("COMMIT").await?;
            }
            progress.add(given);
        }
        columns = chunk.columns.to_vec();
        is_whole = chunk.is_last;
    }
    check_whole(is_whole)?;
    if at_once {
        session.execute("COMMIT").await?;
    }
    Ok(columns)
}

async fn drain_sqlite(
    database: &mut SqliteDatabase,
    table: &TargetTable,
    mut from: Receiver<RowChunk>,
    progress: &TransferProgress,
) -> Result<Vec<String>, ToolError> {
    let at_once = table.mode == WriteMode::Replace;
    if at_once {
        database.execute("BEGIN IMMEDIATE").await?;
        database.execute(&table.delete()).await?;
    }
    let mut columns = Vec::new();
    let mut is_whole = false;
    while let Some(chunk) = from.recv().await {
        let given = chunk.rows.len();
        let chunk = fitted(chunk, table)?;
        if !chunk.rows.is_empty() {
            if !at_once {
                database.execute("BEGIN IMMEDIATE").await?;
            }
            for rows in chunk.rows.chunks(TargetTable::rows_at_once(&chunk.columns)) {
                let insert = insert(table, Dialect::Sqlite, &chunk.columns, rows);
                database.change(&insert).await?;
            }
            if !at_once {
                database.execute("COMMIT").await?;
            }
            progress.add(given);
        }
        columns = chunk.columns.to_vec();
        is_whole = chunk.is_last;
    }
    check_whole(is_whole)?;
    if at_once {
        database.execute("COMMIT").await?;
    }
    Ok(columns)
}

fn drain_duckdb(
    connection: &DuckdbConnection,
    table: &TargetTable,
    mut from: Receiver<RowChunk>,
    progress: &TransferProgress,
) -> Result<Vec<String>, ToolError> {
    let at_once = table.mode == WriteMode::Replace;
    if at_once {
        execute(connection, "BEGIN")?;
        execute(connection, &table.delete())?;
    }
    let mut columns = Vec::new();
    let mut is_whole = false;
    while let Some(chunk) = from.blocking_recv() {
        let given = chunk.rows.len();
        let chunk = fitted(chunk, table)?;
        if !chunk.rows.is_empty() {
            if !at_once {
                execute(connection, "BEGIN")?;
            }
            for rows in chunk.rows.chunks(TargetTable::rows_at_once(&chunk.columns)) {
                let insert = insert(table, Dialect::Duckdb, &chunk.columns, rows);
                let ran = connection.run(&insert.sql, &insert.values, |_| true);
                ran.map_err(|error| said_by(&error))?;
            }
            if !at_once {
                execute(connection, "COMMIT")?;
            }
            progress.add(given);
        }
        columns = chunk.columns.to_vec();
        is_whole = chunk.is_last;
    }
    check_whole(is_whole)?;
    if at_once {
        execute(connection, "COMMIT")?;
    }
    Ok(columns)
}

fn insert(
    table: &TargetTable,
    dialect: Dialect,
    columns: &[String],
    rows: &[Vec<Value>],
) -> BoundStatement {
    let values = rows.iter().flatten().cloned().collect();
    BoundStatement { sql: table.insert(dialect, columns, rows.len()), values }
}
