//! Operations on messages: publish, request, store in a stream, consume and read from a stream.

use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, RawMessageErrorKind, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, HeaderMap, HeaderName, HeaderValue, Request};
use futures::StreamExt as _;
use noetl_model::{ErrorKind, ToolError};
use serde_json::{Map, Value, json};

use super::operation::{MessageSelector, MessageWork, OutgoingMessage};
use super::{failed, missing};
use crate::run::call::Call;
use crate::run::memory::CallMemory;

/// The header by which a stream detects duplicate messages.
const MESSAGE_ID: &str = "Nats-Msg-Id";
/// The header with the number of the attempt among all with the same message id.
const ATTEMPT: &str = "Noetl-Attempt";

pub(super) async fn work(
    client: &Client,
    stream: &Context,
    work: MessageWork,
    call: &Call,
) -> Result<Value, ToolError> {
    match work {
        MessageWork::Publish(message) => publish(client, message).await,
        MessageWork::Request { message, wait } => {
            request(client, message, wait, &call.memory).await
        }
        MessageWork::Store(message) => store(stream, message, call).await,
        MessageWork::Consume { stream: name, consumer, batch, wait, ack } => {
            let found = open(stream, &name).await?;
            let pull = Pull { stream: &name, consumer: &consumer, batch, wait, ack };
            consume(&found, &pull, &call.memory).await
        }
        MessageWork::Read { stream: name, which } => {
            read(&open(stream, &name).await?, &name, which, &call.memory).await
        }
        MessageWork::Describe { stream: name } => {
            let mut found = open(stream, &name).await?;
            let info = found.info().await;
            let info = info
                .map_err(|error| failed(ErrorKind::Connection, "cannot ask the stream", &error))?;
            let state = &info.state;
            let state = json!({
                "messages": state.messages, "bytes": state.bytes,
                "first_seq": state.first_sequence, "last_seq": state.last_sequence,
                "consumer_count": state.consumer_count, "num_subjects": state.subjects_count,
            });
            Ok(json!({
                "status": "success", "stream": name, "config": info.config, "state": state,
            }))
        }
    }
}

async fn open(stream: &Context, name: &str) -> Result<Stream, ToolError> {
    stream
        .get_stream(name)
        .await
        .map_err(|_| missing("stream", name, "make it with `nats stream add`"))
}

async fn publish(client: &Client, message: OutgoingMessage) -> Result<Value, ToolError> {
    let OutgoingMessage { subject, data, headers } = message;
    let headers = header_map(headers)?;
    let lost = |error: &dyn std::error::Error| {
        ToolError::new(ErrorKind::Connection, format!("nats: cannot publish: {error}"))
    };
    client
        .publish_with_headers(subject.clone(), headers, data.into())
        .await
        .map_err(|error| lost(&error))?;
    client.flush().await.map_err(|error| lost(&error))?;
    Ok(json!({ "status": "success", "subject": subject }))
}

async fn request(
    client: &Client,
    message: OutgoingMessage,
    wait: Duration,
    memory: &CallMemory,
) -> Result<Value, ToolError> {
    let OutgoingMessage { subject, data, headers } = message;
    let request =
        Request::new().payload(data.into()).headers(header_map(headers)?).timeout(Some(wait));
    let answer = client.send_request(subject.clone(), request).await.map_err(|error| {
        let kind = match error.kind() {
            RequestErrorKind::TimedOut => ErrorKind::Timeout,
            RequestErrorKind::NoResponders => ErrorKind::NotFound,
            RequestErrorKind::InvalidSubject => ErrorKind::Config,
            _ => ErrorKind::Connection,
        };
        failed(kind, &format!("request to `{subject}`"), &error)
    })?;
    let headers = answer.headers.as_ref().map(shown).unwrap_or_default();
    let mut output =
        json!({ "status": "success", "subject": subject, "data": null, "headers": headers });
    output["data"] = memory.json_or_text(&answer.payload).await?;
    Ok(output)
}

/// Publishes a message to a stream. The message id makes a stream with deduplication store it once,
/// however often the command is attempted.
async fn store(
    stream: &Context,
    message: OutgoingMessage,
    call: &Call,
) -> Result<Value, ToolError> {
    let OutgoingMessage { subject, data, mut headers } = message;
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(MESSAGE_ID)) {
        headers.push((MESSAGE_ID.to_owned(), call.idempotency_key.clone()));
        headers.push((ATTEMPT.to_owned(), call.key_attempt.to_string()));
    }
    let refused = |error: &jetstream::context::PublishError| {
        let kind = match error.kind() {
            PublishErrorKind::StreamNotFound => ErrorKind::NotFound,
            PublishErrorKind::TimedOut => ErrorKind::Timeout,
            PublishErrorKind::MaxPayloadExceeded => ErrorKind::StorageQuota,
            _ => ErrorKind::Connection,
        };
        failed(kind, &format!("cannot publish to `{subject}`"), error)
    };
    let headers = header_map(headers)?;
    let sent = stream.publish_with_headers(subject.clone(), headers, data.into()).await;
    let ack = sent.map_err(|error| refused(&error))?.await.map_err(|error| refused(&error))?;
    Ok(json!({
        "status": "success", "stream": ack.stream, "seq": ack.sequence,
        "duplicate": ack.duplicate,
    }))
}

/// The messages to consume from a stream.
struct Pull<'a> {
    stream: &'a str,
    consumer: &'a str,
    batch: u64,
    wait: Duration,
    ack: bool,
}

/// Consumes messages. They are acknowledged only when all have been received, so that none is lost
/// if one is too large.
async fn consume(
    stream: &Stream,
    pull: &Pull<'_>,
    memory: &CallMemory,
) -> Result<Value, ToolError> {
    let &Pull { stream: name, consumer, batch, wait, ack } = pull;
    let broken = |error: &dyn std::fmt::Display| {
        ToolError::new(ErrorKind::Connection, format!("nats: cannot consume: {error}"))
    };
    let puller: PullConsumer = stream
        .get_consumer(consumer)
        .await
        .map_err(|_| missing("pull consumer", consumer, "make it with `nats consumer add`"))?;
    let max = usize::try_from(batch).expect("bounded by BATCH_MAX");
    let mut fetched = puller.batch().max_messages(max).expires(wait).messages().await;
    let fetched = fetched.as_mut().map_err(|error| broken(error))?;
    let mut messages = Vec::new();
    let mut taken = Vec::new();
    while let Some(message) = fetched.next().await {
        let message = message.map_err(|error| broken(&error))?;
        messages.push(told(&message, memory).await?);
        taken.push(message);
    }
    if ack {
        for message in &taken {
            message.ack().await.map_err(|error| broken(&error))?;
        }
    }
    let mut output = json!({
        "status": "success", "stream": name, "consumer": consumer, "count": messages.len(),
        "messages": null, "acked": ack,
    });
    output["messages"] = Value::Array(messages);
    Ok(output)
}

async fn told(message: &jetstream::Message, memory: &CallMemory) -> Result<Value, ToolError> {
    let info = message.info().map_err(|error| {
        ToolError::new(ErrorKind::Parse, format!("nats: a message without its place: {error}"))
    })?;
    let mut told = json!({
        "subject": message.subject.as_str(),
        "stream_seq": info.stream_sequence,
        "consumer_seq": info.consumer_sequence,
        "delivered": info.delivered,
        "pending": info.pending,
        "data": null,
        "headers": message.headers.as_ref().map(shown).unwrap_or_default(),
    });
    told["data"] = memory.json_or_text(&message.payload).await?;
    Ok(told)
}

async fn read(
    stream: &Stream,
    name: &str,
    which: MessageSelector,
    memory: &CallMemory,
) -> Result<Value, ToolError> {
    let doing = "cannot read the message";
    let message = match &which {
        MessageSelector::Seq(seq) => {
            stream.get_raw_message(*seq).await.map_err(|error| match error.kind() {
                RawMessageErrorKind::NoMessageFound => {
                    missing("message", &seq.to_string(), "`js_stream_info` says which there are")
                }
                _ => failed(ErrorKind::Connection, doing, &error),
            })?
        }
        MessageSelector::LastOf { subject } => {
            let last = stream.get_last_raw_message_by_subject(subject).await;
            last.map_err(|error| match error.kind() {
                LastRawMessageErrorKind::NoMessageFound => {
                    missing("message of subject", subject, "publish one first")
                }
                _ => failed(ErrorKind::Connection, doing, &error),
            })?
        }
    };
    let mut output = json!({
        "status": "success", "stream": name, "subject": message.subject.as_str(),
        "seq": message.sequence, "data": null, "headers": shown(&message.headers),
    });
    output["data"] = memory.json_or_text(&message.payload).await?;
    Ok(output)
}

fn header_map(headers: Vec<(String, String)>) -> Result<HeaderMap, ToolError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = || {
            let message = format!("nats: `headers.{name}` is no header of NATS");
            ToolError::new(ErrorKind::Config, message)
        };
        let header: HeaderName = name.parse().map_err(|_| wrong())?;
        let value: HeaderValue = value.parse().map_err(|_| wrong())?;
        map.insert(header, value);
    }
    Ok(map)
}

/// Returns the headers sorted by name; repeated values are joined with commas.
pub(crate) fn shown(headers: &HeaderMap) -> Map<String, Value> {
    let mut shown: Vec<(String, Value)> = headers
        .iter()
        .map(|(name, values)| {
            let values: Vec<&str> = values.iter().map(HeaderValue::as_str).collect();
            (name.to_string(), Value::String(values.join(", ")))
        })
        .collect();
    shown.sort_by(|(a, _), (b, _)| a.cmp(b));
    shown.into_iter().collect()
}
