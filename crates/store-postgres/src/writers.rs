//! The connections that append and that look playbooks up. The one that was used last is used next: what
//! its process at the database keeps, such as plans and descriptions of tables, is then still in the
//! processor's caches, while a pool passes all of its connections round and asks each whether it lives.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::open::{TRUSTED_IDLE_MAX, is_alive};
use crate::pool::{ConnectionPool, PooledConnection};

/// How many connections are kept from the pool between two uses: as many as write at once, and one to
/// look something up.
const KEPT_MAX: usize = 4;
/// How many connections the pool keeps for others; a smaller one gets every connection back.
const OTHERS_MIN: u32 = 2;

/// The connections that were used last. Clones share them.
#[derive(Clone)]
pub(crate) struct Writers {
    pool: ConnectionPool,
    kept: Arc<Mutex<Vec<Kept>>>,
}

/// A connection that is kept from the pool.
pub(crate) struct Kept {
    pub(crate) connection: PooledConnection,
    since: Instant,
}

impl Kept {
    /// Whether it was used so lately that it is taken to live.
    pub(crate) fn is_trusted(&self) -> bool {
        self.since.elapsed() < TRUSTED_IDLE_MAX
    }
}

impl Writers {
    pub(crate) fn new(pool: ConnectionPool) -> Self {
        Self { pool, kept: Arc::default() }
    }

    /// The connection that was used last, if it lives; else one of the pool. An append whose connection
    /// turns out to be dead has an unknown outcome, so one that has lain idle is asked first.
    pub(crate) async fn take(&self) -> Result<PooledConnection, sqlx::Error> {
        if let Some(mut kept) = self.last() {
            if kept.is_trusted() || is_alive(&mut kept.connection).await {
                return Ok(kept.connection);
            }
            return self.replaced().await;
        }
        self.pool.acquire().await
    }

    /// A connection that lives, after one has been found dead: all others lead to the same place, so
    /// those that are kept are given up, and one of the pool is asked first.
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

    /// The connection that was used last, which may have died meanwhile.
    pub(crate) fn last(&self) -> Option<Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop()
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
