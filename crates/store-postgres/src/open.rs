//! Opening of a database: checks its settings and applies the migrations.

use std::time::Duration;

use noetl_store::{ClockReading, StoreError};
use sqlx::migrate::{Migrate as _, MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, Row as _};
use tokio::time::{Instant as Moment, timeout};

use crate::functions;
use crate::instant::Instant;
use crate::pool::ConnectionPool;
use crate::settings::PgSettings;

/// The table of applied migrations.
const MIGRATIONS_TABLE: &str = "noetl.schema_migration";
/// The oldest supported PostgreSQL version.
const SERVER_VERSION_MIN: i64 = 150_000;

/// The idle time up to which a connection is used without a ping.
pub(crate) const TRUSTED_IDLE_MAX: Duration = Duration::from_secs(1);

/// The timeout of the ping of an idle connection.
pub(crate) const PING_MAX: Duration = Duration::from_secs(1);
/// The number of deadlines that a transaction may stay idle: an append that starts children holds a
/// lock in one database while it writes to others.
const IDLE_DEADLINES_MAX: u32 = 3;

/// The reason a database could not be opened.
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
    #[error("cannot create the database's functions")]
    Functions(#[source] sqlx::Error),
    #[error("cannot read the last position of the events")]
    Feed(#[source] StoreError),
    #[error("cannot create the partitions of the coming months")]
    Partitions(#[source] StoreError),
}

/// Returns the migrations from an empty database to the current schema.
fn migrations() -> Migrator {
    let mut migrations = sqlx_macros::migrate!();
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
        // A ping before every statement would cost a second round trip.
        .test_before_acquire(false)
        .before_acquire(|connection, used| {
            Box::pin(
                async move { Ok(used.idle_for < TRUSTED_IDLE_MAX || is_alive(connection).await) },
            )
        })
        // Every statement uses an index whatever its arguments, and planning the append statement
        // again would cost more than running it.
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

/// True if a connection answers in time, even if its network silently drops packets.
pub(crate) async fn is_alive(connection: &mut PgConnection) -> bool {
    matches!(timeout(PING_MAX, connection.ping()).await, Ok(Ok(())))
}

/// Formats a duration for PostgreSQL's settings.
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

/// Checks the server's settings and version, and returns its time.
pub(crate) async fn examine(pool: &ConnectionPool) -> Result<ClockReading, OpenError> {
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
        Ok(ClockReading { at, asked, answered })
    }
}

/// Applies the migrations and creates the functions, under the migrator's advisory lock, so that
/// servers that start together do it one after the other. The connection has no statement deadline,
/// because a migration of a large table takes time.
pub(crate) async fn migrate(pool: &ConnectionPool) -> Result<(), OpenError> {
    let options = pool.connect_options();
    let mut connection = PgConnection::connect_with(&options)
        .await
        .map_err(|source| connect_error(&options, source))?;
    let migrated = migrate_locked(&mut connection).await;
    // The lock ends with the session. If the close message cannot be sent, the session ends with
    // its socket.
    let _closed = connection.close().await;
    migrated
}

async fn migrate_locked(connection: &mut PgConnection) -> Result<(), OpenError> {
    connection.lock().await.map_err(OpenError::Migrate)?;
    let callers = functions::callers(connection).await.map_err(OpenError::Functions)?;
    migrations().run_direct(None, connection, false).await.map_err(|error| match error {
        MigrateError::VersionMissing(_) => OpenError::Newer,
        error => OpenError::Migrate(error),
    })?;
    functions::create(connection, callers).await.map_err(OpenError::Functions)
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
