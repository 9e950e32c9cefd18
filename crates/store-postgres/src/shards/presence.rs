//! Whether a shard is there, so that those that are do not wait for one that is not.
//!
//! A question that fails or takes long has somebody look: with a connection of its own, since a pool
//! that finds nobody keeps trying for as long as it may. While the shard is away, every question is
//! answered at once.

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

/// After how long a question makes one wonder.
const SLOW: Duration = Duration::from_secs(1);
/// How often it is looked whether a shard is back.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long a shard that is there may take to let somebody in.
const LOOK_MAX: Duration = Duration::from_secs(3);

/// Whether one shard is there.
#[derive(Debug)]
pub(super) struct Presence {
    /// What people call it.
    name: String,
    options: Arc<PgConnectOptions>,
    is_away: watch::Sender<bool>,
    /// Whether somebody is looking.
    looking: AtomicBool,
}

impl Presence {
    pub(super) fn of(name: String, shard: &PgStore) -> Arc<Self> {
        Arc::new(Self {
            name,
            options: shard.pool.connect_options(),
            is_away: watch::Sender::new(false),
            looking: AtomicBool::new(false),
        })
    }

    /// The answer to a question, or at once that there is none while the shard is away. What was asked
    /// when it went may or may not have happened.
    pub(super) async fn ask<T>(
        self: &Arc<Self>,
        question: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut away = self.is_away.subscribe();
        let gone = away.wait_for(|is_away| *is_away);
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

    /// Has somebody look, until the shard is there.
    fn look(self: &Arc<Self>) {
        if self.looking.swap(true, Ordering::Relaxed) {
            return;
        }
        let presence = Arc::clone(self);
        tokio::spawn(async move {
            while !presence.is_there().await {
                presence.is_away.send_replace(true);
                sleep(LOOK_EVERY).await;
            }
            presence.is_away.send_replace(false);
            presence.looking.store(false, Ordering::Relaxed);
        });
    }

    async fn is_there(&self) -> bool {
        let look = async {
            let mut connection = PgConnection::connect_with(&self.options).await?;
            connection.ping().await?;
            connection.close().await
        };
        match timeout(LOOK_MAX, look).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => is_refusal(&error),
            Err(_) => false,
        }
    }
}

/// Whether a database that is there has answered that it takes no more connections, so that those which
/// it has taken go on.
fn is_refusal(error: &sqlx::Error) -> bool {
    /// PostgreSQL's code for the largest number of connections.
    const TOO_MANY_CONNECTIONS: &str = "53300";
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| code == TOO_MANY_CONNECTIONS)
}
