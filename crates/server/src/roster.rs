//! The workers that have said that they are there: for people, and for autoscalers.
//!
//! Nothing depends on it: leases are kept in the store, and a worker that this process has not heard
//! of is as good as any other.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use noetl_api::wire::{PoolRegistration, PoolRow};
use noetl_model::Timestamp;

/// How many workers are remembered; the one that was silent longest is forgotten first.
const WORKERS_MAX: usize = 10_000;

/// What a worker registers as.
pub(crate) const WORKER_KIND: &str = "worker_pool";
/// Everything that may register.
pub(crate) const KINDS: &[&str] = &[WORKER_KIND, "server_api", "broker"];

#[derive(Debug, Default)]
pub(crate) struct Roster {
    rows: Mutex<BTreeMap<(String, String), Row>>,
}

#[derive(Debug, Clone)]
struct Row {
    runtime_id: i64,
    registration: PoolRegistration,
    heartbeat: Timestamp,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Roster {
    /// Takes a worker in, or what it says about itself now.
    pub(crate) fn register(
        &self,
        kind: &str,
        registration: PoolRegistration,
        fresh_id: i64,
        now: Timestamp,
    ) -> PoolRow {
        let mut rows = self.rows();
        let key = (kind.to_owned(), registration.name.clone());
        let known = rows.get(&key);
        let row = Row {
            runtime_id: known.map_or(fresh_id, |row| row.runtime_id),
            created_at: known.map_or(now, |row| row.created_at),
            heartbeat: now,
            updated_at: now,
            registration,
        };
        let shown = row.shown(kind, now, Duration::MAX);
        rows.insert(key, row);
        if rows.len() > WORKERS_MAX {
            let silent = rows.iter().min_by_key(|(_, row)| row.heartbeat);
            if let Some(key) = silent.map(|(key, _)| key.clone()) {
                rows.remove(&key);
            }
        }
        shown
    }

    /// Notes that a worker is there; says whether it is known.
    pub(crate) fn heard(&self, kind: &str, name: &str, now: Timestamp) -> bool {
        let key = (kind.to_owned(), name.to_owned());
        self.rows().get_mut(&key).map(|row| row.heartbeat = now).is_some()
    }

    /// Forgets a worker; says whether it was known.
    pub(crate) fn forget(&self, kind: &str, name: &str) -> bool {
        self.rows().remove(&(kind.to_owned(), name.to_owned())).is_some()
    }

    /// Everything of one kind, by name; what has been silent for `silence` is offline.
    pub(crate) fn list(&self, kind: &str, now: Timestamp, silence: Duration) -> Vec<PoolRow> {
        let rows = self.rows();
        let of_kind = rows.iter().filter(|((it, _), _)| it == kind);
        of_kind.map(|(_, row)| row.shown(kind, now, silence)).collect()
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<(String, String), Row>> {
        self.rows.lock().expect("nothing panics while it holds the roster")
    }
}

impl Row {
    fn shown(&self, kind: &str, now: Timestamp, silence: Duration) -> PoolRow {
        let registration = self.registration.clone();
        let is_silent = now.since(self.heartbeat) > silence;
        let status = registration.status.unwrap_or_else(|| "active".to_owned());
        PoolRow {
            runtime_id: self.runtime_id,
            name: registration.name,
            kind: kind.to_owned(),
            uri: registration.uri,
            status: if is_silent { "offline".to_owned() } else { status },
            labels: registration.labels,
            capabilities: registration.capabilities,
            capacity: registration.capacity,
            runtime: registration.runtime,
            heartbeat: self.heartbeat.to_string(),
            created_at: self.created_at.to_string(),
            updated_at: self.updated_at.to_string(),
        }
    }
}
