//! The numbers by which ids tell the servers of a cluster apart: no two servers have the same one at
//! the same time.
//!
//! A number is claimed with an advisory lock on a connection of its own. A server may lose that
//! connection, or the database all its locks, while the server lives on with its number. So each is
//! also written down with the time its holder was last heard of, and a lock alone gives nobody a number
//! whose holder may still come back for it. The holder looks every second and takes its lock again; if
//! it comes too late, it takes another number.

use std::time::Duration;

use noetl_store::StoreError;
use sqlx::{Connection as _, PgConnection, query, query_scalar};
use tokio::time::{Instant, sleep, timeout};

use crate::pool::ConnectionPool;
use crate::row::{micros, store_error};

/// How many servers ids can tell apart.
pub const MACHINES_MAX: u16 = 1024;

/// Sets the locks on machine numbers apart from the other locks of the database: "noet" in ASCII.
const LOCK_SPACE: i32 = 0x6e6f_6574;

/// How often a holder is heard of.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a look may take before the connection counts as lost.
const LOOK_MAX: Duration = Duration::from_secs(2);
/// How long a session of its own may take to begin.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long giving a number back may take.
const RELEASE_MAX: Duration = Duration::from_secs(2);
/// For how long after it was heard of, or could be heard, a holder may come back for its number: time
/// to notice that the connection is lost and to make another.
const RETURN_MAX: Duration = Duration::from_secs(6);

/// A machine number that no other server of the cluster has. Dropping it leaves the number free a few
/// seconds later.
#[derive(Debug)]
pub struct MachineClaim {
    number: u16,
    /// Tells this claim from those of others, in every session.
    holder: String,
    pool: ConnectionPool,
    /// Holds the lock.
    session: PgConnection,
}

/// Why a machine number could not be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("another server of this cluster has the machine number {number}")]
    Taken { number: u16 },
    #[error("all {MACHINES_MAX} machine numbers of this cluster are taken by other servers")]
    NoneFree,
    #[error("cannot claim a machine number")]
    Store(#[from] StoreError),
}

/// What came of an attempt to claim a number.
enum Attempt {
    Claimed,
    /// Another session holds its lock.
    Locked,
    /// Its holder may come back for it.
    Awaited,
}

impl MachineClaim {
    /// The number, below [`MACHINES_MAX`].
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Claims the first number that is free, from the preferred one on and around.
    pub(crate) async fn near(pool: &ConnectionPool, preferred: u16) -> Result<Self, ClaimError> {
        let mut session = session(pool).await?;
        let holder = draw_holder(&mut session).await?;
        let number = claim_near(&mut session, preferred, &holder).await?;
        Ok(Self { number, holder, pool: pool.clone(), session })
    }

    /// Claims this number and no other. If its last holder has not said that it is done, this takes
    /// until that one cannot come back.
    pub(crate) async fn exactly(pool: &ConnectionPool, number: u16) -> Result<Self, ClaimError> {
        let mut session = session(pool).await?;
        let holder = draw_holder(&mut session).await?;
        let patience = Instant::now() + RETURN_MAX + LOOK_EVERY;
        loop {
            match attempt(&mut session, number, &holder).await? {
                Attempt::Claimed => {
                    return Ok(Self { number, holder, pool: pool.clone(), session });
                }
                Attempt::Awaited if Instant::now() < patience => sleep(LOOK_EVERY / 4).await,
                Attempt::Locked | Attempt::Awaited => return Err(ClaimError::Taken { number }),
            }
        }
    }

    /// Keeps the number, for as long as this is polled: takes it again whenever the database has lost
    /// it. If another server has got it meanwhile, `renumber` is told the next that is free.
    pub async fn keep(&mut self, renumber: impl Fn(u16) + Send) {
        loop {
            sleep(LOOK_EVERY).await;
            if matches!(timeout(LOOK_MAX, self.is_seen()).await, Ok(Ok(true))) {
                continue;
            }
            let before = self.number;
            match timeout(LOOK_MAX, self.regain()).await {
                Ok(Ok(())) if self.number == before => {}
                Ok(Ok(())) => renumber(self.number),
                // The database is out of reach, so no id gets into it; the next look tries again.
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }

    /// Gives the number back, to be claimed by others at once.
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

    /// Whether the session lives and the number is still this claim's.
    async fn is_seen(&mut self) -> Result<bool, StoreError> {
        let seen = query(include_str!("../sql/see_machine.sql"))
            .bind(i32::from(self.number))
            .bind(&self.holder)
            .execute(&mut self.session)
            .await
            .map_err(store_error)?;
        Ok(seen.rows_affected() == 1)
    }

    /// Claims the number in a new session, or another if it is another's.
    async fn regain(&mut self) -> Result<(), ClaimError> {
        let mut session = session(&self.pool).await?;
        match attempt(&mut session, self.number, &self.holder).await? {
            Attempt::Claimed => {}
            // The lock may be that of our own last session, which the database takes to live.
            Attempt::Locked if self.is_known(&mut session).await? => return Ok(()),
            Attempt::Locked | Attempt::Awaited => {
                self.number = claim_near(&mut session, self.number, &self.holder).await?;
            }
        }
        self.session = session;
        Ok(())
    }

    /// Whether the number is written down as this claim's.
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

/// A connection outside the pool, which would close it or lend it to others.
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

/// Tries to make a number this session's and this holder's.
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

/// Takes or lets go of the lock on a number; whether that was possible.
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
