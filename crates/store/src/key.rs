//! Start keys: names under which an execution is started only once.
//!
//! A key is written in the transaction that starts its execution, so a failed start leaves no key,
//! and of two starts under one key at most one succeeds.

use std::time::Duration;

use noetl_model::{Digest, ExecutionId, Timestamp};

/// The key under which an execution is started, and how long the key is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartKey {
    /// The namespace of the key: the same name in two scopes is two keys.
    pub scope: String,
    pub name: String,
    /// The time from the start, by the store's clock, during which no other execution is started
    /// under this key.
    pub keep: Duration,
    /// The digest of the start request. The same key with a different digest is a mistake of the
    /// caller.
    pub request: Option<Digest>,
}

impl StartKey {
    /// Returns scope and name, which identify the key.
    pub fn qualified(&self) -> (String, String) {
        (self.scope.clone(), self.name.clone())
    }
}

/// The execution that was started under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHolder {
    pub execution: ExecutionId,
    /// The digest of the start request, if one was given.
    pub request: Option<Digest>,
}

/// A stored start key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptKey {
    pub holder: KeyHolder,
    /// The instant from which the key may be taken again.
    pub until: Timestamp,
}

impl KeptKey {
    /// Returns the row of a key under which `execution` is started at `now`.
    pub fn of(key: &StartKey, execution: ExecutionId, now: Timestamp) -> Self {
        let holder = KeyHolder { execution, request: key.request };
        Self { holder, until: now.after(key.keep.min(KEEP_MAX)) }
    }

    /// Returns the holder of the key at an instant; `None` if the key has expired.
    pub fn holder_at(&self, now: Timestamp) -> Option<KeyHolder> {
        (now < self.until).then_some(self.holder)
    }
}

/// The longest time a key is kept: a hundred years.
pub const KEEP_MAX: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
