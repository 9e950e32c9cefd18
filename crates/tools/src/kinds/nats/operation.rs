//! Reads the operation of a `nats` call from its configuration.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use noetl_model::ToolError;
use serde_json::Value;

use crate::run::keys::ToolConfig;

/// The maximum number of messages per call.
const BATCH_MAX: u64 = 1000;
const BATCH: u64 = 100;
/// The maximum time that a call waits for messages.
const WAIT_MAX: Duration = Duration::from_secs(5);
const WAIT: Duration = Duration::from_secs(1);
/// The default timeout of a request.
const REQUEST_WAIT: Duration = Duration::from_secs(5);

const OPERATIONS: &[&str] = &[
    "publish",
    "request",
    "kv_get",
    "kv_put",
    "kv_delete",
    "kv_purge",
    "kv_keys",
    "object_get",
    "object_put",
    "object_delete",
    "object_list",
    "object_info",
    "js_publish",
    "js_consume",
    "js_get_msg",
    "js_stream_info",
];

#[derive(Debug, PartialEq)]
pub(super) struct NatsOperation {
    pub(super) work: NatsWork,
    has_ttl: bool,
}

#[derive(Debug, PartialEq)]
pub(super) enum NatsWork {
    Keys { bucket: String, work: KeyWork },
    Objects { bucket: String, work: ObjectWork },
    Messages(MessageWork),
}

#[derive(Debug, PartialEq)]
pub(super) enum KeyWork {
    Get { key: String },
    Put { key: String, value: Vec<u8> },
    Delete { key: String },
    Purge { key: String },
    List { pattern: Option<String> },
}

#[derive(Debug, PartialEq)]
pub(super) enum ObjectWork {
    Get { name: String, encoding: Encoding },
    Put { name: String, data: Vec<u8>, description: Option<String> },
    Delete { name: String },
    Describe { name: String },
    List,
}

#[derive(Debug, PartialEq)]
pub(super) enum MessageWork {
    Publish(OutgoingMessage),
    Request {
        message: OutgoingMessage,
        wait: Duration,
    },
    /// Publishes to a stream, which confirms the message.
    Store(OutgoingMessage),
    Consume {
        stream: String,
        consumer: String,
        batch: u64,
        wait: Duration,
        ack: bool,
    },
    Read {
        stream: String,
        which: MessageSelector,
    },
    Describe {
        stream: String,
    },
}

#[derive(Debug, PartialEq)]
pub(super) struct OutgoingMessage {
    pub(super) subject: String,
    pub(super) data: Vec<u8>,
    pub(super) headers: Vec<(String, String)>,
}

/// The message of a stream to read.
#[derive(Debug, PartialEq)]
pub(super) enum MessageSelector {
    Seq(u64),
    LastOf { subject: String },
}

/// The encoding of bytes in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Base64,
}

impl NatsOperation {
    pub(super) fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        let text = |spellings: &[&'static str]| keys.required_text(spellings);
        let key = || text(&["key"]);
        let name = || text(&["name", "object", "key"]);
        let operation = text(&["operation", "action"])?;
        let of_keys = |work| Ok(NatsWork::Keys { bucket: text(&["bucket"])?, work });
        let of_objects = |work| Ok(NatsWork::Objects { bucket: text(&["bucket"])?, work });
        let work = match operation.as_str() {
            "kv_get" => of_keys(KeyWork::Get { key: key()? }),
            "kv_put" => of_keys(KeyWork::Put { key: key()?, value: required(keys, "value")? }),
            "kv_delete" => of_keys(KeyWork::Delete { key: key()? }),
            "kv_purge" => of_keys(KeyWork::Purge { key: key()? }),
            "kv_keys" => of_keys(KeyWork::List { pattern: keys.text(&["pattern"])? }),
            "object_get" => {
                of_objects(ObjectWork::Get { name: name()?, encoding: Encoding::read(keys)? })
            }
            "object_put" => of_objects(ObjectWork::Put {
                name: name()?,
                data: decoded(keys)?,
                description: keys.text(&["description"])?,
            }),
            "object_delete" => of_objects(ObjectWork::Delete { name: name()? }),
            "object_info" => of_objects(ObjectWork::Describe { name: name()? }),
            "object_list" => of_objects(ObjectWork::List),
            other => Ok(NatsWork::Messages(message_work(keys, other)?)),
        }?;
        Ok(Self { work, has_ttl: keys.value(&["ttl"]).is_some() })
    }

    /// Returns a hint for the logs of the call.
    pub(super) fn note(&self) -> Option<&'static str> {
        self.has_ttl.then_some("`ttl` has no effect: how long keys live is a setting of the bucket")
    }
}

fn message_work(keys: ToolConfig<'_>, operation: &str) -> Result<MessageWork, ToolError> {
    let stream = || keys.required_text(&["stream"]);
    Ok(match operation {
        "publish" => MessageWork::Publish(OutgoingMessage::read(keys)?),
        "request" => MessageWork::Request {
            message: OutgoingMessage::read(keys)?,
            wait: millis(keys)?.unwrap_or(REQUEST_WAIT),
        },
        "js_publish" => MessageWork::Store(OutgoingMessage::read(keys)?),
        "js_consume" => MessageWork::Consume {
            stream: stream()?,
            consumer: keys.required_text(&["consumer"])?,
            batch: number(keys, "batch")?.unwrap_or(BATCH).clamp(1, BATCH_MAX),
            wait: millis(keys)?.unwrap_or(WAIT).min(WAIT_MAX),
            ack: keys.flag(&["ack"])?.unwrap_or(true),
        },
        "js_get_msg" => {
            let which = match (number(keys, "seq")?, keys.text(&["subject"])?) {
                (Some(seq), _) => MessageSelector::Seq(seq),
                (None, Some(subject)) => MessageSelector::LastOf { subject },
                (None, None) => return Err(keys.error("`seq` or `subject` is missing")),
            };
            MessageWork::Read { stream: stream()?, which }
        }
        "js_stream_info" => MessageWork::Describe { stream: stream()? },
        other => {
            let known = OPERATIONS.join(", ");
            return Err(keys.error(format!("`operation` is `{other}`; known are {known}")));
        }
    })
}

impl OutgoingMessage {
    fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        Ok(Self {
            subject: keys.required_text(&["subject"])?,
            data: keys.value(&["data", "value", "payload"]).map(bytes).unwrap_or_default(),
            headers: keys.texts(&["headers"])?,
        })
    }
}

impl Encoding {
    fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        match keys.text(&["encoding"])?.as_deref() {
            None | Some("utf-8" | "utf8" | "text") => Ok(Encoding::Utf8),
            Some("base64") => Ok(Encoding::Base64),
            Some(other) => {
                let message = format!("`encoding` is `{other}`; known are utf-8 and base64");
                Err(keys.error(message))
            }
        }
    }
}

/// Converts a value to bytes: a string as it is, any other value as JSON.
fn bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        other => other.to_string().into_bytes(),
    }
}

fn required(keys: ToolConfig<'_>, key: &'static str) -> Result<Vec<u8>, ToolError> {
    keys.value(&[key]).map(bytes).ok_or_else(|| keys.error(format!("`{key}` is missing")))
}

fn decoded(keys: ToolConfig<'_>) -> Result<Vec<u8>, ToolError> {
    let data = required(keys, "data")?;
    match Encoding::read(keys)? {
        Encoding::Utf8 => Ok(data),
        Encoding::Base64 => {
            BASE64_STANDARD.decode(data).map_err(|_| keys.error("`data` is not base64"))
        }
    }
}

fn number(keys: ToolConfig<'_>, key: &'static str) -> Result<Option<u64>, ToolError> {
    keys.find(&[key])
        .map(|(key, value)| {
            let number = match value {
                Value::String(text) => text.trim().parse().ok(),
                other => other.as_u64(),
            };
            number.ok_or_else(|| keys.wrong(key, "a whole number", value))
        })
        .transpose()
}

fn millis(keys: ToolConfig<'_>) -> Result<Option<Duration>, ToolError> {
    Ok(number(keys, "timeout_ms")?.map(Duration::from_millis))
}
