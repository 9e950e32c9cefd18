//! One connection for one call: statements in, results out. It goes back to its pool only after a
//! call that succeeded, and as new.

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
use super::pool::Pool;
use super::target::{SslMode, Target};
use super::tls::Tls;
use super::value::{footprint, to_json};
use crate::keys::Keys;
use crate::sql::params::Bound;
use crate::sql::result::{Budget, Produced};

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How many notices of a call are kept.
const NOTICES_MAX: usize = 1000;
/// From which length on the text of a value is measured before the value is built.
const MEASURED_FROM: usize = 16 * 1024;
/// Leaves nothing of a call behind for the next one.
const RESET: &str = "RESET SESSION AUTHORIZATION; RESET ALL; CLOSE ALL; UNLISTEN *; \
     SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES";

/// What a call asks of the session beside its statements.
#[derive(Debug, Clone)]
pub(crate) struct SessionSettings {
    schema: Option<String>,
    statement_timeout: Duration,
}

impl SessionSettings {
    /// `schema`, and `statement_timeout`, which is the call's own if left out.
    pub(crate) fn read(keys: Keys<'_>, timeout: Duration) -> Result<Self, ToolError> {
        Ok(Self {
            schema: keys.text(&["schema"])?,
            statement_timeout: keys.duration(&["statement_timeout"])?.unwrap_or(timeout),
        })
    }

    /// The statements that bring them about. The text forms are those `value` reads.
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

/// A connection, in use or waiting to be.
pub(crate) struct Connection {
    client: Client,
    cancel: CancelToken,
    tls: Tls,
    notices: mpsc::Receiver<String>,
}

impl Connection {
    pub(crate) async fn open(target: &Target) -> Result<Self, ToolError> {
        let config = config(target);
        let tls = Tls::new(target.ssl_mode, target.ssl_root.as_deref()).map_err(|error| {
            let message = format!("cannot use the certificates of {:?}: {error}", target.ssl_root);
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
            // Ends with the client, or with the connection, which the client then hears of.
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notice(notice) = message {
                    // What is beyond the bound is left out.
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

fn config(target: &Target) -> Config {
    let mut config = Config::new();
    config.host(&target.host).port(target.port).dbname(&target.database).user(&target.user);
    config.connect_timeout(CONNECT_TIMEOUT).application_name(&target.application);
    if let Some(password) = &target.password {
        config.password(password);
    }
    config.ssl_mode(match target.ssl_mode {
        SslMode::Disable => tokio_postgres::config::SslMode::Disable,
        // A socket of this machine needs no protection and has no name to prove.
        SslMode::Prefer if target.host.starts_with('/') => tokio_postgres::config::SslMode::Disable,
        SslMode::Prefer => tokio_postgres::config::SslMode::Prefer,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
            tokio_postgres::config::SslMode::Require
        }
    });
    config
}

/// A connection that a call has to itself. Dropped, it is closed.
pub(crate) struct Session {
    connection: Connection,
    pool: Arc<Pool>,
    /// Held while the connection counts among those of its pool.
    permit: OwnedSemaphorePermit,
}

impl Session {
    pub(crate) fn new(
        connection: Connection,
        pool: Arc<Pool>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self { connection, pool, permit }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.connection.client
    }

    /// Runs statements whose results nobody wants.
    pub(crate) async fn execute(&self, sql: &str) -> Result<(), ToolError> {
        self.client().batch_execute(sql).await.map_err(|error| failure::of(&error))
    }

    /// Runs one statement.
    pub(crate) async fn query(
        &self,
        bound: &Bound,
        budget: &mut Budget<'_>,
    ) -> Result<Produced, ToolError> {
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
            true => Produced::Affected(affected),
            false => Produced::Rows {
                columns: columns.into_iter().map(|(name, _)| name).collect(),
                rows,
            },
        })
    }

    /// The columns of what a statement returns, and the text to run with its values.
    pub(crate) async fn describe(
        &self,
        bound: &Bound,
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

    /// Stops the statement that runs on the server, if one does.
    pub(crate) async fn stop(&self, wait: Duration) {
        let cancel = self.connection.cancel.cancel_query(self.connection.tls.clone());
        // Late or failed, the connection is closed next, which the server notices by itself.
        let _ = tokio::time::timeout(wait, cancel).await;
    }

    /// What the server had to say beside results.
    pub(crate) fn notices(&mut self) -> Logs {
        let mut stderr = String::new();
        while let Ok(notice) = self.connection.notices.try_recv() {
            stderr.push_str(&notice);
            stderr.push('\n');
        }
        Logs { stdout: String::new(), stderr }
    }

    /// Makes the connection as new and leaves it to the next call.
    pub(crate) async fn give_back(self) -> Result<(), ToolError> {
        self.execute(RESET).await?;
        self.pool.keep(self.connection);
        drop(self.permit);
        Ok(())
    }
}

/// A statement with its parameters: prepared under a name, called with literals, forgotten. This is
/// the way to bind values and still have results in the text form.
fn with_arguments(bound: &Bound, kinds: &[Type]) -> Result<String, ToolError> {
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

/// Refuses a row in which the text of a list or of JSON is that of a value that is too large.
fn check_size(
    columns: &[(String, Type)],
    row: &SimpleQueryRow,
    budget: &Budget<'_>,
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
