//! The embedded store: one SQLite file, one process that writes.
//!
//! All writing goes through one connection and is flushed to the disk before it is answered; reading
//! goes through a few others and never waits for a writer. A lock file keeps a second control plane
//! off the same database, while any number of processes may read.
//!
//! Every statement is a file in `sql/`; what may be appended is decided in memory, by
//! [`Plan`](noetl_store::Plan), so that a batch costs the same few statements whatever its size. The
//! writer is alone, so what it reads at the beginning of a transaction holds to its end.

mod append;
mod bytes;
mod catalog;
mod encode;
mod executions;
mod feed;
mod integrity;
mod key;
mod layout;
mod open;
mod open_work;
mod outbox;
mod queue;
mod records;
mod row;
mod schedule;
mod script;
mod store;
mod subscription;
mod timers;

pub use open::OpenError;
pub use store::SqliteStore;
