//! Messages that senders post: verification of the sender, the subscription, and the execution to
//! start.
//!
//! Invariants: the signature is checked before the message is parsed; the bodies read at the same
//! time have a limit in bytes; a subscription that takes no messages starts nothing.

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

/// Source of the secrets that subscriptions refer to.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// Returns the secret with a name; the error is the reason for the operator.
    async fn secret(&self, name: &str) -> Result<String, String>;
}

/// State for receiving posted messages.
pub(crate) struct Ingress {
    pub(crate) secrets: SenderSecrets,
    pub(crate) listeners: Listeners,
    pub(crate) bodies: MessageBodies,
    /// Warnings about refused messages, by path.
    pub(crate) refusals: Warnings<String>,
}

impl Ingress {
    /// Creates the state; `bytes_max` limits the bytes of message bodies held at the same time.
    pub(crate) fn new(secrets: Arc<dyn Secrets>, bytes_max: usize) -> Self {
        Self {
            secrets: SenderSecrets::new(secrets),
            listeners: Listeners::default(),
            bodies: MessageBodies::new(bytes_max),
            refusals: Warnings::new(),
        }
    }
}
