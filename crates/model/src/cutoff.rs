//! The event at which a replay stops.

use std::str::FromStr;

use thiserror::Error;

use crate::{EventId, Recorded, Seq, Timestamp};

/// Whole numbers up to this are seqs; larger ones are event ids, which contain a time.
const PLACE_MAX: i64 = u32::MAX as i64;

/// The last event that a replay includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cutoff {
    Latest,
    Seq(Seq),
    Event(EventId),
    Time(Timestamp),
}

impl Cutoff {
    /// True if the event is at or before the cutoff.
    pub fn admits(self, event: &Recorded) -> bool {
        match self {
            Cutoff::Latest => true,
            Cutoff::Seq(seq) => event.seq <= seq,
            Cutoff::Event(id) => event.event_id <= id,
            Cutoff::Time(instant) => event.at <= instant,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no place in a log: a number, the id of an event, a time or `latest`")]
pub struct ParseCutoffError(String);

impl Cutoff {
    /// Returns the cutoff for a whole number: a seq, or an event id if it is too large.
    pub fn at_number(number: i64) -> Self {
        match u64::try_from(number) {
            Ok(seq) if number <= PLACE_MAX => Cutoff::Seq(Seq(seq)),
            Ok(_) | Err(_) => Cutoff::Event(EventId(number)),
        }
    }
}

impl FromStr for Cutoff {
    type Err = ParseCutoffError;

    fn from_str(text: &str) -> Result<Self, ParseCutoffError> {
        if text == "latest" {
            return Ok(Cutoff::Latest);
        }
        if let Ok(number) = text.parse() {
            return Ok(Self::at_number(number));
        }
        text.parse().map(Cutoff::Time).map_err(|_| ParseCutoffError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Cutoff>) {
        assert_eq!(text.parse().ok(), expected, "{text}");
    }

    #[test]
    fn a_number_is_a_place_and_a_large_one_an_event() {
        check("17", Some(Cutoff::Seq(Seq(17))));
        check("320816801799737344", Some(Cutoff::Event(EventId(320_816_801_799_737_344))));
    }

    #[test]
    fn a_time_and_the_end_are_places_too() {
        check("1970-01-01T00:00:01Z", Some(Cutoff::Time(Timestamp::from_millis(1000))));
        check("latest", Some(Cutoff::Latest));
    }

    #[test]
    fn anything_else_is_no_place() {
        check("", None);
        check("yesterday", None);
    }
}
