//! DuckDB in this process, by its library loaded at run time: a database that analyses, for whoever
//! has the library, without making everybody else carry it.
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
