//! Opening a database: whether it can be relied on, and its schema.

use std::time::Duration;

use noetl_store::{Reading, StoreError};
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, PgPool, Row as _};
use tokio::time::Instant as Moment;

use crate::instant::Instant;
use crate::settings::PgSettings;

/// Where the list of migrations that a database has been through is kept.
const MIGRATIONS_TABLE: &str = "noetl.schema_migration";
/// The oldest PostgreSQL that is tested with.
const SERVER_VERSION_MIN: i64 = 150_000;

/// How long a connection can lie idle and still be taken to live.
pub(crate) const TRUSTED_IDLE_MAX: Duration = Duration::from_secs(1);

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

pub(crate) async fn pool(settings: PgSettings) -> Result<PgPool, OpenError> {
    let PgSettings { database, pool } = settings;
    let options = database
        .statement_cache_capacity(pool.statement_cache)
        .application_name("noetl")
        .disable_statement_logging();
    let described = |source| connect_error(&options, source);
    PgPoolOptions::new()
        .max_connections(pool.connections_max)
        .min_connections(pool.connections_min)
        .acquire_timeout(pool.acquire_timeout)
        // Asking each time whether a connection still lives would cost every statement a second trip.
        .test_before_acquire(false)
        .before_acquire(|connection, used| {
            Box::pin(async move {
                Ok(used.idle_for < TRUSTED_IDLE_MAX || connection.ping().await.is_ok())
            })
        })
        // Every statement is served by an index whatever its arguments, and planning the one that
        // appends anew would cost more than running it.
        .after_connect(|connection, _| {
            Box::pin(async move {
                let statement = include_str!("../sql/set_plan_once.sql");
                sqlx::query(statement).persistent(false).execute(connection).await.map(|_| ())
            })
        })
        .connect_with(options.clone())
        .await
        .map_err(described)
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
pub(crate) async fn examine(pool: &PgPool) -> Result<Reading, OpenError> {
    let asked = Moment::now();
    let row = sqlx::query(include_str!("../sql/examine.sql"))
        .fetch_one(pool)
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

/// Brings the schema up to date. The migrator holds an advisory lock meanwhile, so servers that start
/// together take turns.
pub(crate) async fn migrate(pool: &PgPool) -> Result<(), OpenError> {
    migrations().run(pool).await.map_err(|error| match error {
        MigrateError::VersionMissing(_) => OpenError::Newer,
        error => OpenError::Migrate(error),
    })
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
