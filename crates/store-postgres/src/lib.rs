//! The PostgreSQL store, with one shard or many, for any number of servers.
//!
//! All tables are in the schema `noetl`. A batch of appends is one transaction: its executions are
//! locked in the order of their ids, every rule is checked in memory by
//! [`Plan`](noetl_store::Plan), and one statement writes all tables; rows that cannot be locked
//! because they do not exist yet are protected by unique keys. Leases are compared with the
//! database's clock, never with a server's.
//!
//! Every statement is a file in `sql/`; most are called by the functions of [`noetl_store::sql`].
//! [`PgStore`] is one database; [`Shards`] is several of them, and each execution is stored in
//! exactly one.

mod append;
mod clock;
mod database;
mod encode;
mod feed;
mod functions;
mod instant;
mod key;
mod layout;
mod machine;
mod open;
mod partitions;
mod pool;
mod ports;
mod records;
mod row;
mod settings;
mod shards;
mod store;
mod timers;
mod writers;

pub use clock::{DatabaseTime, read_clocks};
pub use machine::{ClaimError, MACHINES_MAX, MachineClaim};
pub use open::OpenError;
pub use settings::{ClusterSettings, DsnProblem, PgSettings, PoolSettings, SettingsError};
pub use shards::Shards;
pub use store::{PgStore, TimeSource};
