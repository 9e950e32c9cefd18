//! An embedded DuckDB database. The DuckDB library is loaded at run time, so that installations
//! that do not use it need not ship it; the features `linked` and `bundled` link it into the
//! program.
//!
//! Every call blocks: asynchronous code calls this crate from a blocking thread. All `unsafe` code
//! of the project is in this crate, and each block states why it is sound.

mod api;
mod connection;
mod library;
mod time;
mod value;

pub use connection::{DuckdbConnection, DuckdbError, Interrupter, StatementSummary};
pub use library::{Library, LibraryMissing};
