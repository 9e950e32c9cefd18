//! Messages that senders post: verification of the sender, the subscription, and the execution to
//! start.
//!
//! Invariants: the signature is checked before the message is parsed; the bodies read at the same
//! time have a limit in bytes; a subscription that takes no messages starts nothing.

mod bodies;
mod message;
mod secrets;
mod verify;

use std::sync::Arc;

use async_trait::async_trait;
use noetl_app::SecretLookup;

pub(crate) use bodies::MESSAGE_MAX;
use bodies::MessageBodies;
pub(crate) use message::{other_type, posted_request};
use secrets::SenderSecrets;
pub(crate) use verify::{HeadProof, Unknown, verify_head};

use crate::observe::warnings::Warnings;

/// Source of the secrets that subscriptions refer to.
#[async_trait]
pub trait SecretSource: Send + Sync {
    /// Returns the secret with a name; the error is the reason for the operator.
    async fn secret(&self, name: &str) -> Result<String, String>;
}

#[async_trait]
impl SecretSource for SecretLookup {
    async fn secret(&self, name: &str) -> Result<String, String> {
        self.sender_secret(name).await.map_err(|error| error.to_string())
    }
}

/// State for receiving posted messages.
pub(crate) struct Ingress {
    pub(crate) secrets: SenderSecrets,
    pub(crate) bodies: MessageBodies,
    /// Warnings about refused messages, by path.
    pub(crate) refusals: Warnings<String>,
}

impl Ingress {
    /// Creates the state; `bytes_max` limits the bytes of message bodies held at the same time.
    pub(crate) fn new(secrets: Arc<dyn SecretSource>, bytes_max: usize) -> Self {
        Self {
            secrets: SenderSecrets::new(secrets),
            bodies: MessageBodies::new(bytes_max),
            refusals: Warnings::new(),
        }
    }
}
