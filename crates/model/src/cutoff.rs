//! Where a replay stops.

use crate::{EventId, Recorded, Seq, Timestamp};

/// Where a replay stops. Inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cutoff {
    Latest,
    Seq(Seq),
    Event(EventId),
    Time(Timestamp),
}

impl Cutoff {
    /// Whether an event lies before the cutoff or on it.
    pub fn admits(self, event: &Recorded) -> bool {
        match self {
            Cutoff::Latest => true,
            Cutoff::Seq(seq) => event.seq <= seq,
            Cutoff::Event(id) => event.event_id <= id,
            Cutoff::Time(instant) => event.at <= instant,
        }
    }
}
