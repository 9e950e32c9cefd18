//! Sources of messages: one small port, and what stands behind it.
//!
//! Invariant: a message that was fetched comes again unless its source is told what became of it, so
//! nothing is lost with whoever fetched it.

mod nats;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{Arrival, Attempt, ErrorKind, ExecutionId, StepName, ToolError};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::call::Call;
use crate::credentials::{Credentials, UsedCredentials};
use crate::memory::MemoryBudget;
use crate::nats::connection::Connections;

/// What messages are fetched from.
#[async_trait]
pub trait Source: Send + Sync {
    /// Fetches messages in their order, at most so many; waits for the first, and for no other.
    async fn fetch(&self, max: usize, wait: Duration) -> Result<Vec<Fetched>, ToolError>;

    /// The message has been dealt with.
    async fn ack(&self, receipt: &Receipt) -> Result<(), ToolError>;

    /// The message should come again, not before this delay.
    async fn nak(&self, receipt: &Receipt, delay: Duration) -> Result<(), ToolError>;

    /// The message is kept elsewhere among the dead, and should not come again.
    async fn dead(&self, receipt: &Receipt) -> Result<(), ToolError>;

    /// The message is still being dealt with.
    async fn hold(&self, receipt: &Receipt) -> Result<(), ToolError>;

    /// After how long without a word a message comes again.
    fn patience(&self) -> Duration;
}

/// A message in hand.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub arrival: Arrival,
    pub receipt: Receipt,
}

/// What a source knows a delivery by.
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

/// Opens sources.
#[async_trait]
pub trait Sources: Send + Sync {
    /// Opens the source of a subscription: its kind, and the keys of its document. `broker_url` is the
    /// broker of the control plane, for a document that names none.
    async fn open(
        &self,
        subscription: ExecutionId,
        kind: &str,
        settings: &Map<String, Value>,
        broker_url: Option<&str>,
    ) -> Result<Arc<dyn Source>, ToolError>;
}

/// The keys by which a document names its broker.
const BROKER_KEYS: &[&str] = &["url", "nats_url", "server", "servers", "auth", "credential"];

/// The sources that are built in.
pub struct StandardSources {
    connections: Connections,
    credentials: Arc<dyn Credentials>,
    /// Where NATS is, for subscriptions that do not say; wins over the control plane's.
    nats_url: Option<String>,
}

impl StandardSources {
    pub fn new(credentials: Arc<dyn Credentials>, nats_url: Option<String>) -> Self {
        Self { connections: Connections::default(), credentials, nats_url }
    }
}

#[async_trait]
impl Sources for StandardSources {
    async fn open(
        &self,
        subscription: ExecutionId,
        kind: &str,
        settings: &Map<String, Value>,
        broker_url: Option<&str>,
    ) -> Result<Arc<dyn Source>, ToolError> {
        match kind {
            "nats" => {
                let mut config = settings.clone();
                let names_broker = BROKER_KEYS.iter().any(|key| config.contains_key(*key));
                if let Some(url) = self.nats_url.as_deref().or(broker_url)
                    && !names_broker
                {
                    config.insert("url".to_owned(), Value::String(url.to_owned()));
                }
                let call = call_of(subscription, config);
                let source = nats::open(&self.connections, &*self.credentials, &call).await?;
                Ok(Arc::new(source))
            }
            other => {
                let message = format!("subscription: nothing here fetches from `{other}`");
                Err(ToolError::new(ErrorKind::Config, message))
            }
        }
    }
}

/// A subscription as those see it who give out credentials.
fn call_of(subscription: ExecutionId, config: Map<String, Value>) -> Call {
    Call {
        config,
        input: Map::new(),
        variables: BTreeMap::new(),
        execution: subscription,
        step: StepName::new("subscription"),
        label: "subscription".to_owned(),
        attempt: Attempt(1),
        idempotency_key: String::new(),
        key_attempt: 1,
        timeout: Duration::MAX,
        cancel: CancellationToken::new(),
        used: UsedCredentials::default(),
        memory: MemoryBudget::default().call(),
    }
}

#[cfg(test)]
mod tests;
