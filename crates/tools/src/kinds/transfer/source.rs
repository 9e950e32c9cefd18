//! The sources of a transfer.

use std::time::Duration;

use futures::TryStreamExt as _;
use noetl_duckdb::StatementSummary;
use noetl_model::{ErrorKind, ToolError};
use serde_json::{Map, Value};
use tokio::sync::mpsc::Sender;
use tokio_postgres::SimpleQueryMessage;

use super::Transfer;
use super::chunk::{Filler, RowChunk, columns_of, row_of};
use super::file::RowFile;
use crate::kinds::duckdb::engine::{DatabaseLocation, Engine};
use crate::kinds::duckdb::said_by;
use crate::kinds::postgres::failure;
use crate::kinds::postgres::pool::{PoolLimits, Pools};
use crate::kinds::postgres::session::{PostgresSession, SessionSettings, values};
use crate::kinds::postgres::target::PostgresTarget as Server;
use crate::kinds::sqlite::database::SqliteDatabase;
use crate::run::call::Call;
use crate::run::keys::ToolConfig;
use crate::sql::lex::Dialect;
use crate::sql::params::{BoundStatement, Params};
use crate::sql::redact::SecretMasker;
use crate::sql::result::distinct;
use crate::sql::script;

/// An opened source of rows.
pub(super) enum TransferSource {
    Postgres { session: Box<PostgresSession>, query: BoundStatement, secrets: SecretMasker },
    Sqlite { database: Box<SqliteDatabase>, query: BoundStatement },
    Duckdb { engine: std::sync::Arc<Engine>, place: DatabaseLocation, query: BoundStatement },
    Http { rows: Vec<Map<String, Value>> },
    File(RowFile),
}

impl TransferSource {
    pub(super) async fn read(
        keys: ToolConfig<'_>,
        of: &Transfer,
        call: &Call,
    ) -> Result<Self, ToolError> {
        let kind = keys.required_text(&["type", "tool", "kind"])?;
        match kind.as_str() {
            "postgres" => {
                let query = query(keys, Dialect::Postgres).await?;
                let (session, secrets) = connect(keys, &of.pools, of, call).await?;
                Ok(TransferSource::Postgres { session: Box::new(session), query, secrets })
            }
            "sqlite" => {
                let query = query(keys, Dialect::Sqlite).await?;
                let database = Box::new(SqliteDatabase::open(keys, &call.cancel).await?);
                Ok(TransferSource::Sqlite { database, query })
            }
            "duckdb" => Ok(TransferSource::Duckdb {
                query: query(keys, Dialect::Duckdb).await?,
                engine: of.duckdb.clone(),
                place: DatabaseLocation::read(keys, &call.memory)?,
            }),
            "http" => {
                let answer = of.http.json(call, keys).await?;
                Ok(TransferSource::Http { rows: rows_of(keys, answer)? })
            }
            "file" | "csv" | "jsonl" => Ok(TransferSource::File(RowFile::read(keys)?)),
            other => Err(keys.error(format!(
                "`type` is `{other}`; known are postgres, sqlite, duckdb, http and file"
            ))),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match self {
            TransferSource::Postgres { .. } => "postgres",
            TransferSource::Sqlite { .. } => "sqlite",
            TransferSource::Duckdb { .. } => "duckdb",
            TransferSource::Http { .. } => "http",
            TransferSource::File(_) => "file",
        }
    }

    /// Sends all rows. Ends without an error if the receiver is gone.
    pub(super) async fn pump(
        self,
        to: Sender<RowChunk>,
        rows_max: usize,
        call: &Call,
    ) -> Result<(), ToolError> {
        match self {
            TransferSource::File(file) => file.pump(to, rows_max).await,
            TransferSource::Http { rows } => pump_maps(rows, to, rows_max).await,
            TransferSource::Postgres { session, query, secrets } => {
                let pumped = pump_postgres(&session, &query, to, rows_max).await;
                pumped.map_err(|error| failure::redacted(error, &secrets))?;
                (*session).give_back().await
            }
            TransferSource::Sqlite { mut database, query } => {
                let columns = database.columns(&query.sql).await?;
                let mut filler = Filler::new(distinct(columns), rows_max, to);
                let mut rows = database.rows(&query);
                while let Some(row) = rows.try_next().await? {
                    if filler.push(row).await.is_err() {
                        return Ok(());
                    }
                }
                filler.finish().await;
                Ok(())
            }
            TransferSource::Duckdb { engine, place, query } => {
                let work = move |it: &noetl_duckdb::DuckdbConnection| {
                    pump_duckdb(it, &query, to, rows_max)
                };
                engine.work(place, &call.cancel, work).await
            }
        }
    }
}

/// Opens a session on the server that the keys name.
pub(super) async fn connect(
    keys: ToolConfig<'_>,
    pools: &Pools,
    of: &Transfer,
    call: &Call,
) -> Result<(PostgresSession, SecretMasker), ToolError> {
    let server = Server::read(call, keys, of.credentials.as_ref()).await?;
    let secrets = server.secrets();
    let settings = SessionSettings::read(keys, call.timeout.max(Duration::from_secs(1)))?;
    let session = pools.session(&server, PoolLimits::default(), &settings).await;
    Ok((session.map_err(|error| failure::redacted(error, &secrets))?, secrets))
}

async fn query(keys: ToolConfig<'_>, dialect: Dialect) -> Result<BoundStatement, ToolError> {
    let script = script::read(keys).await?;
    let statements = crate::sql::split::statements(dialect, &script);
    let [statement] = statements[..] else {
        return Err(keys.error("`query` must be one statement that returns the rows"));
    };
    Params::read(keys)?.bind(keys, dialect, statement.sql)
}

async fn pump_postgres(
    session: &PostgresSession,
    query: &BoundStatement,
    to: Sender<RowChunk>,
    rows_max: usize,
) -> Result<(), ToolError> {
    let (columns, sql) = session.describe(query).await?;
    let names = distinct(columns.iter().map(|(name, _)| name.clone()).collect());
    let mut filler = Filler::new(names, rows_max, to);
    let stream = session.client().simple_query_raw(&sql).await;
    let mut stream = std::pin::pin!(stream.map_err(|error| failure::of(&error))?);
    while let Some(message) = stream.try_next().await.map_err(|error| failure::of(&error))? {
        if let SimpleQueryMessage::Row(row) = message
            && filler.push(values(&columns, &row)).await.is_err()
        {
            return Ok(());
        }
    }
    filler.finish().await;
    Ok(())
}

fn pump_duckdb(
    connection: &noetl_duckdb::DuckdbConnection,
    query: &BoundStatement,
    to: Sender<RowChunk>,
    rows_max: usize,
) -> Result<(), ToolError> {
    let described = format!("DESCRIBE {}", query.sql);
    let mut names = Vec::new();
    let found = connection.run(&described, &query.values, |mut row| {
        if let Some(Value::String(name)) = row.first_mut().map(Value::take) {
            names.push(name);
        }
        true
    });
    found.map_err(|error| said_by(&error))?;
    let mut filler = Filler::new(distinct(names), rows_max, to);
    let mut gone = false;
    let ran = connection.run(&query.sql, &query.values, |row| {
        gone = filler.push_blocking(row).is_err();
        !gone
    });
    match ran {
        Ok(StatementSummary::Rows { .. } | StatementSummary::Affected(_)) => {
            filler.finish_blocking();
            Ok(())
        }
        Err(_) if gone => Ok(()),
        Err(error) => Err(said_by(&error)),
    }
}

async fn pump_maps(
    rows: Vec<Map<String, Value>>,
    to: Sender<RowChunk>,
    rows_max: usize,
) -> Result<(), ToolError> {
    let columns = columns_of(&rows);
    let mut filler = Filler::new(columns.clone(), rows_max, to);
    for (number, fields) in (1..).zip(rows) {
        if filler.push(row_of(&columns, fields, number)?).await.is_err() {
            return Ok(());
        }
    }
    filler.finish().await;
    Ok(())
}

/// Returns the rows of a response: the value at `data_path`, a list of maps or one map.
fn rows_of(keys: ToolConfig<'_>, mut answer: Value) -> Result<Vec<Map<String, Value>>, ToolError> {
    let path = keys.text(&["data_path"])?.unwrap_or_default();
    for part in path.trim_start_matches('$').split('.').filter(|part| !part.is_empty()) {
        answer = match answer {
            Value::Object(mut fields) => fields.remove(part).unwrap_or(Value::Null),
            Value::Array(mut items) => match part.parse::<usize>() {
                Ok(place) if place < items.len() => items.swap_remove(place),
                Ok(_) | Err(_) => Value::Null,
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Value::Null,
        };
    }
    let wrong = || {
        let place = if path.is_empty() { "the response".to_owned() } else { format!("`{path}`") };
        ToolError::new(
            ErrorKind::Parse,
            format!("{place} is not a list of maps: say where it is with `data_path`"),
        )
    };
    match answer {
        Value::Object(row) => Ok(vec![row]),
        Value::Array(items) => items
            .into_iter()
            .map(|item| match item {
                Value::Object(row) => Ok(row),
                _ => Err(wrong()),
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(wrong()),
    }
}
