//! Deletion of expired records.

use noetl_model::Timestamp;

/// The instants before which expired records are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// For results and objects: their expiry.
    pub expired: Timestamp,
    /// For payloads that neither a log nor a name refers to: the time they were last named.
    pub payloads: Timestamp,
    /// For keychain entries: their expiry. Until deletion, a lookup can tell that an entry has
    /// expired.
    pub keychain: Timestamp,
    /// For runtimes: their last heartbeat.
    pub runtimes: Timestamp,
    /// For audit entries: their time.
    pub audit: Timestamp,
    /// For places of the event feed: their time. A reader that is further behind misses the events.
    pub feed: Timestamp,
    /// For events of schedules, except the last [`SCHEDULE_EVENTS_KEPT`] of each: their time; for
    /// deactivated subscriptions: the time of the deactivation.
    pub history: Timestamp,
}

/// The number of events of each schedule that are kept whatever their age.
pub const SCHEDULE_EVENTS_KEPT: u64 = 1000;

impl Horizon {
    /// Returns a horizon before which nothing is.
    pub const fn nothing() -> Self {
        let epoch = Timestamp::from_micros(0);
        Self {
            expired: epoch,
            payloads: epoch,
            keychain: epoch,
            runtimes: epoch,
            audit: epoch,
            feed: epoch,
            history: epoch,
        }
    }
}

/// The number of deleted records by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    pub results: u64,
    pub payloads: u64,
    pub objects: u64,
    pub keychain: u64,
    pub runtimes: u64,
    pub audit: u64,
    /// Batches of places of the feed.
    pub feed: u64,
    /// Events of schedules, and deactivated subscriptions.
    pub history: u64,
}

impl Collected {
    pub fn total(self) -> u64 {
        let Self { results, payloads, objects, keychain, runtimes, audit, feed, history } = self;
        results + payloads + objects + keychain + runtimes + audit + feed + history
    }
}
