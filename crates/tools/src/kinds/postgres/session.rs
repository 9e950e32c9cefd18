//! A pooled connection while one call uses it. The connection returns to its pool, after a reset,
//! only if the call succeeded.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use noetl_model::{ErrorKind, Logs, ToolError};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio_postgres::types::Type;
use tokio_postgres::{
    AsyncMessage, CancelToken, Client, Config, SimpleQueryMessage, SimpleQueryRow,
};

use super::failure;
use super::literal::{identifier, literal};
use super::pool::TargetPool;
use super::target::{PostgresTarget, SslMode};
use super::tls::PostgresTls;
use super::value::{footprint, to_json};
use crate::protect::outgoing::{Egress, Unresolved};
use crate::run::keys::ToolConfig;
use crate::sql::params::BoundStatement;
use crate::sql::result::{ResultBudget, StatementResult};

/// The timeout for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum number of notices kept per call.
const NOTICES_MAX: usize = 1000;
/// The length from which the text of a value is measured before the value is built.
const MEASURED_FROM: usize = 16 * 1024;
/// The statements that reset a connection between two calls.
const RESET: &str = "RESET SESSION AUTHORIZATION; RESET ALL; CLOSE ALL; UNLISTEN *; \
     SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES";

/// The session settings that a call asks for.
#[derive(Debug, Clone)]
pub(crate) struct SessionSettings {
    schema: Option<String>,
    statement_timeout: Duration,
}

impl SessionSettings {
    /// Reads `schema` and `statement_timeout`, which defaults to the timeout of the call.
    pub(crate) fn read(keys: ToolConfig<'_>, timeout: Duration) -> Result<Self, ToolError> {
        Ok(Self {
            schema: keys.text(&["schema"])?,
            statement_timeout: keys.duration(&["statement_timeout"])?.unwrap_or(timeout),
        })
    }

    /// Returns the statements that apply the settings, and select the text formats that `value`
    /// parses.
    fn sql(&self) -> String {
        let timeout = self.statement_timeout.as_millis().max(1);
        let mut sql = format!(
            "SET DateStyle = ISO; SET bytea_output = hex; SET extra_float_digits = 1; SET statement_timeout = {timeout}"
        );
        if let Some(schema) = &self.schema {
            sql.push_str(&format!("; SET search_path = {}, public", identifier(schema)));
        }
        sql
    }
}

/// A connection, in use or idle.
pub(crate) struct PostgresConnection {
    client: Client,
    cancel: CancelToken,
    tls: PostgresTls,
    notices: mpsc::Receiver<String>,
}

impl PostgresConnection {
    pub(crate) async fn open(target: &PostgresTarget, egress: &Egress) -> Result<Self, ToolError> {
        let mut config = config(target);
        if !target.is_socket() {
            let found = egress.resolve(&target.host, target.port).await;
            let found = found.map_err(|error| unresolved(target, &error))?;
            // The connection goes to addresses that were checked; the host is the name to prove.
            for (index, address) in found.iter().enumerate() {
                if index > 0 {
                    config.host(&target.host);
                }
                config.hostaddr(address.ip());
            }
        }
        let tls =
            PostgresTls::new(target.ssl_mode, target.ssl_root.as_deref()).map_err(|error| {
                let message =
                    format!("cannot use the certificates of {:?}: {error}", target.ssl_root);
                ToolError::new(ErrorKind::Config, message)
            })?;
        let connected = config.connect(tls.clone()).await;
        let (client, mut connection) = connected.map_err(|error| {
            let mut told = failure::of(&error);
            told.message = format!("{}: {}", target.name(), told.message);
            told
        })?;
        let (sender, notices) = mpsc::channel(NOTICES_MAX);
        tokio::spawn(async move {
            // Ends when the client is dropped, or when the connection closes, which the client then
            // reports.
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notice(notice) = message {
                    // Notices beyond the limit are dropped.
                    let _ = sender.try_send(format!("{}: {}", notice.severity(), notice.message()));
                }
            }
        });
        Ok(Self { cancel: client.cancel_token(), client, tls, notices })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(crate) async fn prepare_for(&self, settings: &SessionSettings) -> Result<(), ToolError> {
        self.client.batch_execute(&settings.sql()).await.map_err(|error| failure::of(&error))
    }
}

fn unresolved(target: &PostgresTarget, error: &Unresolved) -> ToolError {
    let name = target.name();
    match error {
        Unresolved::Blocked(blocked) => {
            ToolError::new(ErrorKind::Config, format!("{name} is not allowed: {blocked}"))
        }
        Unresolved::Lookup(error) => {
            let message = format!("{name}: cannot talk to PostgreSQL: {error}");
            ToolError::new(ErrorKind::DbConnection, message)
        }
    }
}

fn config(target: &PostgresTarget) -> Config {
    let mut config = Config::new();
    config.host(&target.host).port(target.port).dbname(&target.database).user(&target.user);
    config.connect_timeout(CONNECT_TIMEOUT).application_name(&target.application);
    if let Some(password) = &target.password {
        config.password(password);
    }
    config.ssl_mode(match target.ssl_mode {
        SslMode::Disable => tokio_postgres::config::SslMode::Disable,
        // A local socket needs no encryption and has no host name to verify.
        SslMode::Prefer if target.is_socket() => tokio_postgres::config::SslMode::Disable,
        SslMode::Prefer => tokio_postgres::config::SslMode::Prefer,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
            tokio_postgres::config::SslMode::Require
        }
    });
    config
}

/// A connection used by a single call. Dropping it closes the connection.
pub(crate) struct PostgresSession {
    connection: PostgresConnection,
    pool: Arc<TargetPool>,
    /// The pool permit, held while the call uses the connection.
    permit: OwnedSemaphorePermit,
}

impl PostgresSession {
    pub(crate) fn new(
        connection: PostgresConnection,
        pool: Arc<TargetPool>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self { connection, pool, permit }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.connection.client
    }

    /// Runs statements and ignores their results.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), ToolError> {
        self.client().batch_execute(sql).await.map_err(|error| failure::of(&error))
    }

    /// Runs one statement.
    pub(crate) async fn query(
        &self,
        bound: &BoundStatement,
        budget: &mut ResultBudget<'_>,
    ) -> Result<StatementResult, ToolError> {
        let (columns, sql) = self.describe(bound).await?;
        let stream =
            self.client().simple_query_raw(&sql).await.map_err(|error| failure::of(&error))?;
        let mut stream = std::pin::pin!(stream);
        let mut rows = Vec::new();
        let mut affected = 0;
        while let Some(message) = stream.try_next().await.map_err(|error| failure::of(&error))? {
            match message {
                SimpleQueryMessage::Row(row) => {
                    check_size(&columns, &row, budget)?;
                    let row = values(&columns, &row);
                    budget.spend(&row).await?;
                    rows.push(row);
                }
                SimpleQueryMessage::CommandComplete(count) => affected += count,
                _ => {}
            }
        }
        Ok(match columns.is_empty() {
            true => StatementResult::Affected(affected),
            false => StatementResult::Rows {
                columns: columns.into_iter().map(|(name, _)| name).collect(),
                rows,
            },
        })
    }

    /// Returns the result columns of a statement, and the SQL text to run with its values.
    pub(crate) async fn describe(
        &self,
        bound: &BoundStatement,
    ) -> Result<(Vec<(String, Type)>, String), ToolError> {
        let prepared = self.client().prepare(&bound.sql).await;
        let prepared = prepared.map_err(|error| failure::of(&error))?;
        let columns = prepared.columns().iter();
        let columns =
            columns.map(|column| (column.name().to_owned(), column.type_().clone())).collect();
        let sql = match bound.values.is_empty() {
            true => bound.sql.clone(),
            false => with_arguments(bound, prepared.params())?,
        };
        Ok((columns, sql))
    }

    /// Cancels the running statement on the server, if any.
    pub(crate) async fn stop(&self, wait: Duration) {
        let cancel = self.connection.cancel.cancel_query(self.connection.tls.clone());
        // Errors and timeouts are ignored: the connection is closed next, which the server detects.
        let _ = tokio::time::timeout(wait, cancel).await;
    }

    /// Returns the notices of the server.
    pub(crate) fn notices(&mut self) -> Logs {
        let mut stderr = String::new();
        while let Ok(notice) = self.connection.notices.try_recv() {
            stderr.push_str(&notice);
            stderr.push('\n');
        }
        Logs { stdout: String::new(), stderr }
    }

    /// Resets the connection and returns it to the pool.
    pub(crate) async fn give_back(self) -> Result<(), ToolError> {
        self.execute(RESET).await?;
        self.pool.keep(self.connection);
        drop(self.permit);
        Ok(())
    }
}

/// Returns SQL that prepares a statement, executes it with literals and deallocates it. In this way
/// values are bound and results still have the text format.
fn with_arguments(bound: &BoundStatement, kinds: &[Type]) -> Result<String, ToolError> {
    let mut literals = Vec::with_capacity(kinds.len());
    for (index, (value, kind)) in bound.values.iter().zip(kinds).enumerate() {
        literals.push(literal(kind, value).map_err(|unfit| {
            let message = format!("postgres: parameter {} is {unfit}", index + 1);
            ToolError::new(ErrorKind::Config, message)
        })?);
    }
    let kinds = match kinds.is_empty() {
        true => String::new(),
        false => format!("({})", literals.join(", ")),
    };
    Ok(format!(
        "PREPARE noetl_call AS {}\n; EXECUTE noetl_call{kinds}; DEALLOCATE noetl_call",
        bound.sql
    ))
}

/// Fails if a list or JSON value in a row would be too large when it is parsed.
fn check_size(
    columns: &[(String, Type)],
    row: &SimpleQueryRow,
    budget: &ResultBudget<'_>,
) -> Result<(), ToolError> {
    for (index, (_, kind)) in columns.iter().enumerate() {
        let Some(text) = row.try_get(index).ok().flatten() else { continue };
        let limits = budget.limits();
        if text.len() > MEASURED_FROM {
            budget.check(footprint(kind, text, limits))?;
        }
    }
    Ok(())
}

pub(crate) fn values(columns: &[(String, Type)], row: &SimpleQueryRow) -> Vec<Value> {
    columns
        .iter()
        .enumerate()
        .map(|(index, (_, kind))| {
            let text = row.try_get(index).ok().flatten();
            text.map_or(Value::Null, |text| to_json(kind, text))
        })
        .collect()
}
