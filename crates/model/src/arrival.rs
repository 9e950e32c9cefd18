//! Messages that come in: as a source delivered them, and what became of each.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ExecutionId;

/// A message as its source delivered it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arrival {
    /// How its source calls it, for people: `ORDERS:17`.
    pub id: String,
    /// What no other message of this subscription ever has, so that it is known when it comes again.
    pub once: String,
    /// By name in lower case, the last of several values each.
    #[serde(default)]
    pub headers: Map<String, Value>,
    /// What the source keeps beside headers and body.
    #[serde(default)]
    pub attributes: Map<String, Value>,
    /// Where it was: its subject, its place in the stream.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    pub body: Bytes,
}

impl Arrival {
    /// A header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(Value::as_str)
    }
}

/// Bytes that are written as text if they are text, and in hexadecimal if not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Bytes(pub Vec<u8>);

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Written {
    Text(String),
    Hex(String),
}

/// The text is no hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are not written in hexadecimal")]
struct NotHex;

impl From<Bytes> for Written {
    fn from(Bytes(bytes): Bytes) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Written::Text(text),
            Err(error) => {
                let hex = error.as_bytes().iter().map(|byte| format!("{byte:02x}"));
                Written::Hex(hex.collect())
            }
        }
    }
}

impl TryFrom<Written> for Bytes {
    type Error = NotHex;

    fn try_from(written: Written) -> Result<Self, NotHex> {
        match written {
            Written::Text(text) => Ok(Bytes(text.into_bytes())),
            Written::Hex(hex) => {
                let pairs = hex.as_bytes().chunks(2).map(|pair| {
                    let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
                    u8::from_str_radix(pair, 16).ok()
                });
                pairs.collect::<Option<Vec<u8>>>().map(Bytes).ok_or(NotHex)
            }
        }
    }
}

/// What became of a message. Whoever fetched it tells its source only after this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Its execution is durable.
    Started { execution: ExecutionId },
    /// It was known already, by this execution.
    Duplicate { execution: ExecutionId },
    /// It failed too often and is kept among the dead, where people see it.
    Dead { reason: String },
    /// It is to be tried again after so many milliseconds.
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
    fn what_is_no_hexadecimal_is_refused() {
        for hex in ["f", "zz", "f\u{fc}"] {
            assert!(serde_json::from_value::<Bytes>(json!({ "hex": hex })).is_err(), "{hex}");
        }
    }
}
