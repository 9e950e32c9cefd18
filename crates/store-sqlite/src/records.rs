//! What is kept beside the log.

mod cleanup;
mod credentials;
mod failed_messages;
mod keychain;
mod objects;
mod projected;
mod runtimes;
mod turns;
mod variables;
