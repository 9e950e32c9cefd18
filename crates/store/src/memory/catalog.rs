//! In-memory catalog.

use noetl_model::CatalogId;

use super::MemoryStore;
use crate::{CatalogEntry, NewPlaybook, PAGE_MAX, StoreError};

impl MemoryStore {
    pub(crate) async fn register(&self, playbook: NewPlaybook) -> Result<CatalogEntry, StoreError> {
        let NewPlaybook { catalog_id, path, kind, content, created_at } = playbook;
        let mut tables = self.lock();
        let versions = tables.catalog.entry(path.clone()).or_default();
        if let Some(newest) = versions.last()
            && newest.content == content
        {
            return Ok(newest.clone());
        }
        let version = versions.last().map_or(1, |newest| newest.version + 1);
        let entry = CatalogEntry { catalog_id, path, version, kind, content, created_at };
        versions.push(entry.clone());
        Ok(entry)
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

    pub(crate) async fn paths(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CatalogEntry>, StoreError> {
        let tables = self.lock();
        let paths = tables.catalog.iter();
        let paths = paths.filter(|(path, _)| after.is_none_or(|after| path.as_str() > after));
        let newest = paths.filter_map(|(_, versions)| versions.last());
        Ok(newest
            .take(limit.min(PAGE_MAX))
            .map(|entry| CatalogEntry { content: String::new(), ..entry.clone() })
            .collect())
    }
}
