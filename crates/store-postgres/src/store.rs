//! The PostgreSQL store: a connection pool to one database.

use std::sync::Arc;

use noetl_store::{Blobs, Clock, ClockReading, RemoteClock, StoreError};
use sqlx::Postgres;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use tokio::time::Instant as Moment;

use crate::feed;
use crate::instant::Instant;
use crate::open::{self, OpenError};
use crate::pool::{ConnectionPool, PooledTransaction};
use crate::row::store_error;
use crate::settings::PgSettings;
use crate::writers::Writers;

/// A statement with its arguments.
type PgQuery<'q> = Query<'q, Postgres, PgArguments>;

/// A store in one PostgreSQL database. Clones share their connections.
#[derive(Clone)]
pub struct PgStore {
    pub(crate) pool: ConnectionPool,
    pub(crate) writers: Writers,
    pub(crate) time: Time,
    /// The blob storage of large payloads, if they are not in the database.
    blobs: Option<Arc<dyn Blobs>>,
}

/// The clock that leases, messages and partitions are compared with.
#[derive(Clone, Default)]
pub enum TimeSource {
    /// The database's own clock, which all servers share.
    #[default]
    Database,
    Clock(Arc<dyn Clock>),
}

/// The clock that leases, messages and partitions are compared with, as known in this process.
#[derive(Clone)]
pub(crate) enum Time {
    /// Statements use the database's clock; other code uses an estimate of it.
    Database(Arc<RemoteClock>),
    Clock(Arc<dyn Clock>),
}

impl Time {
    fn of(source: TimeSource, first: ClockReading) -> Self {
        match source {
            TimeSource::Database => Time::Database(Arc::new(RemoteClock::new(first))),
            TimeSource::Clock(clock) => Time::Clock(clock),
        }
    }

    /// Returns the time argument of a statement; `None` makes the statement use the database's
    /// clock.
    fn now(&self) -> Option<Instant> {
        match self {
            Time::Database(_) => None,
            Time::Clock(clock) => Some(Instant(clock.now())),
        }
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        match self {
            Time::Database(clock) => clock.clone(),
            Time::Clock(clock) => Arc::clone(clock),
        }
    }

    /// Adds a time that the database has just returned to the estimate of its clock.
    pub(crate) fn observe(&self, Instant(at): Instant, asked: Moment) {
        match self {
            Time::Database(clock) => {
                clock.observe(ClockReading { at, asked, answered: Moment::now() });
            }
            Time::Clock(_) => {}
        }
    }
}

impl PgStore {
    /// Connects to a database, applies the migrations and creates the partitions of the coming
    /// months.
    pub async fn connect(settings: PgSettings, time: TimeSource) -> Result<Self, OpenError> {
        let pool = open::pool(settings).await?;
        let first = open::examine(&pool).await?;
        open::migrate(&pool).await?;
        feed::shift(&pool).await.map_err(OpenError::Feed)?;
        let (writers, time) = (Writers::new(pool.clone()), Time::of(time, first));
        let store = Self { pool, writers, time, blobs: None };
        store.make_partitions(store.now()).await.map_err(OpenError::Partitions)?;
        Ok(store)
    }

    pub(crate) fn now(&self) -> Option<Instant> {
        self.time.now()
    }

    /// Stores new large payloads in blob storage; existing ones stay in the database.
    #[must_use]
    pub fn with_blobs(self, blobs: Arc<dyn Blobs>) -> Self {
        Self { blobs: Some(blobs), ..self }
    }

    pub(crate) fn blobs(&self) -> Option<&dyn Blobs> {
        self.blobs.as_deref()
    }

    /// Runs a statement in its own transaction and returns its rows.
    pub(crate) async fn rows(&self, statement: PgQuery<'_>) -> Result<Vec<PgRow>, StoreError> {
        statement.fetch_all(&mut *self.pool.connection().await?).await.map_err(store_error)
    }

    /// Runs a statement in its own transaction and returns its first row.
    pub(crate) async fn row(&self, statement: PgQuery<'_>) -> Result<Option<PgRow>, StoreError> {
        statement.fetch_optional(&mut *self.pool.connection().await?).await.map_err(store_error)
    }

    /// Runs a statement in its own transaction and returns the number of rows it wrote.
    pub(crate) async fn write(&self, statement: PgQuery<'_>) -> Result<u64, StoreError> {
        let done = statement.execute(&mut *self.pool.connection().await?).await;
        Ok(done.map_err(store_error)?.rows_affected())
    }

    /// Begins a transaction. Dropping it rolls it back.
    pub(crate) async fn begin(&self) -> Result<PooledTransaction, StoreError> {
        self.pool.begin().await
    }

    /// Closes all connections once they are idle.
    pub async fn close(&self) {
        let closed = self.pool.close();
        self.writers.release();
        closed.await;
    }
}
