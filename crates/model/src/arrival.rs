//! Incoming messages as their source delivered them, and the outcome of each.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ExecutionId;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arrival {
    /// The source's id of the message, shown to people: `ORDERS:17`.
    pub id: String,
    /// A key unique among the messages of the subscription, so that a redelivery is recognised.
    pub once: String,
    /// Headers by lower-case name; of repeated headers, the last value.
    #[serde(default)]
    pub headers: Map<String, Value>,
    /// Values that the source stores apart from headers and body.
    #[serde(default)]
    pub attributes: Map<String, Value>,
    /// Delivery details of the source, such as the subject and the position in the stream.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    pub body: Bytes,
}

impl Arrival {
    /// Returns a header; `None` if it is missing or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(Value::as_str)
    }
}

/// Bytes that are serialized as text if they are valid UTF-8, else as hexadecimal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "EncodedBytes", into = "EncodedBytes")]
pub struct Bytes(pub Vec<u8>);

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EncodedBytes {
    Text(String),
    Hex(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are not written in hexadecimal")]
struct NotHex;

impl From<Bytes> for EncodedBytes {
    fn from(Bytes(bytes): Bytes) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => EncodedBytes::Text(text),
            Err(error) => {
                let hex = error.as_bytes().iter().map(|byte| format!("{byte:02x}"));
                EncodedBytes::Hex(hex.collect())
            }
        }
    }
}

impl TryFrom<EncodedBytes> for Bytes {
    type Error = NotHex;

    fn try_from(written: EncodedBytes) -> Result<Self, NotHex> {
        match written {
            EncodedBytes::Text(text) => Ok(Bytes(text.into_bytes())),
            EncodedBytes::Hex(hex) => {
                let pairs = hex.as_bytes().chunks(2).map(|pair| {
                    let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
                    u8::from_str_radix(pair, 16).ok()
                });
                pairs.collect::<Option<Vec<u8>>>().map(Bytes).ok_or(NotHex)
            }
        }
    }
}

/// The outcome of a message, decided before the source is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum MessageOutcome {
    /// The message started this execution, which is durable.
    Started { execution: ExecutionId },
    /// A redelivery of a message that had already started this execution.
    Duplicate { execution: ExecutionId },
    /// The message was delivered to a step that waits for it, or is kept for the next one; both are
    /// durable.
    Signalled,
    /// The message failed too often and is kept in the dead-letter list.
    Dead { reason: String },
    /// The message has to be delivered again after `after_ms` milliseconds.
    Later { reason: String, after_ms: u64 },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(bytes: &[u8], written: Value) {
        let bytes = Bytes(bytes.to_vec());
        assert_eq!(json!(bytes), written);
        assert_eq!(serde_json::from_value::<Bytes>(written).unwrap(), bytes);
    }

    #[test]
    fn bytes_read_as_they_are_written() {
        check(b"", json!({ "text": "" }));
        check("größe".as_bytes(), json!({ "text": "größe" }));
        check(&[0xff, 0x00, 0x1a], json!({ "hex": "ff001a" }));
    }

    #[test]
    fn invalid_hexadecimal_is_refused() {
        for hex in ["f", "zz", "f\u{fc}"] {
            assert!(serde_json::from_value::<Bytes>(json!({ "hex": hex })).is_err(), "{hex}");
        }
    }
}
