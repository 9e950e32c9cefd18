//! DuckDB in this process: a database that analyses. Its library is loaded at run time, so that who
//! does without need not carry it; the features `linked` and `bundled` make it part of the program.
//!
//! Everything here blocks; whoever must not wait calls it from a thread that may. Every `unsafe` of
//! the project is in this crate, and each says why it holds.

mod api;
mod connection;
mod library;
mod time;
mod value;

pub use connection::{Connection, Failure, Interrupter, Produced};
pub use library::{Library, LibraryMissing};
