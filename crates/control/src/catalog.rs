//! Playbooks: checked before they are kept, compiled once.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard};

use lru::LruCache;
use noetl_engine::Execution;
use noetl_model::{CatalogId, ExecutionId};
use noetl_playbook::{Playbook, Problems};
use noetl_store::{CatalogEntry, NewPlaybook};

use crate::error::{Damage, LoadError};
use crate::{Control, RegisterError};

/// How the catalog calls what is registered here.
const KIND: &str = "Playbook";

/// A playbook that has been registered.
#[derive(Debug, Clone)]
pub struct Registered {
    pub entry: CatalogEntry,
    /// What its author may want to know; it can be run all the same.
    pub warnings: Problems,
}

/// The playbooks compiled lately.
#[derive(Debug)]
pub(crate) struct PlaybookCache {
    playbooks: Mutex<LruCache<CatalogId, Arc<Playbook>>>,
}

impl PlaybookCache {
    pub(crate) fn new(playbooks_max: NonZeroUsize) -> Self {
        Self { playbooks: Mutex::new(LruCache::sparse(playbooks_max)) }
    }

    fn get(&self, id: CatalogId) -> Option<Arc<Playbook>> {
        self.playbooks().get(&id).cloned()
    }

    fn put(&self, id: CatalogId, playbook: Arc<Playbook>) {
        self.playbooks().put(id, playbook);
    }

    fn playbooks(&self) -> MutexGuard<'_, LruCache<CatalogId, Arc<Playbook>>> {
        self.playbooks.lock().expect("nothing panics while it holds the playbooks")
    }
}

impl Control {
    /// Checks a document and keeps it as the next version of its path. `file` is its name in
    /// messages.
    pub async fn register(&self, file: &str, content: &str) -> Result<Registered, RegisterError> {
        let checked =
            noetl_playbook::parse(file, content.as_bytes()).map_err(RegisterError::Invalid)?;
        let entry = self.parts.store.register(NewPlaybook {
            catalog_id: CatalogId(self.parts.stamps.next_id()),
            path: checked.playbook.metadata.path.clone(),
            kind: KIND.to_owned(),
            content: content.to_owned(),
            created_at: self.parts.stamps.now(),
        });
        let entry = entry.await.map_err(RegisterError::Store)?;
        tracing::info!(path = entry.path, version = entry.version, "playbook registered");
        self.parts.playbooks.put(entry.catalog_id, Arc::new(checked.playbook));
        Ok(Registered { entry, warnings: checked.warnings })
    }

    /// The playbook that an execution runs.
    pub(crate) async fn playbook_of(&self, state: &Execution) -> Result<Arc<Playbook>, LoadError> {
        let (execution, id) = (state.id(), state.playbook().catalog_id);
        if let Some(playbook) = self.parts.playbooks.get(id) {
            return Ok(playbook);
        }
        let entry = self.parts.store.by_id(id).await;
        let entry = entry.map_err(|error| LoadError::of_store(execution, error))?;
        let entry = entry.ok_or(LoadError::damaged(execution, Damage::PlaybookMissing(id)))?;
        self.compiled(execution, &entry)
    }

    /// A catalog entry, compiled for an execution.
    pub(crate) fn compiled(
        &self,
        execution: ExecutionId,
        entry: &CatalogEntry,
    ) -> Result<Arc<Playbook>, LoadError> {
        let id = entry.catalog_id;
        if let Some(playbook) = self.parts.playbooks.get(id) {
            return Ok(playbook);
        }
        let checked = noetl_playbook::parse(&entry.path, entry.content.as_bytes());
        let checked = checked.map_err(|problems| {
            LoadError::damaged(execution, Damage::PlaybookInvalid(id, problems))
        })?;
        let playbook = Arc::new(checked.playbook);
        self.parts.playbooks.put(id, Arc::clone(&playbook));
        Ok(playbook)
    }
}
