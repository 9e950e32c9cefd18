//! The listener: accepting connections, TLS, limits on connections and clients, shutdown.

pub(crate) mod connections;
pub(crate) mod limits;
pub(crate) mod rate;
pub(crate) mod serve;
pub(crate) mod tls;
