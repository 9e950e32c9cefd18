//! The measured databases: their location and their statistics.

mod counts;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use noetl_model::{ExecutionId, Recorded, Seq};
use noetl_store::{READ_EVENTS_MAX, Store, SystemClock};
use noetl_store_postgres::{ClusterSettings, Shards, TimeSource};
use noetl_store_sqlite::SqliteStore;
use noetl_testkit::PostgresServer;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, PgConnection};

pub(crate) use counts::Counts;

use crate::machine::cpu_of_tree;

/// The kind of the measured store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MeasuredStore {
    Sqlite,
    Postgres,
}

impl MeasuredStore {
    pub(crate) const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    pub(crate) fn title(self) -> &'static str {
        match self {
            MeasuredStore::Sqlite => "SQLite",
            MeasuredStore::Postgres => "PostgreSQL",
        }
    }
}

impl fmt::Display for MeasuredStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MeasuredStore::Sqlite => "sqlite",
            MeasuredStore::Postgres => "postgres",
        })
    }
}

impl FromStr for MeasuredStore {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|kind| kind.to_string() == name) {
            Some(kind) => Ok(kind),
            None => bail!("no such store: `{name}` (sqlite or postgres)"),
        }
    }
}

/// An empty database with its own directory.
pub(crate) struct MeasuredDatabase {
    pub(crate) home: PathBuf,
    place: DatabaseBackend,
}

enum DatabaseBackend {
    Sqlite { path: PathBuf },
    Postgres { url: String, server: PostgresServer },
}

/// The settings of a production-like server that also counts statements.
const SETTINGS: &[&str] = &[
    "autovacuum=on",
    "shared_buffers=256MB",
    "max_wal_size=4GB",
    "shared_preload_libraries=pg_stat_statements",
];

impl MeasuredDatabase {
    /// Creates a database in an empty directory.
    pub(crate) async fn new(kind: MeasuredStore, home: &Path) -> Result<Self> {
        let home = home.to_owned();
        let place = match kind {
            MeasuredStore::Sqlite => DatabaseBackend::Sqlite { path: home.join("noetl.db") },
            MeasuredStore::Postgres => {
                let server = PostgresServer::private_with(SETTINGS);
                let url = server.url("postgres");
                let mut connection = connect(&url).await?;
                sqlx::query("CREATE EXTENSION pg_stat_statements")
                    .execute(&mut connection)
                    .await
                    .context("count statements (install PostgreSQL's contrib modules)")?;
                DatabaseBackend::Postgres { url, server }
            }
        };
        Ok(Self { home, place })
    }

    /// Returns the flags that make a server use this database.
    pub(crate) fn flags(&self) -> Result<[String; 2]> {
        Ok(match &self.place {
            DatabaseBackend::Sqlite { path } => {
                ["--db".to_owned(), path.to_str().context("a path is text")?.to_owned()]
            }
            DatabaseBackend::Postgres { url, .. } => ["--database".to_owned(), url.clone()],
        })
    }

    /// Opens the database as a store for reading.
    pub(crate) async fn store(&self) -> Result<Arc<dyn Store>> {
        Ok(match &self.place {
            DatabaseBackend::Sqlite { path } => Arc::new(SqliteStore::open_read_only(path).await?),
            DatabaseBackend::Postgres { url, .. } => {
                let read = |name: &str| (name == "DATABASE_URL").then(|| url.clone());
                let settings = ClusterSettings::from_env(read)?;
                Arc::new(Shards::connect(settings, TimeSource::Database).await?)
            }
        })
    }

    /// Opens the database as a store for writing, while no server runs.
    pub(crate) async fn writer(&self) -> Result<Arc<dyn Store>> {
        match &self.place {
            DatabaseBackend::Sqlite { path } => {
                Ok(Arc::new(SqliteStore::open(path, Arc::new(SystemClock)).await?))
            }
            DatabaseBackend::Postgres { .. } => self.store().await,
        }
    }

    /// Vacuums and analyzes the database, as autovacuum does after a while.
    pub(crate) async fn analyze(&self) -> Result<()> {
        if let DatabaseBackend::Postgres { url, .. } = &self.place {
            sqlx::query("VACUUM ANALYZE").execute(&mut connect(url).await?).await?;
        }
        Ok(())
    }

    /// Starts measuring the statements within functions too, which adds some overhead.
    pub(crate) async fn look_into_functions(&self) -> Result<()> {
        if let DatabaseBackend::Postgres { url, .. } = &self.place {
            let mut connection = connect(url).await?;
            sqlx::query(include_str!("../sql/track_all.sql")).execute(&mut connection).await?;
            sqlx::query("SELECT pg_reload_conf()").execute(&mut connection).await?;
        }
        Ok(())
    }

    /// Returns the time of the statements of all appends so far, if functions are measured.
    pub(crate) async fn spent(&self) -> Result<Vec<(String, Duration)>> {
        let DatabaseBackend::Postgres { url, .. } = &self.place else { return Ok(Vec::new()) };
        let rows: Vec<(String, f64)> = sqlx::query_as(include_str!("../sql/spent.sql"))
            .fetch_all(&mut connect(url).await?)
            .await
            .context("ask PostgreSQL where its time went")?;
        let duration = |milliseconds: f64| Duration::from_secs_f64(milliseconds / 1e3);
        Ok(rows.into_iter().map(|(name, spent)| (name, duration(spent))).collect())
    }

    /// Returns the URL of a PostgreSQL database.
    pub(crate) fn url(&self) -> Option<&str> {
        match &self.place {
            DatabaseBackend::Sqlite { .. } => None,
            DatabaseBackend::Postgres { url, .. } => Some(url),
        }
    }

    /// Returns the CPU time of the database; zero for SQLite, which runs inside the server.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        match &self.place {
            DatabaseBackend::Sqlite { .. } => Ok(Duration::ZERO),
            DatabaseBackend::Postgres { server, .. } => cpu_of_tree(server.pid()),
        }
    }

    /// Returns the work done so far. For SQLite, which has no process of its own, the bytes written
    /// are those of the process `server`.
    pub(crate) async fn counts(&self, server: u32) -> Result<Counts> {
        match &self.place {
            DatabaseBackend::Sqlite { path } => Counts::of_sqlite(path, server),
            DatabaseBackend::Postgres { url, .. } => {
                Counts::of_postgres(&mut connect(url).await?).await
            }
        }
    }
}

pub(crate) async fn connect(url: &str) -> Result<PgConnection> {
    let options: PgConnectOptions = url.parse()?;
    options.disable_statement_logging().connect().await.context("connect to PostgreSQL")
}

/// Reads the whole log of an execution.
pub(crate) async fn log(store: &dyn Store, execution: ExecutionId) -> Result<Vec<Recorded>> {
    let mut log: Vec<Recorded> = Vec::new();
    loop {
        let after = log.last().map_or(Seq::ZERO, |recorded| recorded.seq);
        let page = store.read(execution, after, READ_EVENTS_MAX).await?;
        let is_last = page.len() < READ_EVENTS_MAX;
        log.extend(page);
        if is_last {
            return Ok(log);
        }
    }
}
