//! The tool `duckdb`: runs a script of statements on a DuckDB file or an in-memory database.

pub(crate) mod engine;
mod failure;

use std::sync::Arc;

use async_trait::async_trait;
use noetl_duckdb::{DuckdbConnection, StatementSummary};
use noetl_model::ToolError;
use serde_json::Value;
use tokio::runtime::Handle;

use self::engine::{DatabaseLocation, Engine};
pub(crate) use self::failure::of as said_by;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::ToolConfig;
use crate::run::memory::CallMemory;
use crate::sql::lex::Dialect;
use crate::sql::params::{BoundStatement, Params};
use crate::sql::result::{ResultBudget, StatementResult, output};
use crate::sql::split::{left_open, statements};
use crate::sql::{script, statement_failed};

pub(crate) struct Duckdb {
    engine: Arc<Engine>,
}

/// The statements of a call, ready to run one after the other.
struct DuckdbCall {
    statements: Vec<(BoundStatement, usize)>,
    whole: bool,
}

impl DuckdbCall {
    async fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        let script = script::read(keys).await?;
        let params = Params::read(keys)?;
        let found = statements(Dialect::Duckdb, &script);
        if let Some(index) = left_open(Dialect::Duckdb, &found) {
            return Err(keys.error(format!(
                "statement {} begins a transaction that no other ends: add COMMIT, or leave it out and say `transaction: true`",
                index + 1
            )));
        }
        let bound = found.iter().map(|statement| {
            Ok((params.bind(keys, Dialect::Duckdb, statement.sql)?, statement.line))
        });
        Ok(Self {
            statements: bound.collect::<Result<_, ToolError>>()?,
            whole: keys.flag(&["transaction"])?.unwrap_or(false),
        })
    }

    fn run(
        &self,
        connection: &DuckdbConnection,
        memory: &CallMemory,
    ) -> Result<Vec<StatementResult>, ToolError> {
        let mut budget = ResultBudget::new(memory);
        if self.whole {
            engine::execute(connection, "BEGIN")?;
        }
        let count = self.statements.len();
        let results = self.statements.iter().enumerate().map(|(index, (bound, line))| {
            query(connection, bound, &mut budget)
                .map_err(|error| statement_failed(error, index, count, *line))
        });
        let results = results.collect::<Result<_, ToolError>>()?;
        if self.whole {
            engine::execute(connection, "COMMIT")?;
        }
        Ok(results)
    }
}

fn query(
    connection: &DuckdbConnection,
    bound: &BoundStatement,
    budget: &mut ResultBudget<'_>,
) -> Result<StatementResult, ToolError> {
    // Runs on a blocking thread, so `block_on` is allowed.
    let runtime = Handle::current();
    let mut rows = Vec::new();
    let mut spent = Ok(());
    let gave = connection.run(&bound.sql, &bound.values, |row: Vec<Value>| {
        spent = runtime.block_on(budget.spend(&row));
        rows.push(row);
        spent.is_ok()
    });
    spent?;
    Ok(match gave.map_err(|error| failure::of(&error))? {
        StatementSummary::Rows { columns } => StatementResult::Rows { columns, rows },
        StatementSummary::Affected(count) => StatementResult::Affected(count),
    })
}

impl Duckdb {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    async fn carry_out(&self, call: &Call) -> Result<ToolResult, ToolError> {
        let keys = ToolConfig::of_call("duckdb", call);
        let form = script::row_form(keys)?;
        let work = DuckdbCall::read(keys).await?;
        let place = DatabaseLocation::read(keys, &call.memory)?;
        let memory = call.memory.clone();
        let work = move |connection: &DuckdbConnection| work.run(connection, &memory);
        let results = self.engine.work(place, &call.cancel, work).await?;
        Ok(ToolResult::completed(output(results, form)))
    }
}

#[async_trait]
impl Tool for Duckdb {
    async fn run(&self, call: &Call) -> ToolResult {
        self.carry_out(call).await.into()
    }
}

#[cfg(test)]
mod tests;
