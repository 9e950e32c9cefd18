//! The embedded store: one SQLite file, one process that writes.
//!
//! All writes go through one connection and are flushed to disk before they are acknowledged; reads
//! use a few other connections and never wait for a writer. A lock file keeps a second control
//! plane off the same database, while any number of processes may read.
//!
//! Every statement is a file in `sql/`; most are called by the functions of [`noetl_store::sql`].
//! Appends are checked in memory by [`Plan`](noetl_store::Plan), so that a batch of any size takes
//! the same few statements. There is only one writer, so the rows read at the start of a
//! transaction stay valid until its end.

mod append;
mod backup;
mod database;
mod encode;
mod integrity;
mod key;
mod layout;
mod open;
mod ports;
mod records;
mod restore;
mod row;
mod script;
mod store;

pub use backup::{DatabaseFile, SchemaAge};
pub use open::OpenError;
pub use restore::{ExistingDatabase, RestoreError, restore};
pub use store::SqliteStore;
