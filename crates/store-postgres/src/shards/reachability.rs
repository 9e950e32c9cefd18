//! Detection of unreachable shards, so that calls to them fail at once.
//!
//! A call that fails or is slow starts a check, with a separate connection, because a pool retries
//! until its timeout. While the shard is unreachable, every call fails at once.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use noetl_store::StoreError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::PgStore;

/// The duration after which a call starts a check.
const SLOW: Duration = Duration::from_secs(1);
/// The interval between checks of an unreachable shard.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// The connect timeout of a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);

/// The reachability of one shard.
#[derive(Debug)]
pub(super) struct ShardReachability {
    /// The name of the shard in messages.
    name: String,
    options: Arc<PgConnectOptions>,
    unreachable: watch::Sender<bool>,
    /// True while a check is running.
    checking: AtomicBool,
}

impl ShardReachability {
    pub(super) fn of(name: String, shard: &PgStore) -> Arc<Self> {
        Arc::new(Self {
            name,
            options: shard.pool.connect_options(),
            unreachable: watch::Sender::new(false),
            checking: AtomicBool::new(false),
        })
    }

    /// Returns the answer of a call, or fails at once while the shard is unreachable. A call that
    /// was running when the shard went away has an unknown outcome.
    pub(super) async fn ask<T>(
        self: &Arc<Self>,
        question: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut away = self.unreachable.subscribe();
        let gone = away.wait_for(|unreachable| *unreachable);
        let wonder = async {
            sleep(SLOW).await;
            self.look();
            std::future::pending::<Infallible>().await
        };
        let answer = tokio::select! {
            biased;
            _ = gone => {
                return Err(StoreError::OutOfReach { part: self.name.clone() });
            }
            answer = question => answer,
            never = wonder => match never {},
        };
        match &answer {
            Err(StoreError::Unavailable(_) | StoreError::TimedOut { .. }) => self.look(),
            Err(
                StoreError::OutOfReach { .. }
                | StoreError::Unwritable { .. }
                | StoreError::Corrupt { .. },
            )
            | Ok(_) => {}
        }
        answer.map_err(|error| error.of_part(&self.name))
    }

    /// Starts a check, which is repeated until the shard is reachable.
    fn look(self: &Arc<Self>) {
        if self.checking.swap(true, Ordering::Relaxed) {
            return;
        }
        let reachability = Arc::clone(self);
        tokio::spawn(async move {
            while !reachability.is_reachable().await {
                reachability.unreachable.send_replace(true);
                sleep(POLL_INTERVAL).await;
            }
            reachability.unreachable.send_replace(false);
            reachability.checking.store(false, Ordering::Relaxed);
        });
    }

    async fn is_reachable(&self) -> bool {
        let look = async {
            let mut connection = PgConnection::connect_with(&self.options).await?;
            connection.ping().await?;
            connection.close().await
        };
        match timeout(CHECK_TIMEOUT, look).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => is_refusal(&error),
            Err(_) => false,
        }
    }
}

/// True if a reachable database refused another connection because it has reached its maximum, so
/// that existing connections still work.
fn is_refusal(error: &sqlx::Error) -> bool {
    /// The PostgreSQL error code for too many connections.
    const TOO_MANY_CONNECTIONS: &str = "53300";
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| code == TOO_MANY_CONNECTIONS)
}
