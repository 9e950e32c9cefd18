//! Records outside the event log, on PostgreSQL.

mod cleanup;
mod credentials;
mod failed_messages;
mod keychain;
mod objects;
mod projected;
mod runtimes;
mod turns;
mod variables;
