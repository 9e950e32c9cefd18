//! Construction of a server or worker from its settings: database, bus, keys, network, tools, logging.

pub(crate) mod database;
pub(crate) mod embedded;
pub(crate) mod intake;
pub(crate) mod isolation;
pub(crate) mod keys;
pub(crate) mod local_token;
pub(crate) mod logging;
pub(crate) mod network;
pub(crate) mod notices;
pub(crate) mod server_parts;
pub(crate) mod statements;
pub(crate) mod tools;
