//! Masks secrets: sealed values, secret inputs, values of keys that name secrets, the same texts
//! wherever else they appear, and texts that are secrets by their form.

use noetl_model::{Recorded, SealedMark};
use noetl_playbook::Playbook;
use serde_json::{Map, Number, Value, json};

use super::known_secrets::{KnownSecrets, SecretSearch};
use super::secret_words::{is_secret, mask_text};
use crate::history::StoredValues;

/// The text in place of a masked value. Long enough for a secret input.
pub(super) const MASKED: &str = "masked";
/// The number in place of a masked number.
const MASKED_NUMBER: u64 = 0;
/// The least digits of a number that is masked by its key: a shorter one is rather a count.
const NUMBER_DIGITS_MIN: usize = 4;

/// Masks values and counts them.
pub(super) struct Mask {
    /// The names of the secret inputs of the playbook.
    inputs: Vec<String>,
    known: SecretSearch,
    pub(super) count: usize,
}

impl Mask {
    /// Creates a mask for the secrets in a log and in the document of its playbook.
    pub(super) fn new(
        playbook: &Playbook,
        document: &Value,
        log: &[Recorded],
        values: &StoredValues,
    ) -> Self {
        let secrets = playbook.inputs.iter().flat_map(|inputs| inputs.secrets());
        let inputs: Vec<String> = secrets.map(|input| input.name.clone()).collect();
        let mut known = KnownSecrets::default();
        known.add_document(document);
        known.add_log(log, values, &inputs);
        Self { inputs, known: known.search(), count: 0 }
    }

    /// Masks the values of a workload.
    pub(super) fn workload(&mut self, workload: &Map<String, Value>) -> Map<String, Value> {
        let masked = workload.iter().map(|(name, value)| {
            let is_input = self.inputs.contains(name);
            let value = if is_input { self.masked(value) } else { self.entry(name, value) };
            (self.text(name), value)
        });
        masked.collect()
    }

    /// Masks the values below a value.
    pub(super) fn value(&mut self, value: &Value) -> Value {
        if SealedMark::of(value).is_some() {
            return self.masked(value);
        }
        match value {
            Value::Object(entries) => {
                let masked =
                    entries.iter().map(|(key, value)| (self.text(key), self.entry(key, value)));
                Value::Object(masked.collect())
            }
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.value(item)).collect())
            }
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(number) if self.is_known(number) => self.masked(value),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Masks the parts of a text that are secrets.
    pub(super) fn text(&mut self, text: &str) -> String {
        let masked = mask_text(&self.known.mask(text)).into_owned();
        self.count += usize::from(masked != text);
        masked
    }

    fn entry(&mut self, key: &str, value: &Value) -> Value {
        if is_secret(key) { self.below_secret(key, value) } else { self.value(value) }
    }

    /// Masks everything below a key that names a secret.
    fn below_secret(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::Object(entries) if SealedMark::of(value).is_none() => {
                let masked = entries
                    .iter()
                    .map(|(inner, value)| (self.text(inner), self.below_secret(key, value)));
                Value::Object(masked.collect())
            }
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.below_secret(key, item)).collect())
            }
            Value::String(text) if text.is_empty() => value.clone(),
            // `tokens` counts those of language models.
            Value::Number(number)
                if key.to_ascii_lowercase().contains("tokens")
                    || number.to_string().len() < NUMBER_DIGITS_MIN =>
            {
                value.clone()
            }
            Value::Object(_) | Value::String(_) | Value::Number(_) => self.masked(value),
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// True if a number is a known secret.
    fn is_known(&self, number: &Number) -> bool {
        self.known.mask(&number.to_string()) == MASKED
    }

    fn masked(&mut self, value: &Value) -> Value {
        self.count += 1;
        match value {
            Value::Number(_) => json!(MASKED_NUMBER),
            Value::Null
            | Value::Bool(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {
                json!(MASKED)
            }
        }
    }
}
