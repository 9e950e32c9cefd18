//! The catalog: documents are validated before they are stored, and playbooks are compiled once.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard};

use lru::LruCache;
use noetl_engine::Execution;
use noetl_model::{CatalogId, ExecutionId, PlaybookRef};
use noetl_playbook::{
    AnalysisLevel, CheckedDocument, CheckedNotification, CheckedPlaybook, CheckedSchedule,
    CheckedSubscription, DeclaredInput, ParseOptions, Playbook, Problems, Schedule, TargetWorkers,
};
use noetl_store::{CatalogEntry, NewPlaybook, RegisteredVersion, StoreError};

use crate::error::{Damage, LoadError};
use crate::{Control, RegisterError};

/// The kind of playbooks in the catalog.
pub(crate) const PLAYBOOK: &str = "Playbook";
/// The kind of subscriptions in the catalog.
const SUBSCRIPTION: &str = "Subscription";
/// The kind of schedules in the catalog.
const SCHEDULE: &str = "Schedule";
/// The kind of notifications in the catalog.
pub(crate) const NOTIFICATION: &str = "Notification";

/// A document that has been registered.
#[derive(Debug, Clone)]
pub struct Registered {
    pub entry: CatalogEntry,
    /// Problems that do not prevent the document from running.
    pub warnings: Problems,
    /// True if the path was archived until now.
    pub is_restored: bool,
}

/// The cache of compiled playbooks.
#[derive(Debug)]
pub(crate) struct PlaybookCache {
    playbooks: Mutex<LruCache<CatalogId, Arc<Playbook>>>,
}

impl PlaybookCache {
    pub(crate) fn new(playbooks_max: NonZeroUsize) -> Self {
        Self { playbooks: Mutex::new(LruCache::sparse(playbooks_max)) }
    }

    /// Clears the cache, because the catalog may have lost versions.
    pub(crate) fn clear(&self) {
        self.playbooks().clear();
    }

    /// Returns a cached playbook; a version never changes.
    fn get(&self, id: CatalogId) -> Option<Arc<Playbook>> {
        self.playbooks().get(&id).map(Arc::clone)
    }

    fn put(&self, id: CatalogId, playbook: Arc<Playbook>) {
        self.playbooks().put(id, playbook);
    }

    fn playbooks(&self) -> MutexGuard<'_, LruCache<CatalogId, Arc<Playbook>>> {
        self.playbooks.lock().expect("nothing panics while it holds the playbooks")
    }
}

/// Returns the reference by which executions name a version.
pub(crate) fn reference_to(entry: &CatalogEntry) -> PlaybookRef {
    PlaybookRef { catalog_id: entry.catalog_id, path: entry.path.clone(), version: entry.version }
}

impl Control {
    /// Validates a document and stores it as the next version. `file` is its name in messages.
    pub async fn register(&self, file: &str, content: &str) -> Result<Registered, RegisterError> {
        // Executions that ran before must run again: findings of the analysis are warnings.
        let options = ParseOptions { workers: TargetWorkers::Any, analysis: AnalysisLevel::Warn };
        let document = noetl_playbook::parse_document_with(options, file, content.as_bytes());
        match document.map_err(RegisterError::Invalid)? {
            CheckedDocument::Playbook(CheckedPlaybook { playbook, warnings }) => {
                let RegisteredVersion { entry, is_restored } =
                    self.keep(PLAYBOOK, &playbook.metadata.path, content).await?;
                self.parts.playbooks.put(entry.catalog_id, Arc::new(playbook));
                Ok(Registered { entry, warnings, is_restored })
            }
            CheckedDocument::Subscription(CheckedSubscription { subscription, warnings }) => {
                let RegisteredVersion { entry, is_restored } =
                    self.keep(SUBSCRIPTION, &subscription.metadata.path, content).await?;
                // Registered at once, so that it can be activated and receive messages without a
                // further call.
                let registered = self.subscription_for(&entry.path).await;
                registered.map_err(RegisterError::Subscription)?;
                Ok(Registered { entry, warnings, is_restored })
            }
            CheckedDocument::Schedule(CheckedSchedule { schedule, warnings }) => {
                self.refuse_secret_payload(&schedule).await?;
                let RegisteredVersion { entry, is_restored } =
                    self.keep(SCHEDULE, &schedule.metadata.path, content).await?;
                let begun = self.begin_schedule(&entry, Arc::new(schedule)).await;
                begun.map_err(RegisterError::Schedule)?;
                Ok(Registered { entry, warnings, is_restored })
            }
            CheckedDocument::Notification(CheckedNotification { notification, warnings }) => {
                let RegisteredVersion { entry, is_restored } =
                    self.keep(NOTIFICATION, &notification.metadata.path, content).await?;
                self.notices_changed();
                Ok(Registered { entry, warnings, is_restored })
            }
        }
    }

    /// Fails if the payload of a schedule gives a secret input of its playbook, as far as the catalog
    /// has that playbook by now.
    async fn refuse_secret_payload(&self, schedule: &Schedule) -> Result<(), RegisterError> {
        let path = &schedule.playbook;
        let entry = self.parts.store.by_path(path, None).await.map_err(RegisterError::Store)?;
        let Some(entry) = entry else { return Ok(()) };
        let parsed = noetl_playbook::parse(path, entry.content.as_bytes());
        let Some(inputs) = parsed.ok().and_then(|checked| checked.playbook.inputs) else {
            return Ok(());
        };
        let given = |input: &&DeclaredInput| {
            schedule.payload.get(&input.name).is_some_and(|value| !value.is_null())
        };
        let given: Vec<String> =
            inputs.secrets().filter(given).map(|input| input.name.clone()).collect();
        if given.is_empty() {
            return Ok(());
        }
        Err(RegisterError::SecretPayload { playbook: path.clone(), inputs: given })
    }

    /// True if the newest playbook at a path has secret inputs; false if there is none.
    pub async fn has_secret_inputs(&self, path: &str) -> Result<bool, StoreError> {
        let Some(entry) = self.parts.store.by_path(path, None).await? else { return Ok(false) };
        let parsed = noetl_playbook::parse(path, entry.content.as_bytes());
        let inputs = parsed.ok().and_then(|checked| checked.playbook.inputs);
        Ok(inputs.is_some_and(|inputs| inputs.secrets().next().is_some()))
    }

    async fn keep(
        &self,
        kind: &str,
        path: &str,
        content: &str,
    ) -> Result<RegisteredVersion, RegisterError> {
        let registered = self.parts.store.register(NewPlaybook {
            catalog_id: CatalogId(self.parts.stamps.next_id()),
            path: path.to_owned(),
            kind: kind.to_owned(),
            content: content.to_owned(),
            created_at: self.parts.stamps.now(),
        });
        let registered = registered.await.map_err(RegisterError::Store)?;
        let RegisteredVersion { entry, is_restored } = &registered;
        tracing::info!(path = entry.path, version = entry.version, kind, is_restored, "registered");
        Ok(registered)
    }

    /// Returns the playbook of an execution.
    pub async fn playbook_of(&self, state: &Execution) -> Result<Arc<Playbook>, LoadError> {
        let (execution, id) = (state.id(), state.playbook().catalog_id);
        if let Some(playbook) = self.parts.playbooks.get(id) {
            return Ok(playbook);
        }
        let entry = self.parts.store.by_id(id).await;
        let entry = entry.map_err(|error| LoadError::of_store(execution, error))?;
        let entry = entry.ok_or(LoadError::damaged(execution, Damage::PlaybookMissing(id)))?;
        self.compiled(execution, &entry)
    }

    /// Compiles a catalog entry for an execution.
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
