//! Removes secrets from the output of tools. Secrets are found by value and never by the name of a
//! field: `author` is not a secret, and a token is one wherever it appears.
//!
//! A text is searched in three readings at once: as written, with percent-encoding and JSON escapes
//! decoded, and without white space, for wrapped base64 and hex. Each reading is one pass of an
//! Aho-Corasick automaton, so the cost is linear in the length of the text.

mod reading;
mod scan;
mod secrets;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use reading::ReadMode;
use scan::{Searcher, SecretScan};
use secrets::Patterns;

/// The text that replaces a secret.
pub const REDACTED: &str = "[REDACTED]";
/// The minimum length in bytes of a secret that is searched for; a shorter one could be ordinary
/// text.
pub const SECRET_MIN: usize = 6;

/// Replaces the secrets of credentials in texts and values. Clones share the automata.
#[derive(Clone, Default)]
pub struct Redactor {
    searchers: Arc<[Searcher]>,
    /// True if a secret may be written as a JSON number.
    is_numeric: bool,
}

impl Redactor {
    /// Creates a redactor for all secrets of some credentials, including the passwords in their
    /// URLs.
    pub fn of_credentials<'a>(
        credentials: impl IntoIterator<Item = &'a Map<String, Value>>,
    ) -> Self {
        let patterns = Patterns::of_credentials(credentials);
        let is_numeric = patterns.has_number();
        let readings = [
            (ReadMode::AsWritten, patterns.as_written),
            (ReadMode::Decoded, patterns.decoded),
            (ReadMode::Compact, patterns.compact),
        ];
        let searchers = readings
            .into_iter()
            .filter(|(_, patterns)| !patterns.is_empty())
            .map(|(reading, patterns)| Searcher::new(reading, patterns));
        Self { searchers: searchers.collect(), is_numeric }
    }

    /// True if there is nothing to search for.
    pub fn is_idle(&self) -> bool {
        self.searchers.is_empty()
    }

    /// Returns a text with the secrets replaced.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if text.len() < SECRET_MIN || self.is_idle() {
            return Cow::Borrowed(text);
        }
        let mut redaction = self.begin();
        redaction.scan(text.as_bytes());
        redaction.end_scans();
        if redaction.found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut kept = Vec::with_capacity(text.len());
        redaction.release(text.as_bytes(), text.len(), &mut kept);
        Cow::Owned(into_text(kept))
    }

    /// Replaces the secrets in a value, including the names of fields.
    pub fn json(&self, value: &mut Value) {
        if self.is_idle() {
            return;
        }
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if self.is_numeric
                    && let Cow::Owned(redacted) = self.text(&number.to_string())
                {
                    *value = Value::String(redacted);
                }
            }
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(fields) => {
                if fields.keys().any(|name| matches!(self.text(name), Cow::Owned(_))) {
                    let renamed = std::mem::take(fields).into_iter();
                    *fields = renamed
                        .map(|(name, value)| (self.text(&name).into_owned(), value))
                        .collect();
                }
                fields.values_mut().for_each(|field| self.json(field));
            }
        }
    }

    /// Begins the redaction of a text that arrives in pieces.
    pub(crate) fn begin(&self) -> Redaction {
        Redaction {
            scans: self.searchers.iter().map(SecretScan::new).collect(),
            redactor: self.clone(),
            pending: Vec::new(),
            scanned: 0,
            released: 0,
            covered: 0,
            found: Vec::new(),
        }
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor(..)")
    }
}

/// The redaction of one text that arrives in pieces. A byte is released once no partially matched
/// secret can still contain it, so a secret is found however the text is split.
#[derive(Debug)]
pub(crate) struct Redaction {
    redactor: Redactor,
    scans: Vec<SecretScan>,
    /// The bytes from `released` on.
    pending: Vec<u8>,
    /// The number of bytes scanned.
    scanned: usize,
    /// The number of bytes released or replaced.
    released: usize,
    /// The end of the last replaced secret.
    covered: usize,
    /// The positions of secrets that are not yet replaced.
    found: Vec<Range<usize>>,
}

impl Redaction {
    /// Scans the next piece and appends the bytes that are final to `kept`.
    pub(crate) fn push(&mut self, piece: &[u8], kept: &mut Vec<u8>) {
        if self.scans.is_empty() {
            kept.extend_from_slice(piece);
            return;
        }
        self.scan(piece);
        self.pending.extend_from_slice(piece);
        let settled = self.scans.iter().map(|scan| scan.settled(self.scanned)).min();
        self.release_pending(settled.unwrap_or(self.scanned), kept);
    }

    /// Ends the text and appends its rest to `kept`. The next piece begins a new text.
    pub(crate) fn finish(&mut self, kept: &mut Vec<u8>) {
        self.end_scans();
        self.release_pending(self.scanned, kept);
        *self = self.redactor.begin();
    }

    fn scan(&mut self, piece: &[u8]) {
        for (scan, searcher) in self.scans.iter_mut().zip(self.redactor.searchers.iter()) {
            for (at, &byte) in (self.scanned..).zip(piece) {
                scan.push(searcher, byte, at, &mut self.found);
            }
        }
        self.scanned += piece.len();
    }

    fn end_scans(&mut self) {
        for (scan, searcher) in self.scans.iter_mut().zip(self.redactor.searchers.iter()) {
            scan.finish(searcher, &mut self.found);
        }
    }

    fn release_pending(&mut self, until: usize, kept: &mut Vec<u8>) {
        let pending = std::mem::take(&mut self.pending);
        let from = self.released;
        self.release(&pending, until, kept);
        self.pending = pending;
        self.pending.drain(..self.released - from);
    }

    /// Appends the bytes from `released` to `until`, with secrets replaced. `bytes` begins at
    /// `released`.
    fn release(&mut self, bytes: &[u8], until: usize, kept: &mut Vec<u8>) {
        let base = self.released;
        let mut at = base;
        self.found.sort_unstable_by_key(|found| (found.start, found.end));
        let later = self.found.partition_point(|found| found.start < until);
        for found in self.found.drain(..later) {
            if self.covered <= found.start {
                kept.extend_from_slice(&bytes[at - base..found.start - base]);
                kept.extend_from_slice(REDACTED.as_bytes());
            }
            self.covered = self.covered.max(found.end);
            at = at.max(self.covered);
        }
        if at < until {
            kept.extend_from_slice(&bytes[at - base..until - base]);
        }
        self.released = at.max(until);
    }
}

/// Converts the remaining bytes to text. Secrets are texts, so the bytes between them are valid
/// UTF-8.
fn into_text(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

#[cfg(test)]
mod tests;
