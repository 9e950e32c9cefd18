//! Resource limits of one server.

use std::time::Duration;

use crate::listen::rate::Rate;

/// Resource limits of one server that an operator can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of open connections; further ones wait to be accepted.
    pub connections_max: usize,
    /// Maximum number of open connections per address; further ones are closed at once.
    pub connections_per_address_max: usize,
    /// Maximum bytes of posted messages held at the same time.
    pub message_bytes_max: usize,
    /// Maximum time for a client to send the head of a request, or to leave a connection idle.
    pub head_wait: Duration,
    /// Maximum time for a client to send the body of a request.
    pub body_wait: Duration,
    /// Rate of requests per token, or per address without a token; `None` for no limit.
    pub requests: Option<Rate>,
    /// Rate of requests per address with an unknown token or none.
    pub refusals: Rate,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 10_000,
            connections_per_address_max: 1000,
            message_bytes_max: 64 * 1024 * 1024,
            head_wait: Duration::from_secs(30),
            body_wait: Duration::from_secs(120),
            requests: None,
            refusals: Rate { burst: 20, every: Duration::from_secs(6) },
        }
    }
}
