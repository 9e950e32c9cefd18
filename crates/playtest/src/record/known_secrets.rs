//! The secrets whose text is known from the log or the playbook: found under one key, they are masked
//! in every other text too, also encoded.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use noetl_model::{Event, Payload, Recorded};
use serde_json::Value;

use super::mask::MASKED;
use super::secret_words::{is_secret, looks_generated, secrets_within};
use crate::history::StoredValues;

/// The shortest secret that is searched for within texts.
const SECRET_CHARS_MIN: usize = 4;
/// The shortest secret that is masked within a word; a shorter one could be a part of ordinary words.
const WITHIN_WORDS_MIN: usize = 8;
/// The texts that stand for a secret already.
const PLACEHOLDERS: [&str; 3] = [MASKED, "[REDACTED]", "***"];

/// The texts to mask.
#[derive(Debug, Default)]
pub(super) struct KnownSecrets {
    texts: BTreeSet<String>,
}

impl KnownSecrets {
    /// Adds the secrets of every payload of a log. `inputs` are the names of secret inputs.
    pub(super) fn add_log(&mut self, log: &[Recorded], values: &StoredValues, inputs: &[String]) {
        for recorded in log {
            if let Event::ContextUpdated { values: set, .. } = &recorded.event {
                set.iter().for_each(|(key, value)| self.add_entry(key, value));
            }
            let mut event = recorded.event.clone();
            for payload in event.payloads_mut() {
                match payload {
                    Payload::Inline(value) => self.add_value(value),
                    Payload::Ref(reference) => {
                        values.get(&reference.digest).into_iter().for_each(|it| self.add_value(it));
                    }
                }
            }
            if let Event::ExecutionStarted { workload: Payload::Inline(workload), .. } = &event {
                for name in inputs {
                    workload.get(name).into_iter().for_each(|value| self.add_all(value));
                }
            }
        }
    }

    /// Adds the secrets that are written in the document of a playbook. Only texts right below a key
    /// count: declarations are maps below the name of the secret.
    pub(super) fn add_document(&mut self, document: &Value) {
        match document {
            Value::Object(entries) => {
                for (key, value) in entries {
                    // These keys hold names of credentials, or of fields of other secrets.
                    let is_name = ["auth", "credential", "map", "verify"].contains(&key.as_str());
                    match value {
                        Value::String(text) if !is_name && is_secret(key) => self.add(text),
                        Value::Object(_) | Value::Array(_) if !is_name => self.add_document(value),
                        Value::Null
                        | Value::Bool(_)
                        | Value::Number(_)
                        | Value::String(_)
                        | Value::Array(_)
                        | Value::Object(_) => {}
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_document(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn add_value(&mut self, value: &Value) {
        match value {
            Value::Object(entries) => {
                entries.iter().for_each(|(key, value)| self.add_entry(key, value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_value(item)),
            Value::String(text) => self.add_text(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Adds the secrets within a text, such as the output of a program: of JSON documents, whole or one
    /// per line, and those with the form of a secret.
    fn add_text(&mut self, text: &str) {
        let whole = std::iter::once(text).chain(text.lines());
        for part in whole.filter(|part| part.trim_start().starts_with(['{', '['])) {
            if let Ok(value) = serde_json::from_str::<Value>(part) {
                self.add_value(&value);
            }
        }
        for secret in secrets_within(text) {
            // Others may be ordinary words, and are masked in their place only.
            if looks_generated(&secret) {
                self.add(&secret);
            }
        }
    }

    fn add_entry(&mut self, key: &str, value: &Value) {
        self.add_value(value);
        if is_secret(key) {
            match value {
                Value::String(text) => self.add(text),
                Value::Array(items) => {
                    items.iter().filter_map(Value::as_str).for_each(|text| self.add(text));
                }
                Value::Object(_) => self.add_generated(value),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    /// Adds the texts below a map of secrets that look generated. Others may be ordinary words, such as
    /// the name of a user, and are masked in their place only.
    fn add_generated(&mut self, value: &Value) {
        match value {
            Value::String(text) if looks_generated(text) => self.add(text),
            Value::Array(items) => items.iter().for_each(|item| self.add_generated(item)),
            Value::Object(entries) => entries.values().for_each(|it| self.add_generated(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Adds everything below the value of a secret input.
    fn add_all(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add(text),
            Value::Number(number) => self.add(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add_all(item)),
            Value::Object(entries) => entries.values().for_each(|value| self.add_all(value)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn add(&mut self, text: &str) {
        // The scheme of an `Authorization` header is no secret; its token may appear without it.
        let schemes = ["Bearer ", "Basic ", "Token "];
        let bare = schemes.iter().find_map(|scheme| {
            let (start, rest) = text.split_at_checked(scheme.len())?;
            start.eq_ignore_ascii_case(scheme).then_some(rest)
        });
        let text = bare.unwrap_or(text).trim();
        if text.contains("{{") {
            return;
        }
        // The values of cookies and of fields in a signature.
        let parts = text.split(['=', ';', ',', ' ']).filter(|part| looks_generated(part));
        self.texts.extend(parts.map(str::to_owned));
        if text.chars().count() >= SECRET_CHARS_MIN && !PLACEHOLDERS.contains(&text) {
            self.texts.insert(text.to_owned());
        }
    }

    /// Returns the search for the secrets, as written and encoded.
    pub(super) fn search(&self) -> SecretSearch {
        let is_long = |text: &&String| text.chars().count() >= WITHIN_WORDS_MIN;
        let (long, short): (Vec<&String>, Vec<&String>) = self.texts.iter().partition(is_long);
        let encoded = long.into_iter().flat_map(|text| encodings(text));
        SecretSearch { anywhere: automaton(encoded), words: automaton(short) }
    }
}

fn automaton<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> AhoCorasick {
    // A longer secret is masked as a whole, also if another is its beginning.
    let mut builder = AhoCorasick::builder();
    builder.match_kind(MatchKind::LeftmostLongest);
    builder.build(texts).expect("the texts of a log have less than 2^31 bytes")
}

/// Finds the known secrets in texts.
pub(super) struct SecretSearch {
    /// Secrets that are masked wherever they appear.
    anywhere: AhoCorasick,
    /// Secrets that are masked as whole words.
    words: AhoCorasick,
}

impl SecretSearch {
    /// Returns a text with the known secrets masked.
    pub(super) fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let masked = replaced(&self.anywhere, text, |_, _| true).map_or(text.into(), Cow::Owned);
        match replaced(&self.words, &masked, is_word) {
            Some(words) => Cow::Owned(words),
            None => masked,
        }
    }
}

/// Replaces the chosen matches in a text; `None` if there are none.
fn replaced(
    search: &AhoCorasick,
    text: &str,
    is_chosen: impl Fn(&str, Range<usize>) -> bool,
) -> Option<String> {
    let (mut masked, mut at) = (String::new(), 0);
    for found in search.find_iter(text).map(|found| found.range()) {
        if is_chosen(text, found.clone()) {
            masked += &text[at..found.start];
            masked += MASKED;
            at = found.end;
        }
    }
    (at > 0).then(|| masked + &text[at..])
}

/// True if a part of a text neither begins nor ends within a word.
fn is_word(text: &str, part: Range<usize>) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    !text[..part.start].ends_with(is_letter) && !text[part.end..].starts_with(is_letter)
}

/// Returns a secret as written, within JSON, percent-encoded, and in base64 at any offset.
fn encodings(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    let percent: String = secret.bytes().map(percent_encoded).collect();
    let mut forms =
        vec![secret.to_owned(), json.trim_matches('"').to_owned(), percent.to_lowercase(), percent];
    for offset in 0..3 {
        let mut bytes = vec![0; offset];
        bytes.extend_from_slice(secret.as_bytes());
        // The characters that hold no bits of neighbours.
        let whole = (offset * 8).div_ceil(6)..bytes.len() * 8 / 6;
        for engine in [STANDARD, URL_SAFE] {
            forms.push(engine.encode(&bytes)[whole.clone()].to_owned());
        }
    }
    forms
}

fn percent_encoded(byte: u8) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    }
}
