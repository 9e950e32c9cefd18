//! A connection to an SQLite database for one call, interrupted when the call is cancelled.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::TryStreamExt as _;
use futures::stream::BoxStream;
use noetl_model::ToolError;
use serde_json::{Number, Value};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteRow};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions as _, Connection as _, Executor as _, Row as _,
    SqlSafeStr as _, SqliteConnection, Statement as _, TypeInfo as _, ValueRef as _,
};
use tokio_util::sync::CancellationToken;

use super::failure;
use super::statement_guard::StatementGuard;
use crate::run::keys::ToolConfig;
use crate::sql::params::BoundStatement;
use crate::sql::result::{ResultBudget, StatementResult};

/// The time for which a statement waits for a lock on the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of SQLite VM steps between two checks for cancellation, which is some microseconds.
const STEPS_BETWEEN_LOOKS: i32 = 10_000;

/// The statements that update SQLite's count of changed rows; after others the count is outdated.
const CHANGING: &[&str] = &["INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"];

/// An open database.
pub(crate) struct SqliteDatabase {
    connection: SqliteConnection,
    guard: StatementGuard,
}

impl SqliteDatabase {
    /// Opens `database`, a path; the database is in memory if it is missing.
    pub(crate) async fn open(
        keys: ToolConfig<'_>,
        cancel: &CancellationToken,
    ) -> Result<Self, ToolError> {
        let path = keys.text(&["database", "db_path", "path", "db", "file"])?;
        let path = path.unwrap_or_else(|| ":memory:".into());
        let read_only = keys.flag(&["read_only"])?.unwrap_or(false);
        let options = match path.as_str() {
            // Not `in_memory(true)`, which would put attached files in memory as well.
            ":memory:" => SqliteConnectOptions::new().filename(&path).create_if_missing(true),
            path => SqliteConnectOptions::new()
                .filename(keys.file(path)?)
                .create_if_missing(!read_only)
                .read_only(read_only),
        };
        let options = options.busy_timeout(BUSY_TIMEOUT).disable_statement_logging();
        let opened = SqliteConnection::connect_with(&options).await;
        let mut connection = opened.map_err(|error| failure::of_opening(&error, &path))?;
        let guard = StatementGuard::new(keys.files());
        let cancel = cancel.clone();
        let mut raw = connection.lock_handle().await.map_err(|error| failure::of(&error))?;
        raw.set_progress_handler(STEPS_BETWEEN_LOOKS, move || !cancel.is_cancelled());
        guard.watch(&mut raw)?;
        drop(raw);
        let mut database = Self { connection, guard };
        database.check_open_files().await?;
        Ok(database)
    }

    /// Checks the files that are open. A path may have become a link since it was checked.
    async fn check_open_files(&mut self) -> Result<(), ToolError> {
        let listed = sqlx::query("PRAGMA database_list").fetch_all(&mut self.connection).await;
        for row in listed.map_err(|error| failure::of(&error))? {
            let path: Option<String> = row.try_get(2).map_err(|error| failure::of(&error))?;
            if let Some(path) = path.filter(|path| !path.is_empty()) {
                self.guard.check(Path::new(&path))?;
            }
        }
        Ok(())
    }

    /// Runs one statement without parameters. Returns the number of changed rows.
    pub(crate) async fn execute(&mut self, sql: &str) -> Result<u64, ToolError> {
        let done = sqlx::query(AssertSqlSafe(sql)).execute(&mut self.connection).await;
        Ok(done.map_err(|error| self.failed(&error))?.rows_affected())
    }

    fn failed(&self, error: &sqlx::Error) -> ToolError {
        self.guard.explain(failure::of(error))
    }

    /// Returns the result columns of a statement.
    pub(crate) async fn columns(&mut self, sql: &str) -> Result<Vec<String>, ToolError> {
        let sql = AssertSqlSafe(sql.to_owned()).into_sql_str();
        let prepared = (&mut self.connection).prepare(sql).await;
        let prepared = prepared.map_err(|error| self.guard.explain(failure::of(&error)))?;
        Ok(prepared.columns().iter().map(|column| column.name().to_owned()).collect())
    }

    /// Runs one statement.
    pub(crate) async fn query(
        &mut self,
        bound: &BoundStatement,
        budget: &mut ResultBudget<'_>,
    ) -> Result<StatementResult, ToolError> {
        let columns = self.columns(&bound.sql).await?;
        if columns.is_empty() {
            let affected = self.change(bound).await?;
            return Ok(StatementResult::Affected(if changes(&bound.sql) { affected } else { 0 }));
        }
        let mut rows = Vec::new();
        let mut found = self.rows(bound);
        while let Some(row) = found.try_next().await? {
            budget.spend(&row).await?;
            rows.push(row);
        }
        drop(found);
        Ok(StatementResult::Rows { columns, rows })
    }

    /// Runs one statement that returns no rows. Returns the number of changed rows.
    pub(crate) async fn change(&mut self, bound: &BoundStatement) -> Result<u64, ToolError> {
        let query = bind(sqlx::query(AssertSqlSafe(bound.sql.as_str())), &bound.values);
        let done = query.execute(&mut self.connection).await;
        let affected = done.map_err(|error| self.failed(&error))?.rows_affected();
        if self.guard.take_opened() {
            self.check_open_files().await?;
        }
        Ok(affected)
    }

    /// Runs one statement that returns rows; each row is read on demand.
    pub(crate) fn rows<'a>(
        &'a mut self,
        bound: &BoundStatement,
    ) -> BoxStream<'a, Result<Vec<Value>, ToolError>> {
        let query = bind(sqlx::query(AssertSqlSafe(bound.sql.clone())), &bound.values);
        let guard = self.guard.clone();
        let found = query.fetch(&mut self.connection);
        let found = found.map_ok(|row| values(&row));
        Box::pin(found.map_err(move |error| guard.explain(failure::of(&error))))
    }

    /// Closes the connection; an open transaction is rolled back.
    pub(crate) async fn close(self) {
        if let Err(error) = self.connection.close().await {
            tracing::debug!(%error, "an SQLite connection did not close");
        }
    }
}

type Values<'q> = Query<'q, sqlx::Sqlite, SqliteArguments>;

fn bind<'q>(query: Values<'q>, values: &[Value]) -> Values<'q> {
    values.iter().fold(query, |query, value| match value {
        Value::Null => query.bind(None::<String>),
        Value::Bool(flag) => query.bind(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => query.bind(integer),
            (None, Some(float)) if !number.is_u64() => query.bind(float),
            (None, _) => query.bind(number.to_string()),
        },
        Value::String(text) => query.bind(text.clone()),
        Value::Array(_) | Value::Object(_) => query.bind(value.to_string()),
    })
}

fn changes(sql: &str) -> bool {
    let word = sql.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    CHANGING.iter().any(|changing| changing.eq_ignore_ascii_case(word))
}

fn values(row: &SqliteRow) -> Vec<Value> {
    (0..row.len()).map(|index| value(row, index)).collect()
}

/// Converts by the type of the value, not of its column: SQLite stores any type in any column.
fn value(row: &SqliteRow, index: usize) -> Value {
    let Ok(raw) = row.try_get_raw(index) else { return Value::Null };
    if raw.is_null() {
        return Value::Null;
    }
    match raw.type_info().name() {
        "INTEGER" => row.try_get_unchecked::<i64, _>(index).map_or(Value::Null, Value::from),
        "REAL" => {
            let float = row.try_get_unchecked::<f64, _>(index).unwrap_or(f64::NAN);
            Number::from_f64(float).map_or_else(|| float.to_string().into(), Value::Number)
        }
        "TEXT" => bytes(row, index, |bytes| match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => STANDARD.encode(error.as_bytes()),
        }),
        _ => bytes(row, index, |bytes| STANDARD.encode(bytes)),
    }
}

fn bytes(row: &SqliteRow, index: usize, text: impl FnOnce(Vec<u8>) -> String) -> Value {
    let bytes = row.try_get_unchecked::<Vec<u8>, _>(index);
    bytes.map_or(Value::Null, |bytes| Value::String(text(bytes)))
}
