//! Messages that their senders post: who the sender is, which subscription is meant, what it starts.
//!
//! Invariants: nothing of a message is read before its sender is known; a subscription that takes no
//! messages starts nothing.

mod listeners;
mod message;
mod secrets;
mod verify;

use std::sync::Arc;

use async_trait::async_trait;

pub(crate) use listeners::{Listener, Listeners};
pub(crate) use message::{other_type, wish};
use secrets::SenderSecrets;
pub(crate) use verify::{Proof, verify};

/// Where secrets come from that subscriptions name.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// The secret of a name, if there is one; otherwise why there is none, for the operator.
    async fn secret(&self, name: &str) -> Result<String, String>;
}

/// What the server keeps for senders.
pub(crate) struct Ingress {
    pub(crate) secrets: SenderSecrets,
    pub(crate) listeners: Listeners,
}

impl Ingress {
    pub(crate) fn new(secrets: Arc<dyn Secrets>) -> Self {
        Self { secrets: SenderSecrets::new(secrets), listeners: Listeners::default() }
    }
}
