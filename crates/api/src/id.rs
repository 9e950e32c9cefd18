//! Ids on the wire: taken as text or as a number, sent as text.

use std::fmt;

use noetl_model::{CatalogId, EventId, ExecutionId};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// A 64-bit id in either spelling. Text is the safe one: many programs cannot represent the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, example = "380248615345483776")]
pub struct AnyId(pub i64);

impl From<AnyId> for ExecutionId {
    fn from(id: AnyId) -> Self {
        Self(id.0)
    }
}

impl From<AnyId> for CatalogId {
    fn from(id: AnyId) -> Self {
        Self(id.0)
    }
}

impl From<AnyId> for EventId {
    fn from(id: AnyId) -> Self {
        Self(id.0)
    }
}

impl From<ExecutionId> for AnyId {
    fn from(id: ExecutionId) -> Self {
        Self(id.0)
    }
}

impl From<CatalogId> for AnyId {
    fn from(id: CatalogId) -> Self {
        Self(id.0)
    }
}

impl fmt::Display for AnyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for AnyId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for AnyId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyIdVisitor)
    }
}

struct AnyIdVisitor;

impl Visitor<'_> for AnyIdVisitor {
    type Value = AnyId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id: a whole number, or the same as text")
    }

    fn visit_i64<E: Error>(self, id: i64) -> Result<AnyId, E> {
        Ok(AnyId(id))
    }

    fn visit_u64<E: Error>(self, id: u64) -> Result<AnyId, E> {
        let signed = i64::try_from(id);
        signed.map(AnyId).map_err(|_| E::invalid_value(Unexpected::Unsigned(id), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AnyId, E> {
        let parsed = text.parse();
        parsed.map(AnyId).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Option<i64>) {
        let found = serde_json::from_str::<AnyId>(json).ok().map(|id| id.0);
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn an_id_is_a_number_or_the_same_as_text() {
        check("380248615345483776", Some(380_248_615_345_483_776));
        check("\"380248615345483776\"", Some(380_248_615_345_483_776));
    }

    #[test]
    fn other_values_are_no_ids() {
        for json in ["1.5", "\"\"", "\"12x\"", "9223372036854775808", "null", "[1]", "true"] {
            check(json, None);
        }
    }
}
