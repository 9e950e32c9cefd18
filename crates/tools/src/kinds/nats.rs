//! The tool `nats`: messages, key-value buckets and object stores of a NATS server. Buckets,
//! streams and consumers must exist.

pub(crate) mod connection;
pub(crate) mod keys;
pub(crate) mod messages;
mod objects;
mod operation;

use std::sync::Arc;

use async_trait::async_trait;
use noetl_model::{ErrorKind, Logs, ToolError};

use crate::protect::credentials::CredentialResolver;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::ToolConfig;
use connection::NatsConnections;
use operation::{NatsOperation, NatsWork};

pub(crate) struct Nats {
    credentials: Arc<dyn CredentialResolver>,
    connections: Arc<NatsConnections>,
}

impl Nats {
    pub(crate) fn new(
        connections: Arc<NatsConnections>,
        credentials: Arc<dyn CredentialResolver>,
    ) -> Self {
        Self { credentials, connections }
    }

    async fn operate(&self, call: &Call) -> Result<ToolResult, ToolError> {
        let keys = ToolConfig::new("nats", &call.config);
        let operation = NatsOperation::read(keys)?;
        let place = connection::NatsEndpoint::read(call, keys, self.credentials.as_ref()).await?;
        let client = self.connections.get(place).await?;
        let mut logs = Logs::default();
        if let Some(note) = operation.note() {
            logs.stderr = format!("{note}\n");
        }
        let stream = async_nats::jetstream::new(client.clone());
        let output = match operation.work {
            NatsWork::Keys { bucket, work } => {
                keys::work(&stream, &bucket, work, &call.memory).await
            }
            NatsWork::Objects { bucket, work } => objects::work(&stream, &bucket, work).await,
            NatsWork::Messages(work) => messages::work(&client, &stream, work, call).await,
        }?;
        Ok(ToolResult::completed(output).with_logs(logs))
    }
}

#[async_trait]
impl Tool for Nats {
    async fn run(&self, call: &Call) -> ToolResult {
        tokio::select! {
            result = self.operate(call) => result.into(),
            () = call.cancel.cancelled() => ToolResult::stopped(Logs::default()),
        }
    }
}

/// Returns the error of an operation that NATS rejected or did not answer.
pub(crate) fn failed(kind: ErrorKind, doing: &str, error: &impl std::error::Error) -> ToolError {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    ToolError::new(kind, format!("nats: {doing}: {error}{cause}"))
}

/// Returns the error for a stream, consumer, bucket or other item that does not exist; `way_out` is
/// advice for the user.
pub(crate) fn missing(what: &str, name: &str, way_out: &str) -> ToolError {
    ToolError::new(ErrorKind::NotFound, format!("nats: there is no {what} `{name}`; {way_out}"))
}

#[cfg(test)]
mod tests;
