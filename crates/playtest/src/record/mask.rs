//! Masks values that look like secrets, by the names of their keys.

use noetl_model::{SealedMark, holds_sealed};
use serde_json::{Map, Value, json};

/// The text in place of a masked value. Long enough for a secret input.
pub(crate) const MASKED: &str = "masked";

/// Parts of keys, in lower case without separators, whose values are masked.
const SECRET_WORDS: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "credential",
    "cookie",
    "signature",
];

/// Masks values and counts them.
pub(crate) struct Mask {
    /// The names of the secret inputs of the playbook.
    inputs: Vec<String>,
    pub(crate) count: usize,
}

impl Mask {
    pub(crate) fn new(inputs: Vec<String>) -> Self {
        Self { inputs, count: 0 }
    }

    /// Masks the values of a workload.
    pub(crate) fn workload(&mut self, workload: &Map<String, Value>) -> Map<String, Value> {
        let masked = workload.iter().map(|(name, value)| {
            let value =
                if self.inputs.contains(name) { self.masked() } else { self.entry(name, value) };
            (name.clone(), value)
        });
        masked.collect()
    }

    /// Masks the values below a value.
    pub(crate) fn value(&mut self, value: &Value) -> Value {
        if SealedMark::of(value).is_some() {
            return self.masked();
        }
        match value {
            Value::Object(entries) => {
                let masked =
                    entries.iter().map(|(key, value)| (key.clone(), self.entry(key, value)));
                Value::Object(masked.collect())
            }
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.value(item)).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    fn entry(&mut self, key: &str, value: &Value) -> Value {
        let is_text = matches!(value, Value::String(text) if !text.is_empty());
        if (is_text && is_secret(key)) || (holds_sealed(value) && SealedMark::of(value).is_some()) {
            return self.masked();
        }
        self.value(value)
    }

    fn masked(&mut self) -> Value {
        self.count += 1;
        json!(MASKED)
    }
}

/// True if the value of a key is probably a secret.
fn is_secret(key: &str) -> bool {
    let letters = key.chars().filter(char::is_ascii_alphanumeric);
    let word: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    SECRET_WORDS.iter().any(|secret| word.contains(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_keys_that_name_secrets_are_masked() {
        let mut mask = Mask::new(vec!["pin".to_owned()]);
        let found = mask.value(&json!({
            "user": "ada", "Api-Key": "abc", "nested": [{ "access_token": "t", "tokens": 5 }],
            "password": "",
        }));
        assert_eq!(
            found,
            json!({
                "user": "ada", "Api-Key": MASKED,
                "nested": [{ "access_token": MASKED, "tokens": 5 }], "password": "",
            })
        );
        let workload = json!({ "pin": "123456", "name": "x" });
        let workload = mask.workload(workload.as_object().expect("a map"));
        assert_eq!(Value::Object(workload), json!({ "pin": MASKED, "name": "x" }));
        assert_eq!(mask.count, 3);
    }
}
