//! The bus on NATS: notifications in a JetStream stream, hints on plain subjects.
//!
//! Workers of the public protocol pull notifications from the stream; servers tell each other hints,
//! which nobody keeps. The connection is made in the background and made again for ever, so a bus
//! exists whether NATS does or not.
//!
//! Invariants: a notification is sent only once the stream is known to take it; nothing here waits
//! longer for NATS than `ACK_TIMEOUT`.

mod bus;
mod hints;
mod link;
mod settings;
mod stream;

pub use bus::{ConnectError, NatsBus};
pub use settings::{AddressError, NatsSettings};
