//! Playbooks by another word than their path: a catalog id, or the name in their metadata.

use noetl_model::{CatalogId, ExecutionId};
use noetl_store::{CatalogEntry, CatalogQuery, EntryContents, EntryState, PAGE_MAX, StoreError};

use super::catalog::PLAYBOOK;
use crate::error::AmbiguousName;
use crate::{Control, LoadError, StartError};

/// The prefix of catalog ids in some clients.
const ID_PREFIX: &str = "pbk_";
/// The largest number of catalog pages searched for a name.
const PAGES_MAX: usize = 20;

/// The reason why a name leads to no catalog entry.
#[derive(Debug, thiserror::Error)]
pub enum EntryNameError {
    #[error("several playbooks have this name")]
    Ambiguous(AmbiguousName),
    #[error("the store did not answer")]
    Store(#[from] StoreError),
}

impl Control {
    /// Finds a catalog entry by a catalog id, by `pbk_` and a catalog id, or by the name of exactly
    /// one playbook. Active playbooks take precedence over archived ones with the same name.
    pub async fn find_named(
        &self,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, EntryNameError> {
        let store = &self.parts.store;
        let found = match id_of(name) {
            Some(id) => store.by_id(id).await?,
            None => None,
        };
        let found = match found {
            Some(entry) => Some(entry),
            None => self.with_name(name).await?,
        };
        match (found, version) {
            (Some(entry), Some(version)) if entry.version != version => {
                Ok(store.by_path(&entry.path, Some(version)).await?)
            }
            (found, _) => Ok(found),
        }
    }

    pub(super) async fn entry_named(
        &self,
        execution: ExecutionId,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StartError> {
        self.find_named(name, version).await.map_err(|error| match error {
            EntryNameError::Ambiguous(names) => StartError::AmbiguousName(names),
            EntryNameError::Store(error) => LoadError::of_store(execution, error).into(),
        })
    }

    /// Finds the only playbook with a name, at its newest version.
    async fn with_name(&self, name: &str) -> Result<Option<CatalogEntry>, EntryNameError> {
        if name.is_empty() {
            return Ok(None);
        }
        for state in [EntryState::Active, EntryState::Archived] {
            let mut found = self.all_with_name(name, state).await?;
            if found.len() > 1 {
                let paths = found.into_iter().map(|entry| entry.path).collect();
                let names = AmbiguousName { name: name.to_owned(), paths };
                return Err(EntryNameError::Ambiguous(names));
            }
            if let Some(only) = found.pop() {
                return Ok(Some(only));
            }
        }
        Ok(None)
    }

    async fn all_with_name(
        &self,
        name: &str,
        state: EntryState,
    ) -> Result<Vec<CatalogEntry>, StoreError> {
        let contents = EntryContents::Containing(name.to_owned());
        let mut query = CatalogQuery { state, contents, after: None, limit: PAGE_MAX };
        let mut found = Vec::new();
        for _ in 0..PAGES_MAX {
            let page = self.parts.store.paths(&query).await?;
            let is_last = page.len() < PAGE_MAX;
            query.after = page.last().map(|entry| entry.path.clone());
            found.extend(page.into_iter().filter(|entry| has_name(entry, name)));
            if is_last {
                break;
            }
        }
        Ok(found)
    }
}

fn id_of(name: &str) -> Option<CatalogId> {
    name.strip_prefix(ID_PREFIX).unwrap_or(name).parse().ok().map(CatalogId)
}

fn has_name(entry: &CatalogEntry, name: &str) -> bool {
    if !entry.kind.eq_ignore_ascii_case(PLAYBOOK) || !mentions_name(&entry.content, name) {
        return false;
    }
    let parsed = noetl_playbook::parse(&entry.path, entry.content.as_bytes());
    parsed.is_ok_and(|checked| checked.playbook.metadata.name == name)
}

/// True if a key `name` may have this value. Parsing a document is far more expensive.
fn mentions_name(content: &str, name: &str) -> bool {
    let quotes = ['"', '\''];
    content.match_indices("name").any(|(at, key)| {
        let rest = content[at + key.len()..].trim_start_matches(quotes).trim_start();
        let value = rest.strip_prefix(':').map(|value| value.trim_start());
        value.is_some_and(|value| value.trim_start_matches(quotes).starts_with(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_with_or_without_its_prefix() {
        for (text, expected) in [
            ("17", Some(17)),
            ("pbk_17", Some(17)),
            ("pbk_", None),
            ("pbk_x", None),
            ("hello", None),
            ("", None),
        ] {
            assert_eq!(id_of(text), expected.map(CatalogId), "{text}");
        }
    }

    #[test]
    fn a_name_is_found_in_every_notation() {
        for (content, expected) in [
            ("metadata:\n  name: hello\n", true),
            ("metadata: {name: hello}", true),
            ("metadata: {\"name\": \"hello\"}", true),
            ("metadata:\n  name:   'hello'\n", true),
            ("name: other # hello", false),
            ("path: hello", false),
            ("", false),
        ] {
            assert_eq!(mentions_name(content, "hello"), expected, "{content}");
        }
    }
}
