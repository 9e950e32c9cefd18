//! The store itself: a pool of connections to one database.

use std::sync::Arc;

use noetl_store::{Blobs, Clock, Reading, RemoteClock, StoreError};
use tokio::time::Instant as Moment;

use crate::feed;
use crate::instant::Instant;
use crate::open::{self, OpenError};
use crate::pool::{ConnectionPool, PooledTransaction};
use crate::settings::PgSettings;
use crate::writers::Writers;

/// A store in one PostgreSQL database. Clones share their connections.
#[derive(Clone)]
pub struct PgStore {
    pub(crate) pool: ConnectionPool,
    pub(crate) writers: Writers,
    pub(crate) time: Time,
    /// Where large values are, if not in the database.
    blobs: Option<Arc<dyn Blobs>>,
}

/// Which clock leases, messages and partitions are compared with.
#[derive(Clone, Default)]
pub enum TimeSource {
    /// The database's own: the one clock that all servers share.
    #[default]
    Database,
    Clock(Arc<dyn Clock>),
}

/// The clock that leases, messages and partitions are compared with, as it is known here.
#[derive(Clone)]
pub(crate) enum Time {
    /// Statements ask the database; others make do with an estimate of its clock.
    Database(Arc<RemoteClock>),
    Clock(Arc<dyn Clock>),
}

impl Time {
    fn of(source: TimeSource, first: Reading) -> Self {
        match source {
            TimeSource::Database => Time::Database(Arc::new(RemoteClock::new(first))),
            TimeSource::Clock(clock) => Time::Clock(clock),
        }
    }

    /// What a statement is told about the time; if nothing, it asks the database.
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

    /// Takes in the time that the database has just answered with.
    pub(crate) fn observe(&self, Instant(at): Instant, asked: Moment) {
        match self {
            Time::Database(clock) => {
                clock.observe(Reading { at, asked, answered: Moment::now() });
            }
            Time::Clock(_) => {}
        }
    }
}

impl PgStore {
    /// Connects to a database, brings its schema up to date and makes the partitions of the months to
    /// come.
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

    /// Keeps large values in a place of their own from now on; those in the database stay there.
    #[must_use]
    pub fn with_blobs(self, blobs: Arc<dyn Blobs>) -> Self {
        Self { blobs: Some(blobs), ..self }
    }

    pub(crate) fn blobs(&self) -> Option<&dyn Blobs> {
        self.blobs.as_deref()
    }

    /// Begins a transaction. Dropping it undoes it.
    pub(crate) async fn begin(&self) -> Result<PooledTransaction, StoreError> {
        self.pool.begin().await
    }

    /// Ends all connections once they are idle.
    pub async fn close(&self) {
        let closed = self.pool.close();
        self.writers.release();
        closed.await;
    }
}
