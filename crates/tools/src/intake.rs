//! Message sources of subscriptions: the trait and the built-in sources.
//!
//! Invariant: a fetched message is delivered again unless it is settled, so a message is not lost
//! if its consumer fails.

mod nats;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{Arrival, Attempt, CommandId, ErrorKind, ExecutionId, StepName, ToolError};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::kinds::nats::connection::NatsConnections;
use crate::protect::credentials::{CredentialResolver, UsedCredentials};
use crate::protect::outgoing::Egress;
use crate::run::call::Call;
use crate::run::live::LiveLog;
use crate::run::memory::MemoryBudget;

/// A source from which messages are fetched.
#[async_trait]
pub trait PullSource: Send + Sync {
    /// Fetches at most `max` messages, in order. Waits for the first message only.
    async fn fetch(&self, max: usize, wait: Duration) -> Result<Vec<FetchedMessage>, ToolError>;

    /// Acknowledges a message that was processed.
    async fn ack(&self, receipt: &Receipt) -> Result<(), ToolError>;

    /// Returns a message for redelivery after at least this delay.
    async fn nak(&self, receipt: &Receipt, delay: Duration) -> Result<(), ToolError>;

    /// Settles a message that was stored as a dead letter; it is not delivered again.
    async fn terminate(&self, receipt: &Receipt) -> Result<(), ToolError>;

    /// Extends the acknowledgement deadline of a message that is still being processed.
    async fn in_progress(&self, receipt: &Receipt) -> Result<(), ToolError>;

    /// The time after which an unacknowledged message is delivered again.
    fn ack_wait(&self) -> Duration;
}

/// A fetched message, not yet settled.
#[derive(Debug, Clone)]
pub struct FetchedMessage {
    pub arrival: Arrival,
    pub receipt: Receipt,
}

/// The source's identifier of one delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt(String);

impl Receipt {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Opens message sources.
#[async_trait]
pub trait PullSources: Send + Sync {
    /// Opens the source of a subscription, by its kind and the settings of its document.
    /// `broker_url` is the control plane's broker, used if the document names none.
    async fn open(
        &self,
        subscription: ExecutionId,
        kind: &str,
        settings: &Map<String, Value>,
        broker_url: Option<&str>,
    ) -> Result<Arc<dyn PullSource>, ToolError>;
}

/// The keys by which a document names its broker.
const BROKER_KEYS: &[&str] = &["url", "nats_url", "server", "servers", "auth", "credential"];

/// The built-in sources.
pub struct StandardSources {
    /// Connections to brokers that documents name.
    connections: NatsConnections,
    /// Connections to the broker of this process, which its owner has named.
    own: NatsConnections,
    credentials: Arc<dyn CredentialResolver>,
    /// The NATS server for subscriptions that name none; takes precedence over the control plane's.
    nats_url: Option<String>,
}

impl StandardSources {
    pub fn new(
        credentials: Arc<dyn CredentialResolver>,
        nats_url: Option<String>,
        egress: Egress,
    ) -> Self {
        let own = NatsConnections::new(Egress::Any);
        Self { connections: NatsConnections::new(egress), own, credentials, nats_url }
    }
}

#[async_trait]
impl PullSources for StandardSources {
    async fn open(
        &self,
        subscription: ExecutionId,
        kind: &str,
        settings: &Map<String, Value>,
        broker_url: Option<&str>,
    ) -> Result<Arc<dyn PullSource>, ToolError> {
        match kind {
            "nats" => {
                let mut config = settings.clone();
                let names_broker = BROKER_KEYS.iter().any(|key| config.contains_key(*key));
                let connections = if names_broker { &self.connections } else { &self.own };
                if let Some(url) = self.nats_url.as_deref().or(broker_url)
                    && !names_broker
                {
                    config.insert("url".to_owned(), Value::String(url.to_owned()));
                }
                let call = call_of(subscription, config);
                let source = nats::open(connections, &*self.credentials, &call).await?;
                Ok(Arc::new(source))
            }
            other => {
                let message = format!("subscription: nothing here fetches from `{other}`");
                Err(ToolError::new(ErrorKind::Config, message))
            }
        }
    }
}

/// Builds the call for which the credentials of a subscription are resolved.
fn call_of(subscription: ExecutionId, config: Map<String, Value>) -> Call {
    Call {
        files: Default::default(),
        config,
        input: Map::new(),
        variables: BTreeMap::new(),
        execution: subscription,
        // No command: messages are fetched for the subscription itself.
        command: CommandId(0),
        step: StepName::new("subscription"),
        label: "subscription".to_owned(),
        attempt: Attempt(1),
        idempotency_key: String::new(),
        key_attempt: 1,
        timeout: Duration::MAX,
        cancel: CancellationToken::new(),
        used: UsedCredentials::default(),
        memory: MemoryBudget::default().call(),
        live: LiveLog::default(),
    }
}

#[cfg(test)]
mod tests;
