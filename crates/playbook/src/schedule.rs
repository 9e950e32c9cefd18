//! A schedule: which playbook is started, and at which instants.
//!
//! Invariant: the instants of a schedule depend on its document alone, so that every server
//! computes the same ones.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::tz::TimeZone;
use noetl_model::{Digest, Labels, Timestamp};
use serde_json::{Map, Value};

use crate::cron::Cron;
use crate::playbook::Metadata;

/// The time ranges searched for past instants, the shortest first, so that a frequent schedule is
/// not searched far back.
const LOOKS_BACK: &[Duration] = &[
    Duration::from_secs(3600),
    Duration::from_secs(86400),
    Duration::from_secs(7 * 86400),
    Duration::from_secs(400 * 86400),
];

/// A validated document of `kind: Schedule`.
#[derive(Debug, Clone)]
pub struct Schedule {
    pub metadata: Metadata,
    pub when: When,
    /// The upper limit of the random delay after an instant.
    pub jitter: Duration,
    pub overlap: Overlap,
    pub catch_up: CatchUp,
    pub playbook: String,
    pub pool: Option<String>,
    /// The payload of every execution.
    pub payload: Map<String, Value>,
    /// The labels of every execution, in addition to those of its playbook.
    pub labels: Labels,
}

/// The rule that gives the instants of a schedule.
#[derive(Debug, Clone)]
pub enum When {
    Cron {
        cron: Cron,
        zone: TimeZone,
    },
    /// Multiples of a duration since 1970, so that all servers agree.
    Every(Duration),
    Once(Timestamp),
}

/// The reaction to an instant while an earlier execution of the schedule is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// Start another execution concurrently.
    Allow,
    /// Skip the new execution.
    Skip,
    /// Start after the running execution has ended.
    Queue,
    /// Cancel the running execution.
    Cancel,
}

impl Overlap {
    pub fn as_str(self) -> &'static str {
        match self {
            Overlap::Allow => "allow",
            Overlap::Skip => "skip",
            Overlap::Queue => "queue",
            Overlap::Cancel => "cancel",
        }
    }
}

/// The treatment of instants that were missed because no server was running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUp {
    /// Missed instants are skipped.
    None,
    /// The latest missed instant is started.
    Last,
    /// All missed instants are started, up to a limit.
    All,
}

impl CatchUp {
    pub fn as_str(self) -> &'static str {
        match self {
            CatchUp::None => "none",
            CatchUp::Last => "last",
            CatchUp::All => "all",
        }
    }
}

impl Schedule {
    /// Returns a one-line description of the instants.
    pub fn timing(&self) -> String {
        match &self.when {
            When::Cron { cron, zone } => {
                format!("cron {} {}", cron.as_str(), zone.iana_name().unwrap_or("UTC"))
            }
            When::Every(every) => match jiff::SignedDuration::try_from(*every) {
                Ok(every) => format!("every {every:#}"),
                Err(_) => format!("every {}s", every.as_secs()),
            },
            When::Once(at) => format!("at {at}"),
        }
    }

    /// Returns the first instant after `after`.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match &self.when {
            When::Cron { cron, zone } => {
                let after = jiff::Timestamp::from_microsecond(after.as_micros()).ok()?;
                let next = cron.next_after(after, zone)?;
                Some(Timestamp::from_micros(next.as_microsecond()))
            }
            When::Every(every) => {
                let every = i64::try_from(every.as_micros()).ok()?.max(1);
                let next = after.as_micros().div_euclid(every) + 1;
                next.checked_mul(every).map(Timestamp::from_micros)
            }
            When::Once(at) => Some(*at).filter(|at| *at > after),
        }
    }

    /// Returns the latest instants after `after` and up to `until`, at most `max`, in order.
    pub fn latest(&self, after: Timestamp, until: Timestamp, max: usize) -> Vec<Timestamp> {
        let mut found = VecDeque::new();
        let looks = LOOKS_BACK.iter().map(|back| before(until, *back).max(after));
        for from in looks.chain([after]) {
            found.clear();
            let mut reached = from;
            while let Some(instant) = self.next_after(reached).filter(|it| *it <= until) {
                found.push_back(instant);
                if found.len() > max {
                    found.pop_front();
                }
                reached = instant;
            }
            if found.len() >= max || from == after {
                break;
            }
        }
        found.into()
    }

    /// Returns the start time of an instant's execution. The jitter is derived from a hash, so
    /// every server computes the same time.
    pub fn starts_at(&self, instant: Timestamp) -> Timestamp {
        let jitter = u64::try_from(self.jitter.as_micros()).unwrap_or(0);
        if jitter == 0 {
            return instant;
        }
        let digest = Digest::of(format!("{} {instant}", self.metadata.path).as_bytes());
        let drawn =
            digest.as_bytes().iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        instant.after(Duration::from_micros(drawn % jitter))
    }
}

/// Returns the time `duration` before `at`.
fn before(at: Timestamp, duration: Duration) -> Timestamp {
    let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(at.as_micros().saturating_sub(micros))
}
