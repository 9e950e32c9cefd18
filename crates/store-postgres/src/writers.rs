//! The connections for appends and playbook lookups. The most recently used connection is used
//! next, because the plans and table descriptions of its backend process are still in the CPU
//! caches; a pool rotates its connections and pings each.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::open::{TRUSTED_IDLE_MAX, is_alive};
use crate::pool::{ConnectionPool, PooledConnection};

/// The number of connections kept outside the pool between two uses: the concurrent writers, and
/// one for lookups.
const KEPT_MAX: usize = 4;
/// The number of connections that stay in the pool for others; a pool of this size or smaller keeps
/// all its connections.
const OTHERS_MIN: u32 = 2;

/// The most recently used connections. Clones share them.
#[derive(Clone)]
pub(crate) struct Writers {
    pool: ConnectionPool,
    kept: Arc<Mutex<Vec<IdleWriter>>>,
}

/// A connection kept outside the pool.
pub(crate) struct IdleWriter {
    pub(crate) connection: PooledConnection,
    since: Instant,
}

impl IdleWriter {
    /// True if the connection was used so recently that it needs no ping.
    pub(crate) fn is_trusted(&self) -> bool {
        self.since.elapsed() < TRUSTED_IDLE_MAX
    }
}

impl Writers {
    pub(crate) fn new(pool: ConnectionPool) -> Self {
        Self { pool, kept: Arc::default() }
    }

    /// Returns the last used connection if it is alive, else one from the pool. An idle connection
    /// is pinged first, because an append on a dead connection has an unknown outcome.
    pub(crate) async fn take(&self) -> Result<PooledConnection, sqlx::Error> {
        if let Some(mut kept) = self.last() {
            if kept.is_trusted() || is_alive(&mut kept.connection).await {
                return Ok(kept.connection);
            }
            return self.replaced().await;
        }
        self.pool.acquire().await
    }

    /// Returns a live connection after one was found dead. The kept connections lead to the same
    /// server, so they are released, and one from the pool is pinged first.
    pub(crate) async fn replaced(&self) -> Result<PooledConnection, sqlx::Error> {
        self.release();
        for _ in 0..self.pool.connections_max() {
            let mut connection = self.pool.acquire().await?;
            if is_alive(&mut connection).await {
                return Ok(connection);
            }
        }
        self.pool.acquire().await
    }

    /// Returns the last used connection, which may be dead.
    pub(crate) fn last(&self) -> Option<IdleWriter> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps a connection whose statement succeeded.
    pub(crate) fn keep(&self, connection: PooledConnection) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = self.pool.connections_max().saturating_sub(OTHERS_MIN);
        if kept.len() < KEPT_MAX.min(room as usize) && !self.pool.is_closed() {
            kept.push(IdleWriter { connection, since: Instant::now() });
        }
    }

    /// Returns all kept connections to the pool.
    pub(crate) fn release(&self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
