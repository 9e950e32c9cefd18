//! The connections that append. The one that wrote last writes next: what its process at the database
//! keeps, such as plans and descriptions of tables, is then still in the processor's caches, while a
//! pool passes all of its connections round.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::open::TRUSTED_IDLE_MAX;
use crate::pool::{ConnectionPool, PooledConnection};

/// How many connections are kept from the pool between two batches: as many as write at once.
const KEPT_MAX: usize = 2;
/// How many connections the pool keeps for others; a smaller one gets every connection back.
const OTHERS_MIN: u32 = 2;

/// The connections that wrote last. Clones share them.
#[derive(Clone)]
pub(crate) struct Writers {
    pool: ConnectionPool,
    kept: Arc<Mutex<Vec<Kept>>>,
}

struct Kept {
    connection: PooledConnection,
    since: Instant,
}

impl Writers {
    pub(crate) fn new(pool: ConnectionPool) -> Self {
        Self { pool, kept: Arc::default() }
    }

    /// The connection that wrote last, unless it may have died meanwhile; else one of the pool.
    pub(crate) async fn take(&self) -> Result<PooledConnection, sqlx::Error> {
        let last = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match last {
            Some(kept) if kept.since.elapsed() < TRUSTED_IDLE_MAX => Ok(kept.connection),
            Some(_) | None => self.pool.acquire().await,
        }
    }

    /// Takes back a connection whose statement went well.
    pub(crate) fn keep(&self, connection: PooledConnection) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.pool.connections_max().saturating_sub(OTHERS_MIN);
        if kept.len() < KEPT_MAX.min(room as usize) && !self.pool.is_closed() {
            kept.push(Kept { connection, since: Instant::now() });
        }
    }

    /// Gives all connections back to the pool.
    pub(crate) fn release(&self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
