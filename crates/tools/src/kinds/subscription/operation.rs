//! Reads the operation of a `subscription` call from its configuration.

use std::time::Duration;

use noetl_model::ToolError;
use serde_json::Value;

use crate::run::keys::ToolConfig;

/// The maximum number of messages that one call fetches or settles.
const BATCH_MAX: usize = 1000;
const BATCH: usize = 100;
/// The maximum time that a call waits for messages.
const WAIT_MS_MAX: usize = 30_000;
const WAIT_MS: usize = 1000;
/// The maximum redelivery delay of a returned message.
const DELAY_MS_MAX: usize = 24 * 3600 * 1000;
/// The prefix of JetStream's acknowledgement subjects.
const ACK_SUBJECT: &str = "$JS.ACK.";

#[derive(Debug, PartialEq)]
pub(super) enum SubscriptionOperation {
    Poll(Poll),
    Settle { settlement: Settlement, ack_ids: Vec<String> },
}

#[derive(Debug, PartialEq)]
pub(super) struct Poll {
    pub(super) stream: String,
    pub(super) consumer: String,
    pub(super) batch: usize,
    pub(super) wait: Duration,
    pub(super) acknowledge: Acknowledge,
}

/// The call that acknowledges fetched messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acknowledge {
    /// The same call, when it has received all messages.
    Here,
    /// A later call, by `ack_ids`.
    Later,
}

/// The way in which a fetched message is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settlement {
    Acknowledged,
    /// Delivered again, optionally after a delay.
    Returned {
        delay: Option<Duration>,
    },
    /// Never delivered again.
    Dropped,
}

impl Acknowledge {
    fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        let Some((key, value)) = keys.find(&["ack"]) else { return Ok(Acknowledge::Here) };
        match value {
            Value::Bool(true) => Ok(Acknowledge::Here),
            Value::Bool(false) => Ok(Acknowledge::Later),
            Value::String(text) => match text.as_str() {
                "on_success" | "auto" | "true" => Ok(Acknowledge::Here),
                "manual" | "defer" | "none" | "false" => Ok(Acknowledge::Later),
                other => Err(keys.error(format!(
                    "`ack` is `{other}`; known are on_success, auto, manual, defer and none"
                ))),
            },
            other => Err(keys.wrong(key, "a word or true or false", other)),
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Acknowledge::Here => "on_success",
            Acknowledge::Later => "manual",
        }
    }
}

impl Settlement {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Settlement::Acknowledged => "ack",
            Settlement::Returned { .. } => "nack",
            Settlement::Dropped => "term",
        }
    }

    /// The acknowledgement payload of JetStream.
    pub(super) fn word(self) -> String {
        match self {
            Settlement::Acknowledged => "+ACK".into(),
            Settlement::Returned { delay: None } => "-NAK".into(),
            Settlement::Returned { delay: Some(delay) } => {
                format!("-NAK {{\"delay\": {}}}", delay.as_nanos())
            }
            Settlement::Dropped => "+TERM".into(),
        }
    }
}

impl SubscriptionOperation {
    pub(super) fn read(keys: ToolConfig<'_>) -> Result<Self, ToolError> {
        let source = keys.required_text(&["source"])?;
        if source != "nats" {
            return Err(keys.error(format!("`source` is `{source}`; the one built in is nats")));
        }
        let millis = |key, max| {
            let count = keys.count(&[key], max)?;
            Ok(count.map(|count| Duration::from_millis(count.try_into().unwrap_or(u64::MAX))))
        };
        let settlement = match keys.text(&["operation"])?.as_deref() {
            None | Some("poll") => {
                let usual = Duration::from_millis(WAIT_MS.try_into().unwrap_or(u64::MAX));
                return Ok(SubscriptionOperation::Poll(Poll {
                    stream: keys.required_text(&["stream"])?,
                    consumer: keys.required_text(&["consumer", "subscription"])?,
                    batch: keys.count(&["batch"], BATCH_MAX)?.unwrap_or(BATCH),
                    wait: millis("timeout_ms", WAIT_MS_MAX)?.unwrap_or(usual),
                    acknowledge: Acknowledge::read(keys)?,
                }));
            }
            Some("ack") => Settlement::Acknowledged,
            Some("nack" | "nak") => {
                Settlement::Returned { delay: millis("nack_delay_ms", DELAY_MS_MAX)? }
            }
            Some("term") => Settlement::Dropped,
            Some(other) => {
                return Err(keys.error(format!(
                    "`operation` is `{other}`; known are poll, ack, nack and term"
                )));
            }
        };
        Ok(SubscriptionOperation::Settle { settlement, ack_ids: ack_ids(keys)? })
    }
}

/// Reads `ack_ids`. Fails unless each is an acknowledgement subject, so that a playbook cannot
/// publish to other subjects.
fn ack_ids(keys: ToolConfig<'_>) -> Result<Vec<String>, ToolError> {
    let (key, value) = keys
        .find(&["ack_ids", "ack_id"])
        .ok_or_else(|| keys.error("`ack_ids` is missing: give it those of a poll"))?;
    let items = match value {
        Value::Array(items) => items.as_slice(),
        single => std::slice::from_ref(single),
    };
    if BATCH_MAX < items.len() {
        return Err(keys.error(format!("`{key}` has more than {BATCH_MAX}")));
    }
    items
        .iter()
        .map(|item| {
            let id = item.as_str().filter(|id| id.starts_with(ACK_SUBJECT));
            id.map(str::to_owned).ok_or_else(|| keys.wrong(key, "a list of `ack_id`s", item))
        })
        .collect()
}
