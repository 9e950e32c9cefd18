//! In-memory catalog.

use noetl_model::{CatalogId, Timestamp};

use super::MemoryStore;
use crate::{
    CatalogEntry, CatalogQuery, EntryContents, EntryState, NewPlaybook, PAGE_MAX,
    RegisteredVersion, StoreError,
};

impl MemoryStore {
    /// Adds a playbook version that another store has registered, with its id and number.
    pub fn insert_version(&self, entry: CatalogEntry) {
        let mut tables = self.lock();
        let versions = tables.catalog.entry(entry.path.clone()).or_default();
        versions.push(entry);
        versions.sort_by_key(|entry| entry.version);
    }

    pub(crate) async fn register(
        &self,
        playbook: NewPlaybook,
    ) -> Result<RegisteredVersion, StoreError> {
        let NewPlaybook { catalog_id, path, kind, content, created_at } = playbook;
        let mut tables = self.lock();
        let versions = tables.catalog.entry(path.clone()).or_default();
        let is_restored = versions.last().is_some_and(|newest| newest.archived_at.is_some());
        versions.iter_mut().for_each(|entry| entry.archived_at = None);
        if let Some(newest) = versions.last()
            && newest.content == content
        {
            return Ok(RegisteredVersion { entry: newest.clone(), is_restored });
        }
        let version = versions.last().map_or(1, |newest| newest.version + 1);
        let archived_at = None;
        let entry =
            CatalogEntry { catalog_id, path, version, kind, content, created_at, archived_at };
        versions.push(entry.clone());
        Ok(RegisteredVersion { entry, is_restored })
    }

    pub(crate) async fn set_archived(
        &self,
        path: &str,
        archived_at: Option<Timestamp>,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        let mut tables = self.lock();
        let Some(versions) = tables.catalog.get_mut(path) else {
            return Ok(None);
        };
        for entry in versions.iter_mut() {
            entry.archived_at = archived_at.map(|now| entry.archived_at.unwrap_or(now));
        }
        Ok(versions.last().cloned())
    }

    pub(crate) async fn by_id(
        &self,
        catalog_id: CatalogId,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        let tables = self.lock();
        let mut entries = tables.catalog.values().flatten();
        Ok(entries.find(|entry| entry.catalog_id == catalog_id).cloned())
    }

    pub(crate) async fn by_path(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        let tables = self.lock();
        let Some(versions) = tables.catalog.get(path) else {
            return Ok(None);
        };
        Ok(match version {
            Some(version) => versions.iter().find(|entry| entry.version == version).cloned(),
            None => versions.last().cloned(),
        })
    }

    pub(crate) async fn entries_of_kind(
        &self,
        kind: &str,
        state: EntryState,
    ) -> Result<Vec<CatalogEntry>, StoreError> {
        let tables = self.lock();
        let newest = tables.catalog.values().filter_map(|versions| versions.last());
        let wanted = newest.filter(|entry| {
            let is_archived = entry.archived_at.is_some();
            entry.kind == kind && is_archived == (state == EntryState::Archived)
        });
        Ok(wanted.take(PAGE_MAX).cloned().collect())
    }

    pub(crate) async fn paths(
        &self,
        query: &CatalogQuery,
    ) -> Result<Vec<CatalogEntry>, StoreError> {
        let CatalogQuery { state, contents, after, limit } = query;
        let tables = self.lock();
        let newest = tables.catalog.values().filter_map(|versions| versions.last());
        let wanted = newest.filter(|entry| {
            let is_in_state = match state {
                EntryState::Active => entry.archived_at.is_none(),
                EntryState::Archived => entry.archived_at.is_some(),
            };
            is_in_state
                && after.as_ref().is_none_or(|after| entry.path > *after)
                && entry.content.contains(contents.text())
        });
        let listed = wanted.take((*limit).min(PAGE_MAX)).cloned().map(|entry| match contents {
            EntryContents::Omitted => CatalogEntry { content: String::new(), ..entry },
            EntryContents::Included | EntryContents::Containing(_) => entry,
        });
        Ok(listed.collect())
    }
}
