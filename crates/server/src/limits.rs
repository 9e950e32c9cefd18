//! How much one server takes on.

use std::time::Duration;

use crate::rate::Rate;

/// How much one server takes on, where an operator may want another figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many connections may be open; further ones wait to be accepted.
    pub connections_max: usize,
    /// How many of them may come from one address; further ones are closed at once.
    pub connections_per_address_max: usize,
    /// How many bytes of posted messages are held at the same time.
    pub message_bytes_max: usize,
    /// How long a client may take to send the head of a request, or leave a connection idle.
    pub head_wait: Duration,
    /// How long a client may take to send the body of a request.
    pub body_wait: Duration,
    /// How often one token, or one address without one, may ask; `None`: as often as it likes.
    pub requests: Option<Rate>,
    /// How often one address may come with a token that is not known, or with none.
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
