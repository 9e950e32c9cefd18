//! The priority of an execution.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The priority of an execution's commands: 0 to 9, higher first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

/// A number or text that is no priority.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a priority: it is a whole number from 0 to 9, higher first")]
pub struct BadPriority(String);

impl Priority {
    pub const LOWEST: Priority = Priority(0);
    pub const HIGHEST: Priority = Priority(9);

    /// Returns the priority as a number.
    pub const fn level(self) -> u8 {
        self.0
    }

    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self(5)
    }
}

impl TryFrom<u8> for Priority {
    type Error = BadPriority;

    fn try_from(level: u8) -> Result<Self, Self::Error> {
        if level <= Self::HIGHEST.0 { Ok(Self(level)) } else { Err(BadPriority(level.to_string())) }
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

impl FromStr for Priority {
    type Err = BadPriority;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BadPriority(text.chars().take(20).collect());
        let level: u8 = text.trim().parse().map_err(|_| bad())?;
        Self::try_from(level)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_a_number_from_0_to_9() {
        for (text, level) in
            [("0", Some(0)), (" 9 ", Some(9)), ("10", None), ("-1", None), ("", None), ("x", None)]
        {
            assert_eq!(text.parse().ok().map(Priority::level), level, "{text}");
        }
        assert!(serde_json::from_str::<Priority>("10").is_err());
        assert!(Priority::HIGHEST > Priority::default() && Priority::default() > Priority::LOWEST);
    }
}
