//! Registered workers and other components: their heartbeats and leases.

use std::time::Duration;

use noetl_api::WorkerNotice;
use noetl_api::wire::{PoolRegistration, PoolRow, WORKER_KIND};
use noetl_model::{Timestamp, WorkerId};
use noetl_store::{Runtime, RuntimeKey, StoreError};

use crate::app::App;

/// Kinds of components that may register.
const KINDS: &[&str] = &[WORKER_KIND, "server_api", "broker"];
/// Maximum length of a name, in bytes.
const NAME_MAX: usize = 500;
/// Number of lease durations without a heartbeat after which a worker counts as offline.
const SILENT_LEASES: u32 = 2;

/// The reason why an operation on a worker fails.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("`kind` is one of {}", KINDS.join(", "))]
    UnknownKind,
    #[error("the name of a worker has 1 to {NAME_MAX} bytes")]
    InvalidName,
    #[error("there is no {kind} {name}")]
    Unknown { kind: String, name: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Selects registered components.
#[derive(Debug, Clone, Default)]
pub struct WorkerFilter {
    /// The kind of component; workers if left out.
    pub kind: Option<String>,
    pub status: Option<String>,
    /// A part of the name.
    pub name: Option<String>,
}

fn kind_of(kind: Option<&str>) -> Result<&str, WorkerError> {
    let kind = kind.unwrap_or(WORKER_KIND);
    if KINDS.contains(&kind) {
        return Ok(kind);
    }
    Err(WorkerError::UnknownKind)
}

impl App {
    /// Registers a component.
    pub async fn register_worker(
        &self,
        registration: PoolRegistration,
    ) -> Result<PoolRow, WorkerError> {
        let kind = kind_of(registration.kind.as_deref())?.to_owned();
        if registration.name.is_empty() || registration.name.len() > NAME_MAX {
            return Err(WorkerError::InvalidName);
        }
        let kept = self.put_worker(kind, registration).await?;
        // Workers repeat their registration; only the first is logged.
        if kept.created_at == kept.updated_at {
            tracing::info!(worker = kept.key.name, kind = kept.key.kind, "worker registered");
        }
        Ok(view(kept, self.now(), Duration::MAX))
    }

    /// Renews the leases of a worker and records its heartbeat; returns the number of leases.
    pub async fn renew_worker(&self, name: &str, kind: Option<&str>) -> Result<u64, WorkerError> {
        let kind = kind_of(kind)?;
        let renewed = self.store().renew(&WorkerId::new(name), self.settings().lease).await?;
        let key = RuntimeKey { kind: kind.to_owned(), name: name.to_owned() };
        if !self.records().heard_runtime(&key, self.now()).await? {
            // The worker was silent for so long that its registration was deleted, and it does not
            // register again by itself.
            let registration = PoolRegistration {
                name: name.to_owned(),
                kind: Some(kind.to_owned()),
                uri: None,
                status: Some("ready".to_owned()),
                labels: None,
                capabilities: None,
                capacity: None,
                runtime: None,
            };
            self.put_worker(kind.to_owned(), registration).await?;
        }
        Ok(renewed)
    }

    /// Deregisters a worker; its commands are free for others at once. Returns their number.
    pub async fn deregister_worker(
        &self,
        name: &str,
        kind: Option<&str>,
    ) -> Result<u64, WorkerError> {
        let kind = kind_of(kind)?;
        let released = self.store().release(&WorkerId::new(name)).await?;
        let key = RuntimeKey { kind: kind.to_owned(), name: name.to_owned() };
        if !self.records().remove_runtime(&key).await? && released == 0 {
            let (kind, name) = (kind.to_owned(), name.to_owned());
            return Err(WorkerError::Unknown { kind, name });
        }
        Ok(released)
    }

    /// Lists the components registered with any server of the cluster.
    pub async fn list_workers(&self, filter: &WorkerFilter) -> Result<Vec<PoolRow>, WorkerError> {
        let kind = kind_of(filter.kind.as_deref())?;
        let silence = self.worker_silence();
        let (now, runtimes) = (self.now(), self.records().runtimes(kind).await?);
        let mut rows: Vec<PoolRow> =
            runtimes.into_iter().map(|runtime| view(runtime, now, silence)).collect();
        rows.retain(|row| {
            filter.status.as_ref().is_none_or(|status| row.status == *status)
                && filter.name.as_ref().is_none_or(|part| row.name.contains(part.as_str()))
        });
        Ok(rows)
    }

    /// Stores the registration of a worker that speaks the native protocol.
    pub async fn announce_worker(&self, notice: &WorkerNotice) -> Result<(), StoreError> {
        let registration = PoolRegistration::of(notice);
        self.put_worker(WORKER_KIND.to_owned(), registration).await.map(drop)
    }

    /// Frees the unfinished commands of a worker that ends, and deletes its registration; returns
    /// the number of commands.
    pub async fn release_worker(&self, worker: &WorkerId) -> Result<u64, StoreError> {
        let released = self.control().release(worker).await?;
        let key = RuntimeKey { kind: WORKER_KIND.to_owned(), name: worker.to_string() };
        self.records().remove_runtime(&key).await?;
        Ok(released)
    }

    /// Returns the public key that a worker has registered for the delivery of secrets.
    pub async fn worker_public_key(&self, worker: &str) -> Result<Option<String>, StoreError> {
        let key = RuntimeKey { kind: WORKER_KIND.to_owned(), name: worker.to_owned() };
        let runtime = self.records().runtime(&key).await?;
        let key = runtime
            .and_then(|it| it.runtime?.get("worker_public_key")?.as_str().map(str::to_owned));
        Ok(key)
    }

    /// Returns the time without a heartbeat after which a worker counts as offline.
    pub(crate) fn worker_silence(&self) -> Duration {
        self.settings().lease * SILENT_LEASES
    }

    async fn put_worker(
        &self,
        kind: String,
        registration: PoolRegistration,
    ) -> Result<Runtime, StoreError> {
        let now = self.now();
        let runtime = Runtime {
            id: self.next_id(),
            key: RuntimeKey { kind, name: registration.name },
            uri: registration.uri,
            status: registration.status.unwrap_or_else(|| "active".to_owned()),
            labels: registration.labels,
            capabilities: registration.capabilities,
            capacity: registration.capacity,
            runtime: registration.runtime,
            heartbeat: now,
            created_at: now,
            updated_at: now,
        };
        self.records().put_runtime(&runtime).await
    }
}

/// Converts a registered component for clients; without a heartbeat for `silence` it is offline.
fn view(runtime: Runtime, now: Timestamp, silence: Duration) -> PoolRow {
    let is_silent = now.since(runtime.heartbeat) > silence;
    PoolRow {
        runtime_id: runtime.id,
        name: runtime.key.name,
        kind: runtime.key.kind,
        uri: runtime.uri,
        status: if is_silent { "offline".to_owned() } else { runtime.status },
        labels: runtime.labels,
        capabilities: runtime.capabilities,
        capacity: runtime.capacity,
        runtime: runtime.runtime,
        heartbeat: runtime.heartbeat.to_string(),
        created_at: runtime.created_at.to_string(),
        updated_at: runtime.updated_at.to_string(),
    }
}
