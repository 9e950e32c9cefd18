//! The tool `postgres`: runs a script of statements on a PostgreSQL server, each in its own
//! transaction unless one transaction is requested.
//!
//! Values are received in the server's text format, so that no type loses precision, and become
//! JSON where JSON can hold them exactly. Cancelling a call cancels its statement on the server.

pub(crate) mod array;
pub(crate) mod failure;
pub(crate) mod literal;
pub(crate) mod pool;
pub(crate) mod session;
pub(crate) mod target;
mod tls;
pub(crate) mod value;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{Logs, ToolError};

use self::pool::{PoolLimits, Pools};
use self::session::{PostgresSession, SessionSettings};
use self::target::PostgresTarget;
use crate::protect::credentials::CredentialResolver;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::ToolConfig;
use crate::run::memory::CallMemory;
use crate::sql::lex::Dialect;
use crate::sql::params::Params;
use crate::sql::result::{ResultBudget, RowForm, StatementResult, output};
use crate::sql::script;
use crate::sql::split::{left_open, statements};

/// The time that the server may take to confirm a cancelled statement.
const CANCEL_WAIT: Duration = Duration::from_secs(2);

pub(crate) struct Postgres {
    pools: Arc<Pools>,
    credentials: Arc<dyn CredentialResolver>,
}

/// The parsed configuration of a call.
struct PostgresCall {
    target: PostgresTarget,
    limits: PoolLimits,
    settings: SessionSettings,
    script: String,
    params: Params,
    form: RowForm,
    whole: bool,
}

impl PostgresCall {
    async fn read(
        keys: ToolConfig<'_>,
        call: &Call,
        credentials: &dyn CredentialResolver,
    ) -> Result<Self, ToolError> {
        Ok(Self {
            script: script::read(keys).await?,
            params: Params::read(keys)?,
            form: script::row_form(keys)?,
            whole: keys.flag(&["transaction"])?.unwrap_or(false),
            limits: PoolLimits::read(keys)?,
            settings: SessionSettings::read(keys, call.timeout)?,
            target: PostgresTarget::read(call, keys, credentials).await?,
        })
    }
}

impl Postgres {
    pub(crate) fn new(pools: Arc<Pools>, credentials: Arc<dyn CredentialResolver>) -> Self {
        Self { pools, credentials }
    }

    async fn carry_out(&self, call: &Call) -> Result<ToolResult, ToolError> {
        let keys = ToolConfig::of_call("postgres", call);
        let work = PostgresCall::read(keys, call, self.credentials.as_ref()).await?;
        let secrets = work.target.secrets();
        let session = self.pools.session(&work.target, work.limits, &work.settings).await;
        let mut session = session.map_err(|error| failure::redacted(error, &secrets))?;
        let ended = tokio::select! {
            ended = run(keys, &work, &session, &call.memory) => ended,
            () = call.cancel.cancelled() => {
                session.stop(CANCEL_WAIT).await;
                return Ok(ToolResult::stopped(session.notices()));
            }
        };
        let notices = session.notices();
        let ended = match ended {
            Ok(results) => session.give_back().await.map(|()| results),
            Err(error) => Err(error),
        };
        Ok(match ended {
            Ok(results) => ToolResult::completed(output(results, work.form)),
            Err(error) => ToolResult::failed(failure::redacted(error, &secrets)),
        }
        .with_logs(notices))
    }
}

/// Runs the statements in order until one fails.
async fn run(
    keys: ToolConfig<'_>,
    work: &PostgresCall,
    session: &PostgresSession,
    memory: &CallMemory,
) -> Result<Vec<StatementResult>, ToolError> {
    let statements = statements(Dialect::Postgres, &work.script);
    if let Some(index) = left_open(Dialect::Postgres, &statements) {
        return Err(keys.error(format!(
            "statement {} begins a transaction that no other ends: add COMMIT, or leave it out and say `transaction: true`",
            index + 1
        )));
    }
    let mut budget = ResultBudget::new(memory);
    let mut results = Vec::with_capacity(statements.len());
    if work.whole {
        session.execute("BEGIN").await?;
    }
    for (index, statement) in statements.iter().enumerate() {
        let bound = work.params.bind(keys, Dialect::Postgres, statement.sql)?;
        let produced = session
            .query(&bound, &mut budget)
            .await
            .map_err(|error| failure::at_statement(error, index, statements.len(), statement))?;
        results.push(produced);
    }
    if work.whole {
        session.execute("COMMIT").await?;
    }
    Ok(results)
}

#[async_trait]
impl Tool for Postgres {
    async fn run(&self, call: &Call) -> ToolResult {
        tokio::select! {
            biased;
            ended = self.carry_out(call) => ended.into(),
            // Applies only while no statement is running: a session cancels its own statement.
            () = stopped_for(call, CANCEL_WAIT) => ToolResult::stopped(Logs::default()),
        }
    }
}

/// Returns once the call was cancelled and had `wait` to end by itself.
async fn stopped_for(call: &Call, wait: Duration) {
    call.cancel.cancelled().await;
    tokio::time::sleep(wait + Duration::from_millis(200)).await;
}

#[cfg(test)]
mod tests;
