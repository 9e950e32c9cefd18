//! The catalog of playbooks, in the embedded database or on a server.

use noetl_app::{CatalogEntry, EntryChoice, StoreReader};
use noetl_model::CatalogId;

use crate::args::ClientArgs;
use crate::backend;
use crate::config::Config;
use crate::remote::{Remote, refused};
use crate::show::failure::Failure;
use crate::wiring::database;

/// The most playbooks listed.
const ENTRIES_MAX: usize = 10_000;
/// The number of playbooks per request.
const PAGE: usize = 500;

/// A playbook of the catalog.
pub(crate) struct Entry {
    pub(crate) catalog_id: CatalogId,
    pub(crate) path: String,
    pub(crate) version: u32,
    pub(crate) created_at: String,
    /// The text; left out of lists.
    pub(crate) content: Option<String>,
}

impl From<CatalogEntry> for Entry {
    fn from(entry: CatalogEntry) -> Self {
        Self {
            catalog_id: entry.catalog_id,
            path: entry.path,
            version: entry.version,
            created_at: entry.created_at.to_string(),
            content: Some(entry.content).filter(|content| !content.is_empty()),
        }
    }
}

impl From<noetl_api::CatalogItem> for Entry {
    fn from(item: noetl_api::CatalogItem) -> Self {
        Self {
            catalog_id: item.catalog_id.into(),
            path: item.path,
            version: item.version,
            created_at: item.created_at,
            content: item.content,
        }
    }
}

/// The place where playbooks are looked up.
pub(crate) enum Catalog {
    Store(StoreReader),
    Server(Remote),
}

impl Catalog {
    pub(crate) async fn open(args: &ClientArgs, config: &Config) -> Result<Self, Failure> {
        if let Some(remote) = backend::server_of(args, config)? {
            return Ok(Self::Server(remote));
        }
        let path = database::path_of(&args.database, config);
        Ok(Self::Store(database::reader(&path, config).await?))
    }

    /// Lists the playbooks whose path contains a text, each at its newest version, sorted by path.
    pub(crate) async fn list(&self, part: Option<&str>) -> Result<Vec<Entry>, Failure> {
        let part = part.map(str::to_lowercase);
        let wanted =
            |path: &str| part.as_ref().is_none_or(|part| path.to_lowercase().contains(part));
        match self {
            Catalog::Store(store) => {
                let entries = store.paths(None, ENTRIES_MAX).await.map_err(Failure::broken)?;
                Ok(entries.into_iter().filter(|it| wanted(&it.path)).map(Entry::from).collect())
            }
            Catalog::Server(remote) => {
                let mut entries = Vec::new();
                while entries.len() < ENTRIES_MAX {
                    let page = remote.client().catalog(part.as_deref(), PAGE, entries.len());
                    let page = page.await.map_err(refused)?;
                    if page.is_empty() {
                        break;
                    }
                    entries.extend(page.into_iter().map(Entry::from));
                }
                Ok(entries)
            }
        }
    }

    /// Loads a playbook with its text; the newest version if none is given.
    pub(crate) async fn get(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<Entry>, Failure> {
        match self {
            Catalog::Store(store) => {
                let choice = EntryChoice::Path { path: path.to_owned(), version };
                let entry = store.find_entry(&choice).await.map_err(Failure::broken)?;
                Ok(entry.map(Entry::from))
            }
            Catalog::Server(remote) => {
                let item = remote.client().catalog_item(path, version).await.map_err(refused)?;
                Ok(item.map(Entry::from))
            }
        }
    }
}
