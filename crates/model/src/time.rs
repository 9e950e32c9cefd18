//! Stored timestamps: microseconds since 1970 in UTC.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A point in time with microsecond precision. Wall time is data: events are never ordered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a time like 2026-01-31T09:30:00Z")]
pub struct ParseTimestampError(String);

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1000))
    }

    pub const fn as_micros(self) -> i64 {
        self.0
    }

    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Returns this instant plus a duration, saturating at the maximum.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// Returns the time since `earlier`; zero if this instant is not later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(instant) => write!(f, "{instant:.6}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>()
            .map(|instant| Self(instant.as_microsecond()))
            .map_err(|_| ParseTimestampError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses_rfc_3339_in_utc() {
        let instant = Timestamp::from_micros(1_794_741_966_505_656);
        assert_eq!(instant.to_string(), "2026-11-15T11:26:06.505656Z");
        assert_eq!(instant.to_string().parse(), Ok(instant));
        assert!("yesterday".parse::<Timestamp>().is_err());
    }

    #[test]
    fn since_an_instant_that_lies_ahead_is_nothing() {
        let (early, late) = (Timestamp::from_millis(1), Timestamp::from_millis(3));
        assert_eq!(late.since(early), Duration::from_millis(2));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
