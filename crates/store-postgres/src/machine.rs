//! The numbers by which ids tell the servers of a cluster apart: no two servers have the same one at
//! the same time while the database is up.
//!
//! A number is claimed with an advisory lock on a connection of its own, so it is free again when its
//! server ends, however that comes about. A database that restarts forgets all claims: a server that
//! goes on keeps its number, and one that starts later could be given the same.

use noetl_store::StoreError;
use sqlx::{Connection as _, PgConnection, PgPool, query, query_scalar};

use crate::row::store_error;

/// How many servers ids can tell apart.
pub const MACHINES_MAX: u16 = 1024;

/// Sets the locks on machine numbers apart from the other locks of the database: "noet" in ASCII.
const LOCK_SPACE: i32 = 0x6e6f_6574;

/// A machine number that no other server of the cluster has. Dropping it gives the number back.
#[derive(Debug)]
pub struct MachineClaim {
    number: u16,
    /// Holds the lock.
    _session: PgConnection,
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

impl MachineClaim {
    /// The number, below [`MACHINES_MAX`].
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Claims the first number that is free, from the preferred one on and around.
    pub(crate) async fn near(pool: &PgPool, preferred: u16) -> Result<Self, ClaimError> {
        let mut session = session(pool).await?;
        let first = preferred % MACHINES_MAX;
        for number in (first..MACHINES_MAX).chain(0..first) {
            if lock(&mut session, number).await? {
                return Ok(Self { number, _session: session });
            }
        }
        Err(ClaimError::NoneFree)
    }

    /// Claims this number and no other.
    pub(crate) async fn exactly(pool: &PgPool, number: u16) -> Result<Self, ClaimError> {
        let mut session = session(pool).await?;
        if lock(&mut session, number).await? {
            Ok(Self { number, _session: session })
        } else {
            Err(ClaimError::Taken { number })
        }
    }
}

/// A connection outside the pool, which would close it or lend it to others.
async fn session(pool: &PgPool) -> Result<PgConnection, StoreError> {
    let options = pool.connect_options();
    let mut session = PgConnection::connect_with(&options).await.map_err(store_error)?;
    query(include_str!("../sql/set_long_idle.sql"))
        .execute(&mut session)
        .await
        .map_err(store_error)?;
    Ok(session)
}

/// Whether the number is now this session's.
async fn lock(session: &mut PgConnection, number: u16) -> Result<bool, StoreError> {
    query_scalar(include_str!("../sql/lock_machine.sql"))
        .bind(LOCK_SPACE)
        .bind(i32::from(number))
        .fetch_one(session)
        .await
        .map_err(store_error)
}
