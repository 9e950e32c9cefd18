//! The event feed: all events of a store in one order, for readers that follow all executions.
//!
//! A batch of events gets its place when it is written, and is visible only once every batch with
//! an earlier place has been committed or rolled back. A reader that continues after its cursor
//! therefore misses nothing, in whatever order transactions commit. Each shard has its own places;
//! a cursor has one place for each shard.

use std::fmt;
use std::str::FromStr;

use noetl_model::{ExecutionId, Recorded, Timestamp};
use serde_json::Value;

use crate::FailedStanding;

/// The maximum number of events that one read of a feed returns.
pub const FEED_READ_MAX: usize = 1000;
/// The maximum number of shards in a cursor.
const CURSOR_PLACES_MAX: usize = 1024;

/// The read position in one shard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeedPlace {
    pub batch: i64,
    /// The number of events of `batch` that have been read.
    pub index: i64,
}

/// The read position in every shard; a shard that is not listed has not been read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedCursor(pub Vec<FeedPlace>);

impl FeedCursor {
    pub fn place(&self, shard: usize) -> FeedPlace {
        self.0.get(shard).copied().unwrap_or_default()
    }

    /// True if at least one shard has been read further than `end`.
    pub fn is_ahead_of(&self, end: &FeedCursor) -> bool {
        (0..self.0.len()).any(|shard| self.place(shard) > end.place(shard))
    }

    /// Returns the cursor with `shard` set to `place`.
    pub fn at(mut self, shard: usize, place: FeedPlace) -> Self {
        if self.0.len() <= shard {
            self.0.resize(shard + 1, FeedPlace::default());
        }
        self.0[shard] = place;
        self
    }
}

/// Formats `batch.index` of each shard in order, separated by `-`; `start` if the cursor is empty.
impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("start");
        }
        for (shard, place) in self.0.iter().enumerate() {
            let between = if shard > 0 { "-" } else { "" };
            write!(f, "{between}{}.{}", place.batch, place.index)?;
        }
        Ok(())
    }
}

/// The error for a text that is not a feed cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cursor that a feed has given out")]
pub struct NotACursor(String);

impl FromStr for FeedCursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        if text == "start" {
            return Ok(Self::default());
        }
        let place = |part: &str| {
            let (batch, index) = part.split_once('.')?;
            let place = FeedPlace { batch: batch.parse().ok()?, index: index.parse().ok()? };
            (place.batch >= 0 && place.index >= 0).then_some(place)
        };
        let places: Option<Vec<FeedPlace>> = text.split('-').map(place).collect();
        match places {
            Some(places) if places.len() <= CURSOR_PLACES_MAX => Ok(Self(places)),
            Some(_) | None => Err(NotACursor(text.to_owned())),
        }
    }
}

/// One event of the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedItem {
    pub execution: ExecutionId,
    /// The path of the execution's playbook.
    pub path: String,
    pub recorded: Recorded,
    /// The cursor of a reader that has read up to and including this event.
    pub cursor: FeedCursor,
}

/// A page of the feed and the cursor of the next page. Expired events are skipped, so an empty page
/// does not mean the end of the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedPage {
    pub items: Vec<FeedItem>,
    pub next: FeedCursor,
}

/// The point at which a reader starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedPoint {
    /// The oldest event in the store.
    Start,
    /// The end of the feed: only later events are read.
    End,
    /// Events written at this instant or later.
    Since(Timestamp),
}

/// A named feed: its filter and the cursor of its consumer.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedFeed {
    pub name: String,
    /// The filter as the creator of the feed wrote it.
    pub filter: Value,
    pub cursor: FeedCursor,
    pub created_at: Timestamp,
    /// The time of the last cursor move.
    pub moved_at: Timestamp,
    pub delivery: FeedDelivery,
}

/// The state of a feed's delivery to a subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FeedDelivery {
    /// The last delivery succeeded, or there was none yet.
    #[default]
    Working,
    /// The last deliveries failed.
    Failed {
        /// The number of consecutive failures; at least one.
        failures: u32,
        /// The reason of the last failure.
        reason: String,
        standing: FailedStanding,
    },
}

impl FeedDelivery {
    /// Returns the failures in a row, the reason of the last one and the time of the next attempt.
    pub fn columns(&self) -> (u32, Option<&str>, Option<Timestamp>) {
        match self {
            FeedDelivery::Working => (0, None, None),
            FeedDelivery::Failed { failures, reason, standing } => {
                (*failures, Some(reason), standing.until())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_ahead_if_it_is_in_any_shard() {
        let cursor = |text: &str| text.parse::<FeedCursor>().expect("a cursor");
        for (text, end, expected) in [
            ("5.1", "5.1", false),
            ("5.2", "5.1", true),
            ("4.9", "5.1", false),
            ("5.1-9.0", "5.1-8.3", true),
            ("start", "5.1", false),
            ("5.1", "start", true),
        ] {
            assert_eq!(cursor(text).is_ahead_of(&cursor(end)), expected, "{text} and {end}");
        }
    }

    #[track_caller]
    fn check(text: &str, places: &[(i64, i64)]) {
        let places = places.iter().map(|(batch, index)| FeedPlace { batch: *batch, index: *index });
        let cursor = FeedCursor(places.collect());
        assert_eq!(cursor.to_string(), text);
        assert_eq!(text.parse(), Ok(cursor));
    }

    #[test]
    fn a_cursor_reads_as_it_is_written() {
        check("start", &[]);
        check("7.2", &[(7, 2)]);
        check("7.2-0.0-9223372036854775807.1", &[(7, 2), (0, 0), (i64::MAX, 1)]);
    }

    #[test]
    fn an_invalid_cursor_of_a_feed_is_an_error() {
        for text in ["", "7", "7.", ".2", "7.2-", "-1.2", "x.y", "7.2.3", "end"] {
            assert!(text.parse::<FeedCursor>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_shard_that_is_not_named_has_not_been_read() {
        let place = FeedPlace { batch: 3, index: 1 };
        let cursor = FeedCursor::default().at(2, place);
        assert_eq!(cursor.to_string(), "0.0-0.0-3.1");
        assert_eq!((cursor.place(2), cursor.place(3)), (place, FeedPlace::default()));
    }
}
