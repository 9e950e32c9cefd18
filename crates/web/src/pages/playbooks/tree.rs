//! Paths as a tree of folders.

use std::collections::BTreeMap;

use noetl_app::CatalogEntry;

/// A folder of the catalog.
#[derive(Debug, Default)]
pub(super) struct Folder {
    pub(super) folders: BTreeMap<String, Folder>,
    pub(super) entries: Vec<CatalogEntry>,
}

impl Folder {
    pub(super) fn of(entries: Vec<CatalogEntry>) -> Self {
        let mut root = Self::default();
        for entry in entries {
            let mut folder = &mut root;
            let path = entry.path.clone();
            let mut names: Vec<&str> = path.split('/').collect();
            names.pop();
            for name in names {
                folder = folder.folders.entry(name.to_owned()).or_default();
            }
            folder.entries.push(entry);
        }
        root
    }

    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty() && self.entries.is_empty()
    }

    /// Returns the number of entries in this folder and below.
    pub(super) fn count(&self) -> usize {
        self.entries.len() + self.folders.values().map(Self::count).sum::<usize>()
    }
}
