//! The tool `subscription`: polls a JetStream consumer once, or settles messages polled before. The
//! consumer must exist.

mod operation;

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::{self, Message};
use async_nats::{Client, Request};
use async_trait::async_trait;
use futures::StreamExt as _;
use noetl_model::{ErrorKind, Logs, ToolError};
use serde_json::{Value, json};

use crate::kinds::nats::connection::{NatsConnections, NatsEndpoint};
use crate::kinds::nats::messages::shown;
use crate::kinds::nats::missing;
use crate::protect::credentials::CredentialResolver;
use crate::run::call::{Call, Tool, ToolResult};
use crate::run::keys::ToolConfig;
use crate::run::memory::CallMemory;
use operation::{Acknowledge, Poll, Settlement, SubscriptionOperation};

/// The time within which the broker confirms the acknowledgement of one message.
const CONFIRM_WAIT: Duration = Duration::from_secs(2);

pub(crate) struct SubscriptionTool {
    connections: Arc<NatsConnections>,
    credentials: Arc<dyn CredentialResolver>,
}

impl SubscriptionTool {
    pub(crate) fn new(
        connections: Arc<NatsConnections>,
        credentials: Arc<dyn CredentialResolver>,
    ) -> Self {
        Self { connections, credentials }
    }

    async fn work(&self, call: &Call) -> Result<ToolResult, ToolError> {
        let keys = ToolConfig::new("subscription", &call.config);
        let operation = SubscriptionOperation::read(keys)?;
        let place = NatsEndpoint::read(call, keys, self.credentials.as_ref()).await?;
        let client = self.connections.get(place).await?;
        let output = match operation {
            SubscriptionOperation::Poll(poll) => take(&client, &poll, &call.memory).await,
            SubscriptionOperation::Settle { settlement, ack_ids } => {
                settle(&client, settlement, &ack_ids).await
            }
        }?;
        Ok(ToolResult::completed(output))
    }
}

#[async_trait]
impl Tool for SubscriptionTool {
    async fn run(&self, call: &Call) -> ToolResult {
        tokio::select! {
            result = self.work(call) => result.into(),
            () = call.cancel.cancelled() => ToolResult::stopped(Logs::default()),
        }
    }
}

/// Fetches messages until the batch is full or the time has passed. They are acknowledged only when
/// all have been received.
async fn take(client: &Client, poll: &Poll, memory: &CallMemory) -> Result<Value, ToolError> {
    let context = jetstream::new(client.clone());
    let stream = context
        .get_stream(&poll.stream)
        .await
        .map_err(|_| missing("stream", &poll.stream, "make it with `nats stream add`"))?;
    let consumer: PullConsumer = stream.get_consumer(&poll.consumer).await.map_err(|_| {
        missing("pull consumer", &poll.consumer, "make it with `nats consumer add`")
    })?;
    let fetched = consumer.batch().max_messages(poll.batch).expires(poll.wait).messages().await;
    let mut fetched = fetched.map_err(|error| broken(&error))?;
    let mut taken = Vec::new();
    while let Some(message) = fetched.next().await {
        taken.push(message.map_err(|error| broken(&error))?);
    }
    let mut messages = Vec::with_capacity(taken.len());
    for message in &taken {
        messages.push(told(message, memory).await?);
    }
    let acked = match poll.acknowledge {
        Acknowledge::Here => {
            for message in &taken {
                message.double_ack().await.map_err(|error| broken(&error))?;
            }
            taken.len()
        }
        Acknowledge::Later => 0,
    };
    let ack_ids: Vec<&Value> = match poll.acknowledge {
        Acknowledge::Here => Vec::new(),
        Acknowledge::Later => messages.iter().map(|message| &message["ack_id"]).collect(),
    };
    let pending =
        messages.last().map_or(json!(0), |message| message["metadata"]["pending"].clone());
    let mut output = json!({
        "status": "success", "source": "nats", "operation": "poll", "count": messages.len(),
        "acked": acked == taken.len(), "ack_mode": poll.acknowledge.as_str(), "ack_ids": ack_ids,
        "metrics": { "received": taken.len(), "acked": acked, "pending": pending },
        "messages": null,
    });
    output["messages"] = Value::Array(messages);
    Ok(output)
}

async fn told(message: &Message, memory: &CallMemory) -> Result<Value, ToolError> {
    let place = message.info().map_err(|error| {
        let message = format!("subscription: a message without its place: {error}");
        ToolError::new(ErrorKind::Parse, message)
    })?;
    let headers = message.headers.as_ref().map(shown).unwrap_or_default();
    let mut told = json!({
        "id": format!("{}:{}", place.stream, place.stream_sequence),
        "data": null,
        "headers": headers,
        "attributes": headers,
        "metadata": {
            "subject": message.subject.as_str(),
            "stream": place.stream,
            "consumer": place.consumer,
            "stream_seq": place.stream_sequence,
            "consumer_seq": place.consumer_sequence,
            "delivered": place.delivered,
            "pending": place.pending,
        },
        "ack_id": message.reply.as_ref().map(|reply| reply.as_str()),
    });
    told["data"] = memory.json_or_text(&message.payload).await?;
    Ok(told)
}

/// Settles messages that were fetched before, one by one.
async fn settle(
    client: &Client,
    settlement: Settlement,
    ack_ids: &[String],
) -> Result<Value, ToolError> {
    let mut errors = Vec::new();
    for ack_id in ack_ids {
        let request = Request::new().payload(settlement.word().into()).timeout(Some(CONFIRM_WAIT));
        if let Err(error) = client.send_request(ack_id.clone(), request).await {
            errors.push(json!({ "ack_id": ack_id, "error": error.to_string() }));
        }
    }
    let status = if errors.is_empty() { "success" } else { "partial" };
    Ok(json!({
        "status": status, "source": "nats", "operation": settlement.as_str(),
        "requested": ack_ids.len(), "disposed": ack_ids.len() - errors.len(), "errors": errors,
    }))
}

fn broken(error: &dyn std::fmt::Display) -> ToolError {
    ToolError::new(ErrorKind::Connection, format!("subscription: the source failed: {error}"))
}

#[cfg(test)]
mod tests;
