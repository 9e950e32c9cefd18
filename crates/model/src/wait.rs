//! Waits of a step, and the signals that end them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Timestamp;

/// The largest number of characters in the name of a signal.
pub const SIGNAL_NAME_MAX: usize = 128;

/// The largest number of bytes in a correlation key.
pub const SIGNAL_KEY_MAX: usize = 512;

/// The condition that ends a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum WaitCondition {
    /// The wait ends at this time.
    Time { until: Timestamp },
    /// The wait ends with a signal of this name.
    Signal {
        name: SignalName,
        /// The correlation key: signals can be sent to it without naming the execution.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<SignalKey>,
    },
}

/// The result of a wait whose timeout has passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitTimeout {
    /// The wait fails with an error of kind `timeout`.
    #[default]
    Fail,
    /// The wait completes; `timed_out` in its output is true.
    Continue,
}

impl WaitTimeout {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The name of a signal: letters, digits, `.`, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SignalName(String);

/// A text that is no name of a signal.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not the name of a signal: a name has 1 to {SIGNAL_NAME_MAX} letters, digits, `.`, `_` or `-`"
)]
pub struct BadSignalName(String);

impl SignalName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SignalName {
    type Err = BadSignalName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let is_name = (1..=SIGNAL_NAME_MAX).contains(&text.len()) && text.chars().all(is_allowed);
        if is_name {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadSignalName(text.chars().take(SIGNAL_NAME_MAX).collect()))
        }
    }
}

impl fmt::Display for SignalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The correlation key of a wait: a text such as the number of an order, by which senders find the
/// wait without knowing its execution.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SignalKey(String);

/// A text that is no correlation key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a correlation key has 1 to {SIGNAL_KEY_MAX} bytes without control characters")]
pub struct BadSignalKey;

impl SignalKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SignalKey {
    type Err = BadSignalKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let is_key =
            (1..=SIGNAL_KEY_MAX).contains(&text.len()) && !text.chars().any(char::is_control);
        is_key.then(|| Self(text.to_owned())).ok_or(BadSignalKey)
    }
}

impl TryFrom<String> for SignalKey {
    type Error = BadSignalKey;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SignalKey> for String {
    fn from(key: SignalKey) -> Self {
        key.0
    }
}

impl fmt::Display for SignalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_signals_are_short_and_plain() {
        let long = "x".repeat(SIGNAL_NAME_MAX + 1);
        for (text, is_name) in [
            ("payment", true),
            ("order.paid_2-eu", true),
            ("", false),
            ("a b", false),
            ("a/b", false),
            ("größe", false),
            (&long, false),
        ] {
            assert_eq!(text.parse::<SignalName>().is_ok(), is_name, "{text}");
        }
    }
}
