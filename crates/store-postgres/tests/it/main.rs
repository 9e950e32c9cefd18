//! Tests of the PostgreSQL store on a real server.

mod conformance;
mod database;
mod deletion;
mod differential;
mod feed;
mod functions;
mod machine;
mod partitions;
mod rivals;
mod server;
mod shards;
mod silence;
mod statements;
