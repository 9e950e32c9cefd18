//! The one way to write a value down, for digests: JSON without spaces, keys in the order of their
//! bytes, numbers as they were given.
//!
//! It does not depend on the order of keys or of fields, so it survives any store and any change of
//! the code that keeps the stored form.

use serde::Serialize;
use serde_json::Value;

/// The canonical form of a value whose serialized form is JSON.
pub fn canonical(value: &impl Serialize) -> Vec<u8> {
    let value = serde_json::to_value(value).expect("the model's words are JSON");
    let mut bytes = Vec::with_capacity(512);
    write(&value, &mut bytes);
    bytes
}

fn write(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            serde_json::to_writer(bytes, value).expect("memory takes what is written to it");
        }
        Value::Array(items) => {
            bytes.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    bytes.push(b',');
                }
                write(item, bytes);
            }
            bytes.push(b']');
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            bytes.push(b'{');
            for (place, (key, item)) in entries.into_iter().enumerate() {
                if place > 0 {
                    bytes.push(b',');
                }
                serde_json::to_writer(&mut *bytes, key)
                    .expect("memory takes what is written to it");
                bytes.push(b':');
                write(item, bytes);
            }
            bytes.push(b'}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &str) {
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(String::from_utf8(canonical(&value)).unwrap(), expected);
    }

    #[test]
    fn keys_are_in_order_at_every_level() {
        check(
            r#"{ "b": [ {"z": 1, "y": 2} ], "a": {"ä": 1, "z": 2} }"#,
            r#"{"a":{"z":2,"ä":1},"b":[{"y":2,"z":1}]}"#,
        );
    }

    #[test]
    fn numbers_keep_their_kind() {
        check(
            "[1, 1.0, -0.0, 1e300, 0.1, 18446744073709551615]",
            "[1,1.0,-0.0,1e+300,0.1,18446744073709551615]",
        );
    }
}
