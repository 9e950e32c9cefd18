//! Machine numbers, which make the ids of the servers of a cluster distinct: no two servers have
//! the same number at the same time.
//!
//! A number is claimed with an advisory lock on a dedicated connection. Because a server may lose
//! that connection, or the database all its locks, while the server keeps using its number, the
//! holder is also stored with the time it was last seen, and the lock alone does not grant a number
//! whose holder may come back. The holder checks its claim every second and takes its lock again;
//! if it is too late, it claims another number.

use std::time::Duration;

use noetl_store::StoreError;
use sqlx::{Connection as _, PgConnection, query, query_scalar};
use tokio::time::{Instant, sleep, timeout};

use crate::pool::ConnectionPool;
use crate::row::{micros, store_error};

/// The number of servers that ids can tell apart.
pub const MACHINES_MAX: u16 = 1024;

/// The key space of the locks on machine numbers: "noet" in ASCII.
const LOCK_SPACE: i32 = 0x6e6f_6574;

/// The interval of the holder's check.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The time after which a check without an answer counts as a lost connection.
const LOOK_MAX: Duration = Duration::from_secs(2);
/// The connect timeout of the dedicated session.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// The timeout for releasing a number.
const RELEASE_MAX: Duration = Duration::from_secs(2);
/// The time since it was last seen during which a holder may come back for its number: enough to
/// notice a lost connection and to open another.
const RETURN_MAX: Duration = Duration::from_secs(6);

/// A machine number that no other server of the cluster has. After a drop without release, the
/// number becomes free a few seconds later.
#[derive(Debug)]
pub struct MachineClaim {
    number: u16,
    /// The unique id of this claim across sessions.
    holder: String,
    pool: ConnectionPool,
    /// The session that holds the lock.
    session: PgConnection,
}

/// The reason a machine number could not be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("another server of this cluster has the machine number {number}")]
    Taken { number: u16 },
    #[error("all {MACHINES_MAX} machine numbers of this cluster are taken by other servers")]
    NoneFree,
    #[error("cannot claim a machine number")]
    Store(#[from] StoreError),
}

/// The result of an attempt to claim a number.
enum Attempt {
    Claimed,
    /// Another session holds the lock.
    Locked,
    /// The recorded holder may come back.
    Awaited,
}

impl MachineClaim {
    /// Returns the number, below [`MACHINES_MAX`].
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Claims the first free number from the preferred one on, wrapping around.
    pub(crate) async fn near(pool: &ConnectionPool, preferred: u16) -> Result<Self, ClaimError> {
        let mut session = session(pool).await?;
        let holder = draw_holder(&mut session).await?;
        let number = claim_near(&mut session, preferred, &holder).await?;
        Ok(Self { number, holder, pool: pool.clone(), session })
    }

    /// Claims exactly this number. If its last holder has not released it, waits until that holder
    /// cannot come back.
    pub(crate) async fn exactly(pool: &ConnectionPool, number: u16) -> Result<Self, ClaimError> {
        let mut session = session(pool).await?;
        let holder = draw_holder(&mut session).await?;
        let patience = Instant::now() + RETURN_MAX + POLL_INTERVAL;
        loop {
            match attempt(&mut session, number, &holder).await? {
                Attempt::Claimed => {
                    return Ok(Self { number, holder, pool: pool.clone(), session });
                }
                Attempt::Awaited if Instant::now() < patience => sleep(POLL_INTERVAL / 4).await,
                Attempt::Locked | Attempt::Awaited => return Err(ClaimError::Taken { number }),
            }
        }
    }

    /// Keeps the number while this future is polled, and claims it again whenever the database has
    /// lost it. If another server has taken it, calls `renumber` with the new number.
    pub async fn keep(&mut self, renumber: impl Fn(u16) + Send) {
        loop {
            sleep(POLL_INTERVAL).await;
            if matches!(timeout(LOOK_MAX, self.is_seen()).await, Ok(Ok(true))) {
                continue;
            }
            let before = self.number;
            match timeout(LOOK_MAX, self.regain()).await {
                Ok(Ok(())) if self.number == before => {}
                Ok(Ok(())) => renumber(self.number),
                // The database is unreachable, so no id can be stored; the next check tries again.
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }

    /// Releases the number, so that others can claim it at once.
    pub async fn release(mut self) -> Result<(), StoreError> {
        let released = timeout(RELEASE_MAX, async {
            query(include_str!("../sql/give_up_machine.sql"))
                .bind(i32::from(self.number))
                .bind(&self.holder)
                .execute(&mut self.session)
                .await
                .map_err(store_error)?;
            self.session.close().await.map_err(store_error)
        });
        released.await.unwrap_or(Err(StoreError::TimedOut { deadline: RELEASE_MAX }))
    }

    /// True if the session is alive and the number still belongs to this claim.
    async fn is_seen(&mut self) -> Result<bool, StoreError> {
        let seen = query(include_str!("../sql/see_machine.sql"))
            .bind(i32::from(self.number))
            .bind(&self.holder)
            .execute(&mut self.session)
            .await
            .map_err(store_error)?;
        Ok(seen.rows_affected() == 1)
    }

    /// Claims the number in a new session, or another number if it is taken.
    async fn regain(&mut self) -> Result<(), ClaimError> {
        let mut session = session(&self.pool).await?;
        match attempt(&mut session, self.number, &self.holder).await? {
            Attempt::Claimed => {}
            // The lock may belong to this claim's previous session, which the database still
            // considers alive.
            Attempt::Locked if self.is_known(&mut session).await? => return Ok(()),
            Attempt::Locked | Attempt::Awaited => {
                self.number = claim_near(&mut session, self.number, &self.holder).await?;
            }
        }
        self.session = session;
        Ok(())
    }

    /// True if the number is recorded as this claim's.
    async fn is_known(&self, session: &mut PgConnection) -> Result<bool, StoreError> {
        let holder: Option<String> = query_scalar(include_str!("../sql/find_machine.sql"))
            .bind(i32::from(self.number))
            .fetch_optional(session)
            .await
            .map_err(store_error)?;
        Ok(holder.is_some_and(|holder| holder == self.holder))
    }
}

async fn claim_near(
    session: &mut PgConnection,
    preferred: u16,
    holder: &str,
) -> Result<u16, ClaimError> {
    let first = preferred % MACHINES_MAX;
    for number in (first..MACHINES_MAX).chain(0..first) {
        match attempt(session, number, holder).await? {
            Attempt::Claimed => return Ok(number),
            Attempt::Locked | Attempt::Awaited => {}
        }
    }
    Err(ClaimError::NoneFree)
}

/// Opens a connection outside the pool, because the pool would close it or lend it to others.
async fn session(pool: &ConnectionPool) -> Result<PgConnection, StoreError> {
    let options = pool.connect_options();
    let connected = timeout(CONNECT_MAX, PgConnection::connect_with(&options)).await;
    let connected = connected.map_err(|_| StoreError::TimedOut { deadline: CONNECT_MAX })?;
    let mut session = connected.map_err(store_error)?;
    query(include_str!("../sql/set_long_idle.sql"))
        .execute(&mut session)
        .await
        .map_err(store_error)?;
    Ok(session)
}

async fn draw_holder(session: &mut PgConnection) -> Result<String, StoreError> {
    query_scalar(include_str!("../sql/draw_holder.sql"))
        .fetch_one(session)
        .await
        .map_err(store_error)
}

/// Tries to lock a number in this session and to record its holder.
async fn attempt(
    session: &mut PgConnection,
    number: u16,
    holder: &str,
) -> Result<Attempt, StoreError> {
    if !lock(session, include_str!("../sql/lock_machine.sql"), number).await? {
        return Ok(Attempt::Locked);
    }
    let claimed: Option<bool> = query_scalar(include_str!("../sql/claim_machine.sql"))
        .bind(i32::from(number))
        .bind(holder)
        .bind(micros(RETURN_MAX))
        .fetch_optional(&mut *session)
        .await
        .map_err(store_error)?;
    if claimed.is_some() {
        return Ok(Attempt::Claimed);
    }
    lock(session, include_str!("../sql/unlock_machine.sql"), number).await?;
    Ok(Attempt::Awaited)
}

/// Takes or releases the lock on a number. Returns false if that was not possible.
async fn lock(
    session: &mut PgConnection,
    statement: &'static str,
    number: u16,
) -> Result<bool, StoreError> {
    query_scalar(statement)
        .bind(LOCK_SPACE)
        .bind(i32::from(number))
        .fetch_one(session)
        .await
        .map_err(store_error)
}
