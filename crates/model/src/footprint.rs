//! The memory size of a JSON value, computed before the value is built.
//!
//! A short text can be a large value: each `0` of `[0,0,…]` is two bytes of text and one [`Value`]
//! in memory. So a text is measured first, without allocation, and rejected at the first element
//! beyond a limit.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use thiserror::Error;

/// The largest number of elements of a value: list items and map entries at any depth.
pub const VALUE_ELEMENTS_MAX: usize = 6_000_000;
/// The default limit for the memory of one value.
pub const VALUE_MEMORY_MAX: usize = 512 * 1024 * 1024;

const VALUE: usize = size_of::<Value>();
/// The size of a map entry: hash, key and value.
const ENTRY: usize = size_of::<u64>() + size_of::<String>() + VALUE;
/// The size of an entry in a map's index table.
const ENTRY_INDEX: usize = 16;
/// The size of the smallest index table of a non-empty map.
const TABLE: usize = 64;
/// The overhead of one allocation.
const ALLOCATION: usize = 16;
/// The initial capacities of a list and of a map when their first element is added.
const LIST_ROOM: usize = 4;
const MAP_ROOM: usize = 3;

/// The size of a value in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    /// The number of values, including the value itself.
    pub elements: usize,
    /// An estimate of the memory in bytes.
    pub memory: usize,
}

impl Footprint {
    /// Returns the sum of two footprints.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            elements: self.elements.saturating_add(other.elements),
            memory: self.memory.saturating_add(other.memory),
        }
    }

    /// Returns the footprint of `copies` copies of a value.
    #[must_use]
    pub fn times(self, copies: usize) -> Self {
        Self {
            elements: self.elements.saturating_mul(copies),
            memory: self.memory.saturating_mul(copies),
        }
    }

    /// Measures a value in memory.
    pub fn of(value: &Value) -> Self {
        let mut meter =
            FootprintMeter { found: Self::default(), limits: ValueLimits::NONE, exceeded: None };
        meter.value(value);
        meter.found
    }

    /// Measures the value of a JSON text without building it. Stops at the first exceeded limit.
    pub fn of_json(text: &[u8], limits: ValueLimits) -> Result<Self, Unmeasured> {
        let mut meter = FootprintMeter { found: Self::default(), limits, exceeded: None };
        let mut reader = serde_json::Deserializer::from_slice(text);
        let read = Measure(&mut meter).deserialize(&mut reader).and_then(|()| reader.end());
        match (meter.exceeded, read) {
            (Some(exceeded), _) => Err(Unmeasured::TooLarge(exceeded)),
            (None, Err(error)) => Err(Unmeasured::NotJson(error)),
            (None, Ok(())) => Ok(meter.found),
        }
    }
}

/// The size limits of one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueLimits {
    pub elements_max: usize,
    /// In bytes.
    pub memory_max: usize,
}

impl ValueLimits {
    const NONE: Self = Self { elements_max: usize::MAX, memory_max: usize::MAX };

    /// Fails if the footprint exceeds a limit.
    pub fn check(self, found: Footprint) -> Result<(), TooLarge> {
        if found.elements > self.elements_max {
            return Err(TooLarge::Elements { max: self.elements_max });
        }
        if found.memory > self.memory_max {
            return Err(TooLarge::Memory { max: self.memory_max });
        }
        Ok(())
    }
}

impl Default for ValueLimits {
    fn default() -> Self {
        Self { elements_max: VALUE_ELEMENTS_MAX, memory_max: VALUE_MEMORY_MAX }
    }
}

/// The limit that a value exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TooLarge {
    #[error(
        "it has more than {max} elements (list items and map entries), the limit for one value"
    )]
    Elements { max: usize },
    #[error("it takes more than {} MiB of memory, the limit for one call", max / (1024 * 1024))]
    Memory { max: usize },
}

/// The reason why a text could not be measured.
#[derive(Debug, Error)]
pub enum Unmeasured {
    #[error(transparent)]
    TooLarge(TooLarge),
    #[error(transparent)]
    NotJson(serde_json::Error),
}

/// The running total and the limits of a measurement.
struct FootprintMeter {
    found: Footprint,
    limits: ValueLimits,
    exceeded: Option<TooLarge>,
}

impl FootprintMeter {
    /// Adds elements and memory. Returns true while the limits hold.
    fn add(&mut self, elements: usize, memory: usize) -> bool {
        self.found = self.found.and(Footprint { elements, memory });
        self.exceeded = self.exceeded.or(self.limits.check(self.found).err());
        self.exceeded.is_none()
    }

    fn text(&mut self, length: usize) -> bool {
        self.add(1, VALUE + heap(length))
    }

    /// Adds a map entry without its value.
    fn key(&mut self, length: usize) -> bool {
        self.add(0, ENTRY - VALUE + ENTRY_INDEX + heap(length))
    }

    /// Adds a list's own size and unused capacity, without its items.
    fn list(&mut self, items: usize) -> bool {
        let spare = if items == 0 { 0 } else { LIST_ROOM.saturating_sub(items) };
        self.add(1, VALUE + spare * VALUE + if items == 0 { 0 } else { ALLOCATION })
    }

    fn map(&mut self, entries: usize) -> bool {
        let spare = if entries == 0 { 0 } else { MAP_ROOM.saturating_sub(entries) };
        self.add(1, VALUE + spare * ENTRY + if entries == 0 { 0 } else { TABLE + ALLOCATION })
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.add(1, VALUE),
            Value::String(text) => self.text(text.len()),
            Value::Array(items) => {
                items.iter().for_each(|item| self.value(item));
                self.list(items.len())
            }
            Value::Object(entries) => {
                for (key, value) in entries {
                    self.key(key.len());
                    self.value(value);
                }
                self.map(entries.len())
            }
        };
    }
}

fn heap(length: usize) -> usize {
    if length == 0 { 0 } else { length.saturating_add(ALLOCATION) }
}

/// Deserializes one value into its size only.
struct Measure<'m>(&'m mut FootprintMeter);

impl Measure<'_> {
    fn go_on<E: serde::de::Error>(holds: bool) -> Result<(), E> {
        if holds { Ok(()) } else { Err(E::custom("a limit is exceeded")) }
    }
}

impl<'de> DeserializeSeed<'de> for Measure<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Measure<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Self::go_on(self.0.add(1, VALUE))
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        Self::go_on(self.0.add(1, VALUE))
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        Self::go_on(self.0.add(1, VALUE))
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        Self::go_on(self.0.add(1, VALUE))
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        Self::go_on(self.0.add(1, VALUE))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        Self::go_on(self.0.text(text.len()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut count = 0;
        while items.next_element_seed(Measure(self.0))?.is_some() {
            count += 1;
        }
        Self::go_on(self.0.list(count))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut count = 0;
        while let Some(length) = entries.next_key_seed(KeyLength)? {
            count += 1;
            if !self.0.key(length) {
                return Err(A::Error::custom("a limit is exceeded"));
            }
            entries.next_value_seed(Measure(self.0))?;
        }
        Self::go_on(self.0.map(count))
    }
}

/// Deserializes a map key into its length.
struct KeyLength;

impl<'de> DeserializeSeed<'de> for KeyLength {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyLength {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<usize, E> {
        Ok(key.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ValueLimits = ValueLimits { elements_max: 1000, memory_max: 1024 * 1024 };

    fn check(text: &str, expected: &str) {
        let found = match Footprint::of_json(text.as_bytes(), LIMITS) {
            Ok(found) => {
                let value: Value = serde_json::from_str(text).unwrap();
                assert_eq!(
                    found,
                    Footprint::of(&value),
                    "a text and its value are the same: {text}"
                );
                format!("{} elements", found.elements)
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{text:.60}");
    }

    #[test]
    fn a_text_is_measured_as_the_value_it_becomes() {
        check("0", "1 elements");
        check("null", "1 elements");
        check(r#""a\nb""#, "1 elements");
        check("[]", "1 elements");
        check("{}", "1 elements");
        check("[0, 1.5, -1, true, null]", "6 elements");
        check(r#"{"a": [1, "x"], "b": {"c": {}}}"#, "6 elements");
    }

    #[test]
    fn a_text_that_is_no_json_says_where() {
        check("[1,", "EOF while parsing a value at line 1 column 3");
        check("[1] 2", "trailing characters at line 1 column 5");
    }

    #[test]
    fn a_value_beyond_a_limit_is_refused_with_the_limit() {
        let elements = "it has more than 1000 elements (list items and map entries), the limit \
                        for one value";
        check(&format!("[{}0]", "0,".repeat(2000)), elements);
        check(&format!("[{}[]]", "[],".repeat(2000)), elements);
        let memory = "it takes more than 1 MiB of memory, the limit for one call";
        check(&format!("\"{}\"", "x".repeat(2 * 1024 * 1024)), memory);
        let long = format!("{{\"{}\": 1}}", "k".repeat(2 * 1024 * 1024));
        check(&long, memory);
    }

    #[test]
    fn a_value_is_refused_before_the_rest_of_its_text_is_read() {
        let text = format!("[{} and this is no JSON", "0,".repeat(2000));
        let refused = Footprint::of_json(text.as_bytes(), LIMITS);
        assert!(matches!(refused, Err(Unmeasured::TooLarge(TooLarge::Elements { max: 1000 }))));
    }

    #[test]
    fn an_element_of_a_list_takes_a_value() {
        let list = |count: usize| Footprint::of(&Value::Array(vec![Value::Null; count])).memory;
        assert_eq!(list(2_000_000) - list(1_000_000), 1_000_000 * size_of::<Value>());
    }
}
