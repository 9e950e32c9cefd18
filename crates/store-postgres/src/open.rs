//! Opening a database: whether it can be relied on, and its schema.

use std::time::Duration;

use noetl_store::{Reading, StoreError};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, Row as _};
use tokio::time::{Instant as Moment, timeout};

use crate::instant::Instant;
use crate::pool::ConnectionPool;
use crate::settings::PgSettings;

/// Where the list of migrations that a database has been through is kept.
const MIGRATIONS_TABLE: &str = "noetl.schema_migration";
/// The oldest PostgreSQL that is tested with.
const SERVER_VERSION_MIN: i64 = 150_000;

/// How long a connection can lie idle and still be taken to live.
pub(crate) const TRUSTED_IDLE_MAX: Duration = Duration::from_secs(1);

/// How long a connection that has lain idle may take to show that it lives.
pub(crate) const PING_MAX: Duration = Duration::from_secs(1);
/// How many deadlines a transaction may lie idle: an append that starts children holds a lock in
/// one database while it writes to others.
const IDLE_DEADLINES_MAX: u32 = 3;

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot connect to the database {database} at {host}:{port}")]
    Connect {
        host: String,
        port: u16,
        database: String,
        #[source]
        source: sqlx::Error,
    },
    #[error("cannot examine the database")]
    Examine(#[source] sqlx::Error),
    #[error("the database server is a standby that cannot be written to")]
    InRecovery,
    #[error(
        "the database server forgets acknowledged commits in a crash: set synchronous_commit to on"
    )]
    Forgets,
    #[error("the database server is older than PostgreSQL 15")]
    TooOld,
    #[error("the database was written by a newer version of noetl")]
    Newer,
    #[error("cannot bring the database up to date")]
    Migrate(#[source] MigrateError),
    #[error("cannot go on with the order of events")]
    Feed(#[source] StoreError),
    #[error("cannot make the partitions of the months to come")]
    Partitions(#[source] StoreError),
}

/// The steps from an empty database to this version's schema.
fn migrations() -> Migrator {
    let mut migrations = sqlx::migrate!();
    migrations.create_schema("noetl");
    migrations.dangerous_set_table_name(MIGRATIONS_TABLE);
    migrations
}

pub(crate) async fn pool(settings: PgSettings) -> Result<ConnectionPool, OpenError> {
    let PgSettings { database, pool } = settings;
    let options = database
        .statement_cache_capacity(pool.statement_cache)
        .application_name("noetl")
        .disable_statement_logging();
    let described = |source| connect_error(&options, source);
    let deadline = milliseconds(pool.deadline);
    let idle = milliseconds(pool.deadline.saturating_mul(IDLE_DEADLINES_MAX));
    PgPoolOptions::new()
        .max_connections(pool.connections_max)
        .min_connections(pool.connections_min)
        .acquire_timeout(pool.acquire_timeout)
        // Asking each time whether a connection still lives would cost every statement a second trip.
        .test_before_acquire(false)
        .before_acquire(|connection, used| {
            Box::pin(
                async move { Ok(used.idle_for < TRUSTED_IDLE_MAX || is_alive(connection).await) },
            )
        })
        // Every statement is served by an index whatever its arguments, and planning the one that
        // appends anew would cost more than running it.
        .after_connect(move |connection, _| {
            let (deadline, idle) = (deadline.clone(), idle.clone());
            Box::pin(async move {
                let statement = include_str!("../sql/set_session.sql");
                let set = sqlx::query(statement).bind(deadline).bind(idle).persistent(false);
                set.execute(connection).await.map(|_| ())
            })
        })
        .connect_with(options.clone())
        .await
        .map(ConnectionPool::new)
        .map_err(described)
}

/// Checks that a connection answers, also if its network drops packets without a word.
pub(crate) async fn is_alive(connection: &mut PgConnection) -> bool {
    matches!(timeout(PING_MAX, connection.ping()).await, Ok(Ok(())))
}

/// A duration as PostgreSQL's settings take it.
fn milliseconds(duration: Duration) -> String {
    duration.as_millis().min(i32::MAX.unsigned_abs().into()).to_string()
}

fn connect_error(options: &PgConnectOptions, source: sqlx::Error) -> OpenError {
    OpenError::Connect {
        host: options.get_host().to_owned(),
        port: options.get_port(),
        database: options.get_database().unwrap_or_default().to_owned(),
        source,
    }
}

/// Checks that the server can be relied on; the answer is its time.
pub(crate) async fn examine(pool: &ConnectionPool) -> Result<Reading, OpenError> {
    let mut connection = pool.acquire().await.map_err(OpenError::Examine)?;
    let asked = Moment::now();
    let row = sqlx::query(include_str!("../sql/examine.sql"))
        .fetch_one(&mut *connection)
        .await
        .map_err(OpenError::Examine)?;
    let answered = Moment::now();
    let flag = |column| row.try_get::<bool, _>(column).map_err(OpenError::Examine);
    let version: i64 = row.try_get("version").map_err(OpenError::Examine)?;
    if flag("in_recovery")? {
        Err(OpenError::InRecovery)
    } else if flag("forgets")? {
        Err(OpenError::Forgets)
    } else if version < SERVER_VERSION_MIN {
        Err(OpenError::TooOld)
    } else {
        let Instant(at) = row.try_get("now").map_err(OpenError::Examine)?;
        Ok(Reading { at, asked, answered })
    }
}

/// Brings the schema up to date. The migrator holds an advisory lock meanwhile, so servers that
/// start together take turns. A migration of a large table takes its time, so its connection is one
/// without a deadline for statements.
pub(crate) async fn migrate(pool: &ConnectionPool) -> Result<(), OpenError> {
    let options = pool.connect_options();
    let mut connection = PgConnection::connect_with(&options)
        .await
        .map_err(|source| connect_error(&options, source))?;
    let migrated =
        migrations().run_direct(None, &mut connection, false).await.map_err(|error| match error {
            MigrateError::VersionMissing(_) => OpenError::Newer,
            error => OpenError::Migrate(error),
        });
    // The session ends with its socket if it cannot be told.
    let _closed = connection.close().await;
    migrated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_migration_is_embedded_and_numbered_in_order() {
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations")).unwrap();
        let numbers: Vec<i64> = migrations().iter().map(|migration| migration.version).collect();
        assert_eq!(numbers.len(), files.count());
        assert_eq!(numbers.first(), Some(&1));
        assert!(numbers.is_sorted_by(|earlier, later| earlier < later), "{numbers:?}");
    }
}
