//! The tool `sqlite`: runs a script of statements on an SQLite file or an in-memory database.

pub(crate) mod database;
mod failure;
mod statement_guard;

use async_trait::async_trait;
use noetl_model::{Logs, ToolError};

use self::database::SqliteDatabase;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::ToolConfig;
use crate::sql::lex::Dialect;
use crate::sql::params::Params;
use crate::sql::result::{ResultBudget, StatementResult, output};
use crate::sql::script;
use crate::sql::split::{left_open, statements};
use crate::sql::statement_failed;

pub(crate) struct Sqlite;

impl Sqlite {
    async fn carry_out(call: &Call) -> Result<ToolResult, ToolError> {
        let keys = ToolConfig::of_call("sqlite", call);
        let script = script::read(keys).await?;
        let params = Params::read(keys)?;
        let form = script::row_form(keys)?;
        let whole = keys.flag(&["transaction"])?.unwrap_or(false);
        let mut database = SqliteDatabase::open(keys, &call.cancel).await?;
        let mut budget = ResultBudget::new(&call.memory);
        let results = run(keys, &script, &params, whole, (&mut database, &mut budget)).await;
        database.close().await;
        Ok(ToolResult::completed(output(results?, form)))
    }
}

async fn run(
    keys: ToolConfig<'_>,
    script: &str,
    params: &Params,
    whole: bool,
    (database, budget): (&mut SqliteDatabase, &mut ResultBudget<'_>),
) -> Result<Vec<StatementResult>, ToolError> {
    let statements = statements(Dialect::Sqlite, script);
    if let Some(index) = left_open(Dialect::Sqlite, &statements) {
        return Err(keys.error(format!(
            "statement {} begins a transaction that no other ends: add COMMIT, or leave it out and say `transaction: true`",
            index + 1
        )));
    }
    let mut results = Vec::with_capacity(statements.len());
    if whole {
        database.execute("BEGIN").await?;
    }
    for (index, statement) in statements.iter().enumerate() {
        let bound = params.bind(keys, Dialect::Sqlite, statement.sql)?;
        let produced = database.query(&bound, budget).await;
        results.push(
            produced.map_err(|error| {
                statement_failed(error, index, statements.len(), statement.line)
            })?,
        );
    }
    if whole {
        database.execute("COMMIT").await?;
    }
    Ok(results)
}

#[async_trait]
impl Tool for Sqlite {
    async fn run(&self, call: &Call) -> ToolResult {
        tokio::select! {
            ended = Self::carry_out(call) => ended.into(),
            () = call.cancel.cancelled() => ToolResult::stopped(Logs::default()),
        }
    }
}

#[cfg(test)]
mod tests;
