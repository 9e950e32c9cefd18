//! User data: small values inline, large ones by reference to content that is stored once.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// The longest JSON that is stored inline; larger values are stored by reference.
pub const PAYLOAD_INLINE_MAX: usize = 16 * 1024;
/// The longest JSON that is accepted.
pub const PAYLOAD_MAX: usize = 64 * 1024 * 1024;

/// The deepest nesting that is accepted: JSON parsers stop at 128 levels, and stored data must stay
/// readable with a few levels around it.
pub const PAYLOAD_DEPTH_MAX: usize = 100;

/// True if a value has at most [`PAYLOAD_DEPTH_MAX`] levels.
pub fn is_shallow(value: &Value) -> bool {
    fn within(value: &Value, levels: usize) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
            Value::Array(items) => levels > 0 && items.iter().all(|item| within(item, levels - 1)),
            Value::Object(map) => levels > 0 && map.values().all(|item| within(item, levels - 1)),
        }
    }
    within(value, PAYLOAD_DEPTH_MAX)
}

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a digest has 64 hexadecimal digits")]
pub struct NotADigest;

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(NotADigest);
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte =
                u8::from_str_radix(&text[2 * index..2 * index + 2], 16).map_err(|_| NotADigest)?;
        }
        Ok(Self(bytes))
    }
}

/// The address of a large payload: the digest of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadRef {
    pub digest: Digest,
    /// The length of the JSON in bytes.
    pub size: u64,
}

/// A user value in an event, inline or by reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    Inline(Arc<Value>),
    Ref(PayloadRef),
}

impl Payload {
    pub fn inline(value: Value) -> Self {
        Self::Inline(Arc::new(value))
    }

    pub fn null() -> Self {
        Self::inline(Value::Null)
    }

    /// Returns the value; `None` if it is stored by reference.
    pub fn as_inline(&self) -> Option<&Arc<Value>> {
        match self {
            Payload::Inline(value) => Some(value),
            Payload::Ref(_) => None,
        }
    }
}

/// The values that a command's templates refer to, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bindings(pub BTreeMap<String, Payload>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_levels_are_shallow_and_one_more_is_not() {
        let nested = |levels| (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert!(is_shallow(&nested(PAYLOAD_DEPTH_MAX)));
        assert!(!is_shallow(&nested(PAYLOAD_DEPTH_MAX + 1)));
    }

    #[test]
    fn a_digest_survives_its_stored_form() {
        let digest = Digest::of(b"abc");
        let stored = serde_json::to_string(&digest).unwrap();
        assert_eq!(stored, "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"");
        assert_eq!(serde_json::from_str::<Digest>(&stored).unwrap(), digest);
        assert!(serde_json::from_str::<Digest>("\"zz\"").is_err());
    }
}
