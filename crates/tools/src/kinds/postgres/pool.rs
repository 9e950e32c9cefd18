//! Connection pools, one per target, with a limited number of connections. Idle connections are
//! closed after a while.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use lru::LruCache;
use noetl_model::{ErrorKind, ToolError};
use tokio::sync::Semaphore;

use super::session::{PostgresConnection, PostgresSession, SessionSettings};
use super::target::PostgresTarget;
use crate::protect::outgoing::Egress;
use crate::run::keys::ToolConfig;

/// The maximum number of pools kept.
const POOLS_MAX: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");
/// The default maximum number of connections per target.
const CONNECTIONS_DEFAULT: usize = 10;
const CONNECTIONS_MAX: usize = 100;
/// The default time that a call waits for a connection.
const WAIT_DEFAULT: Duration = Duration::from_secs(30);
/// The time after which an idle connection is closed.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// The settings under `pool`: the number of connections and the time to wait for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PoolLimits {
    connections: usize,
    wait: Duration,
}

impl PoolLimits {
    pub(crate) fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        let mut limits = Self::default();
        if let Some(pool) = keys.map(&["pool"])? {
            let pool = ToolConfig::new("postgres: pool", pool);
            limits.wait = pool.duration(&["timeout"])?.unwrap_or(WAIT_DEFAULT);
            limits.connections =
                pool.count(&["max_size", "size"], CONNECTIONS_MAX)?.unwrap_or(CONNECTIONS_DEFAULT);
        }
        Ok(limits)
    }
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self { connections: CONNECTIONS_DEFAULT, wait: WAIT_DEFAULT }
    }
}

/// The pools of a worker.
pub(crate) struct Pools {
    egress: Egress,
    by_target: Mutex<LruCache<(PostgresTarget, usize), Arc<TargetPool>>>,
}

/// The connections to one target.
pub(crate) struct TargetPool {
    permits: Arc<Semaphore>,
    idle: Mutex<Idle>,
    this: Weak<TargetPool>,
}

#[derive(Default)]
struct Idle {
    /// Idle connections, the most recently used last.
    connections: Vec<(PostgresConnection, Instant)>,
    is_swept: bool,
}

impl Pools {
    /// Creates pools whose connections go to hosts that the network policy allows.
    pub(crate) fn new(egress: Egress) -> Self {
        Self { egress, by_target: Mutex::new(LruCache::new(POOLS_MAX)) }
    }

    /// Returns a connection for one call, with the call's settings applied.
    pub(crate) async fn session(
        &self,
        target: &PostgresTarget,
        limits: PoolLimits,
        settings: &SessionSettings,
    ) -> Result<PostgresSession, ToolError> {
        let pool = self.pool(target, limits.connections);
        let permit = tokio::time::timeout(limits.wait, pool.permits.clone().acquire_owned()).await;
        let Ok(permit) = permit else {
            let message = format!(
                "all {} connections to {} were in use for {:?}: raise `pool.max_size`, or run fewer at a time",
                limits.connections,
                target.name(),
                limits.wait
            );
            return Err(ToolError::new(ErrorKind::DbConnection, message));
        };
        let permit = permit.expect("the semaphore of a pool is never closed");
        // An idle connection may have been lost; the next one is tried, since nothing of the call
        // has run.
        while let Some(connection) = pool.take() {
            if connection.prepare_for(settings).await.is_ok() {
                return Ok(PostgresSession::new(connection, pool, permit));
            }
        }
        let connection = PostgresConnection::open(target, &self.egress).await?;
        connection.prepare_for(settings).await?;
        Ok(PostgresSession::new(connection, pool, permit))
    }

    fn pool(&self, target: &PostgresTarget, connections: usize) -> Arc<TargetPool> {
        let mut pools = self.by_target.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (target.clone(), connections);
        pools.get_or_insert(key, || TargetPool::new(connections)).clone()
    }
}

impl TargetPool {
    fn new(connections: usize) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            permits: Arc::new(Semaphore::new(connections)),
            idle: Mutex::default(),
            this: this.clone(),
        })
    }

    /// Puts a reset connection back into the pool.
    pub(crate) fn keep(&self, connection: PostgresConnection) {
        let mut idle = self.lock();
        idle.connections.push((connection, Instant::now()));
        if !std::mem::replace(&mut idle.is_swept, true) {
            tokio::spawn(sweep(self.this.clone()));
        }
    }

    fn take(&self) -> Option<PostgresConnection> {
        let mut idle = self.lock();
        while let Some((connection, _)) = idle.connections.pop() {
            if !connection.is_closed() {
                return Some(connection);
            }
        }
        None
    }

    /// Closes connections that have been idle too long. Returns true if idle connections remain.
    fn close_idle(&self, now: Instant) -> bool {
        let mut idle = self.lock();
        idle.connections.retain(|(connection, since)| {
            !connection.is_closed() && now.duration_since(*since) < IDLE_MAX
        });
        idle.is_swept = !idle.connections.is_empty();
        idle.is_swept
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes idle connections periodically until none is left.
async fn sweep(pool: Weak<TargetPool>) {
    loop {
        tokio::time::sleep(IDLE_MAX / 2).await;
        match pool.upgrade() {
            Some(pool) if pool.close_idle(Instant::now()) => {}
            Some(_) | None => return,
        }
    }
}
