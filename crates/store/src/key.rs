//! Start keys: names under which an execution is started once.
//!
//! A key is written in the transaction that starts its execution, so a start that fails leaves none
//! behind, and two starts under one key never both succeed.

use std::time::Duration;

use noetl_model::{Digest, ExecutionId, Timestamp};

/// The name under which an execution is started, and how long it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartKey {
    /// Whose keys it is among: the same name in two scopes is two keys.
    pub scope: String,
    pub name: String,
    /// For how long from the start on, by the store's clock, nothing else is started under it.
    pub keep: Duration,
    /// What was asked for, where the same key with another wish is a mistake.
    pub request: Option<Digest>,
}

impl StartKey {
    /// The key among those of all scopes.
    pub fn qualified(&self) -> (String, String) {
        (self.scope.clone(), self.name.clone())
    }
}

/// The execution that was started under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHolder {
    pub execution: ExecutionId,
    /// What was asked for when it was started, where that was said.
    pub request: Option<Digest>,
}

/// A key as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptKey {
    pub holder: KeyHolder,
    /// From then on it may be taken again.
    pub until: Timestamp,
}

impl KeptKey {
    /// What is kept of a key under which `execution` is started at `now`.
    pub fn of(key: &StartKey, execution: ExecutionId, now: Timestamp) -> Self {
        let holder = KeyHolder { execution, request: key.request };
        Self { holder, until: now.after(key.keep.min(KEEP_MAX)) }
    }

    /// Who holds the key at an instant, if anybody does.
    pub fn holder_at(&self, now: Timestamp) -> Option<KeyHolder> {
        (now < self.until).then_some(self.holder)
    }
}

/// The longest a key is kept: a hundred years.
pub const KEEP_MAX: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
