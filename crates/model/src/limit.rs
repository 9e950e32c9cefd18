//! Limits that executions share: slots held at a time, or grants per time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Digest, Timestamp};

/// The largest length of the name of a limit, in bytes.
pub const LIMIT_NAME_MAX: usize = 256;
/// The largest number of slots of a limit.
pub const LIMIT_SLOTS_MAX: u32 = 100_000;
/// The largest number of grants of a rate in one second.
pub const LIMIT_RATE_MAX: u32 = 10_000;

/// The beginning of the names of limits on the executions of a playbook.
const PLAYBOOK_PREFIX: &str = "playbook:";

/// The name of a limit: text without control characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LimitName(String);

/// A text that is no name of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not the name of a limit: a name has 1 to {LIMIT_NAME_MAX} bytes and no control characters"
)]
pub struct BadLimitName(String);

impl LimitName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if the name is that of a limit on the executions of a playbook.
    pub fn is_of_playbook(&self) -> bool {
        self.0.starts_with(PLAYBOOK_PREFIX)
    }

    /// Returns the text before the names of limits of playbooks, and one after them, in the order of names.
    pub fn around_playbooks() -> (Self, Self) {
        let end = format!("{PLAYBOOK_PREFIX}{}", char::MAX);
        (Self(PLAYBOOK_PREFIX.to_owned()), Self(end))
    }

    /// Returns the name of the limit on the executions of a playbook and, with a key, of a value. A
    /// key that makes the name too long is replaced by its digest.
    pub fn of_playbook(path: &str, key: Option<&str>) -> Self {
        let path: String = path.chars().filter(|c| !c.is_control()).collect();
        let Some(key) = key else {
            return Self(bounded(&format!("playbook:{path}")));
        };
        let name = format!("playbook:{path}:{key}");
        let is_plain = name.len() <= LIMIT_NAME_MAX && !key.contains(char::is_control);
        if is_plain {
            return Self(name);
        }
        Self(bounded(&format!("playbook:{path}:{}", Digest::of(key.as_bytes()))))
    }
}

/// Returns a text, or its digest if it is too long for a name.
fn bounded(text: &str) -> String {
    if text.len() <= LIMIT_NAME_MAX {
        text.to_owned()
    } else {
        format!("playbook:{}", Digest::of(text.as_bytes()))
    }
}

impl FromStr for LimitName {
    type Err = BadLimitName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_name =
            (1..=LIMIT_NAME_MAX).contains(&text.len()) && !text.contains(char::is_control);
        if is_name {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadLimitName(text.chars().take(40).collect()))
        }
    }
}

impl fmt::Display for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The amount that a limit grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LimitAmount {
    /// At most `max` holders at a time.
    Slots { max: u32 },
    /// At most `count` grants in `per_ms` milliseconds, and at most `burst` at once.
    Rate { count: u32, per_ms: u64, burst: u32 },
}

impl LimitAmount {
    /// Returns the time between two grants of a rate; `None` for slots.
    pub fn interval(self) -> Option<Duration> {
        match self {
            LimitAmount::Slots { .. } => None,
            LimitAmount::Rate { count, per_ms, .. } => {
                Some(Duration::from_micros(per_ms.saturating_mul(1000) / u64::from(count.max(1))))
            }
        }
    }
}

impl fmt::Display for LimitAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitAmount::Slots { max } => write!(f, "{max} at a time"),
            LimitAmount::Rate { count, per_ms: 1000, burst } => {
                write!(f, "{count} per second, bursts of {burst}")
            }
            LimitAmount::Rate { count, per_ms, burst } => {
                write!(f, "{count} per {:?}, bursts of {burst}", Duration::from_millis(*per_ms))
            }
        }
    }
}

/// A limit as a playbook defines it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitDefinition {
    pub name: LimitName,
    pub amount: LimitAmount,
}

/// The treatment of an execution that finds no free slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// The execution waits for a slot.
    #[default]
    Queue,
    /// The execution is cancelled without running.
    Skip,
    /// The execution fails.
    Fail,
    /// The execution waits, and the holder that has had its slot longest is cancelled.
    CancelRunning,
}

impl OnConflict {
    pub const ALL: &'static [OnConflict] =
        &[OnConflict::Queue, OnConflict::Skip, OnConflict::Fail, OnConflict::CancelRunning];

    pub const fn as_str(self) -> &'static str {
        match self {
            OnConflict::Queue => "queue",
            OnConflict::Skip => "skip",
            OnConflict::Fail => "fail",
            OnConflict::CancelRunning => "cancel_running",
        }
    }

    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A limit at one moment, as the rule that grants its slots sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitState {
    pub amount: LimitAmount,
    /// The number of slots that are held. A slot of a rate is held until its command begins.
    pub holders: u64,
    /// The number of holders that were told to end.
    pub ending: u64,
    /// The first requests in the queue: by priority, then by time.
    pub queue: Vec<OnConflict>,
    /// For a rate, the time at which all grants of a burst are available again.
    pub full_at: Timestamp,
    /// The time at which the first request was to be granted, if it waits only for that time.
    pub due_at: Option<Timestamp>,
    pub now: Timestamp,
}

/// The changes to a limit that follow from its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitDecision {
    /// The decision about each request of the queue, in order.
    pub requests: Vec<SlotDecision>,
    /// The number of further holders that are told to end, longest held first.
    pub end: u64,
    pub full_at: Timestamp,
    /// The time at which the first request in the queue can be granted, if only time is needed.
    pub next_at: Option<Timestamp>,
}

/// The decision about one request for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotDecision {
    Granted,
    Waits,
    /// No slot is free, and the request does not want to wait.
    Denied,
}

/// The rule that decides which requests of a limit are granted.
pub type GrantRule = fn(&LimitState) -> LimitDecision;

/// A text that is no [`OnConflict`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not queue, skip, fail or cancel_running")]
pub struct UnknownOnConflict(String);

impl FromStr for OnConflict {
    type Err = UnknownOnConflict;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = OnConflict::ALL.iter().find(|known| known.as_str() == word);
        known.copied().ok_or_else(|| UnknownOnConflict(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_a_playbook_has_a_short_name_of_its_own() {
        let name = |path: &str, key: Option<&str>| LimitName::of_playbook(path, key).to_string();
        assert_eq!(name("jobs/daily", None), "playbook:jobs/daily");
        assert_eq!(name("jobs/daily", Some("acme")), "playbook:jobs/daily:acme");
        let long = "x".repeat(LIMIT_NAME_MAX);
        for (path, key) in [("a", Some(long.as_str())), (&long, None), (&long, Some("a"))] {
            assert!(name(path, key).len() <= LIMIT_NAME_MAX);
        }
        assert_ne!(name("a", Some(&long)), name("a", Some(&format!("{long}y"))));
        assert!(name("a", Some("x\ny")).parse::<LimitName>().is_ok());
        for bad in ["", "a\nb", &format!("{long}x")] {
            assert!(bad.parse::<LimitName>().is_err());
        }
    }

    #[test]
    fn words_of_conflicts_read_as_they_are_written() {
        for word in OnConflict::ALL {
            assert_eq!(word.as_str().parse(), Ok(*word));
            assert_eq!(serde_json::to_value(word).unwrap(), word.as_str());
        }
    }
}
