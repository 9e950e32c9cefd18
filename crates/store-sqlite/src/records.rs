//! Records outside the event log, on SQLite.

mod cleanup;
mod credentials;
mod failed_messages;
mod keychain;
mod objects;
mod projected;
mod runtimes;
mod turns;
mod variables;
