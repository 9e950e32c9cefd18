//! Messages that their senders post: who the sender is, which subscription is meant, what it starts.
//!
//! Invariants: nothing of a message is parsed before its sender is known; the bodies that are read at
//! the same time have a limit in bytes; a subscription that takes no messages starts nothing.

mod bodies;
mod listeners;
mod message;
mod secrets;
mod verify;

use std::sync::Arc;

use async_trait::async_trait;

pub(crate) use bodies::MESSAGE_MAX;
use bodies::MessageBodies;
pub(crate) use listeners::{Listener, Listeners};
pub(crate) use message::{other_type, wish};
use secrets::SenderSecrets;
pub(crate) use verify::{HeadProof, Proof, Unknown, verify_head};

use crate::warnings::Warnings;

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
    pub(crate) bodies: MessageBodies,
    /// The warnings about refused messages, by path.
    pub(crate) refusals: Warnings<String>,
}

impl Ingress {
    /// `bytes_max`: how many bytes of messages are held at the same time.
    pub(crate) fn new(secrets: Arc<dyn Secrets>, bytes_max: usize) -> Self {
        Self {
            secrets: SenderSecrets::new(secrets),
            listeners: Listeners::default(),
            bodies: MessageBodies::new(bytes_max),
            refusals: Warnings::new(),
        }
    }
}
