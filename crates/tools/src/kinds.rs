//! The tools, one module per kind.

pub(crate) mod artifact;
pub(crate) mod duckdb;
pub(crate) mod http;
pub(crate) mod nats;
pub(crate) mod noop;
pub(crate) mod postgres;
pub(crate) mod python;
pub(crate) mod rhai;
pub(crate) mod script;
pub(crate) mod secrets;
pub(crate) mod shell;
pub(crate) mod sqlite;
pub(crate) mod subscription;
pub(crate) mod transfer;
