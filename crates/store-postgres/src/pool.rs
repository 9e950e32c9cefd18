//! The connection pool of one database. A connection whose peer is silent, or whose network drops
//! packets, leaves the pool within seconds, before the operating system's own timeout.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use noetl_store::StoreError;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Executor as _, PgConnection, PgPool, Postgres};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::row::store_error;

/// The time within which a connection has to be ready for the next statement after its last one
/// ended or was abandoned.
const RETURN_MAX: Duration = Duration::from_secs(2);

/// A pool of connections. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionPool(PgPool);

impl ConnectionPool {
    pub(crate) fn new(pool: PgPool) -> Self {
        Self(pool)
    }

    pub(crate) async fn acquire(&self) -> Result<PooledConnection, sqlx::Error> {
        let lent = Some(self.0.acquire().await?);
        Ok(PooledConnection { lent, transaction: Open::No })
    }

    /// Returns a connection, with errors as [`StoreError`].
    pub(crate) async fn connection(&self) -> Result<PooledConnection, StoreError> {
        self.acquire().await.map_err(store_error)
    }

    /// Begins a transaction. Dropping it rolls it back.
    pub(crate) async fn begin(&self) -> Result<PooledTransaction, StoreError> {
        let mut connection = self.connection().await?;
        connection.transaction = Open::Yes;
        connection.execute("BEGIN").await.map_err(store_error)?;
        Ok(PooledTransaction(connection))
    }

    pub(crate) fn connect_options(&self) -> Arc<PgConnectOptions> {
        self.0.connect_options()
    }

    pub(crate) fn connections_min(&self) -> u32 {
        self.0.options().get_min_connections()
    }

    pub(crate) fn connections_max(&self) -> u32 {
        self.0.options().get_max_connections()
    }

    pub(crate) fn open(&self) -> u32 {
        self.0.size()
    }

    pub(crate) fn idle(&self) -> u32 {
        u32::try_from(self.0.num_idle()).unwrap_or(u32::MAX)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Closes all connections once they are idle.
    pub(crate) fn close(&self) -> impl Future<Output = ()> + '_ {
        self.0.close()
    }
}

/// Marks a connection with an open transaction, which has to be rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Yes,
    No,
}

/// A connection that returns to its pool when it is dropped, or is closed if it is not ready for
/// another statement within [`RETURN_MAX`].
#[derive(Debug)]
pub(crate) struct PooledConnection {
    /// `None` only during the drop.
    lent: Option<PoolConnection<Postgres>>,
    transaction: Open,
}

const LENT: &str = "a connection is there until it is dropped";

impl Deref for PooledConnection {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.lent.as_ref().expect(LENT)
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.lent.as_mut().expect(LENT)
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Some(mut lent) = self.lent.take() else { return };
        let Ok(runtime) = Handle::try_current() else {
            // Without a runtime nothing can be sent, so the socket is closed.
            drop(lent.detach());
            return;
        };
        let transaction = self.transaction;
        drop(runtime.spawn(async move {
            let returned = timeout(RETURN_MAX, async {
                if transaction == Open::Yes {
                    lent.execute("ROLLBACK").await?;
                }
                lent.return_to_pool().await;
                Ok::<(), sqlx::Error>(())
            });
            match returned.await {
                Ok(Ok(())) => {}
                // The return future may already own the connection, which is then closed with it.
                Ok(Err(_)) | Err(_) => lent.close_on_drop(),
            }
        }));
    }
}

/// A transaction, rolled back unless it is committed.
#[derive(Debug)]
pub(crate) struct PooledTransaction(PooledConnection);

impl PooledTransaction {
    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.0.execute("COMMIT").await?;
        self.0.transaction = Open::No;
        Ok(())
    }
}

impl Deref for PooledTransaction {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.0
    }
}

impl DerefMut for PooledTransaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.0
    }
}
