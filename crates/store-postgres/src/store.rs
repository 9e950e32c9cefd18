//! The PostgreSQL store: a connection pool to one database.

use std::sync::Arc;

use noetl_store::{Blobs, Clock, ClockReading, RemoteClock};
use tokio::time::Instant as Moment;

use crate::feed;
use crate::instant::Instant;
use crate::open::{self, OpenError};
use crate::pool::ConnectionPool;
use crate::settings::PgSettings;
use crate::writers::Writers;

/// A store in one PostgreSQL database. Clones share their connections.
#[derive(Clone)]
pub struct PgStore {
    pub(crate) pool: ConnectionPool,
    pub(crate) writers: Writers,
    pub(crate) time: Time,
    /// The blob storage of large payloads, if they are not in the database.
    pub(crate) blobs: Option<Arc<dyn Blobs>>,
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

    /// Closes all connections once they are idle.
    pub async fn close(&self) {
        let closed = self.pool.close();
        self.writers.release();
        closed.await;
    }
}
