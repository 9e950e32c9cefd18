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
}

impl Collected {
    pub fn total(self) -> u64 {
        let Self { results, payloads, objects, keychain, runtimes, audit } = self;
        results + payloads + objects + keychain + runtimes + audit
    }
}
