//! The bus on NATS: notifications in a JetStream stream, hints on plain subjects.
//!
//! Workers of the public protocol pull notifications from the stream; servers exchange hints, which
//! are not stored. The connection is made in the background and retried for ever, so a bus works
//! without a NATS server.
//!
//! Invariants: a notification is sent only once the stream is known to accept it; no call waits
//! longer for NATS than `ACK_TIMEOUT`.

mod bus;
mod hints;
mod link;
mod settings;
mod stream;

pub use bus::{ConnectError, NatsBus};
pub use settings::{AddressError, NatsSettings};
