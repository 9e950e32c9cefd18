//! The catalog: registering, listing and loading documents.

use noetl_api::wire::CatalogPage;
use noetl_control::{AmbiguousName, EntryNameError, RegisterError, Registered};
use noetl_model::{CatalogId, Timestamp};
use noetl_playbook::{AnalysisLevel, CheckedDocument, ParseOptions, Problems, TargetWorkers};
use noetl_store::{CatalogEntry, CatalogQuery, EntryContents, EntryState, PAGE_MAX, StoreError};
use serde_json::Value;

use crate::app::App;
use crate::notifications::NOTIFICATION;

/// The kind of playbooks in the catalog.
const PLAYBOOK: &str = "playbook";
/// Name of the document in error messages.
const DOCUMENT: &str = "content";
/// Maximum number of paths in a list without contents.
pub(crate) const PATHS_MAX: usize = 10_000;
/// The text that the content of an agent contains.
const AGENT: &str = "agent";

/// The error of a text that is not a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`version` is a number, or `latest`")]
pub struct InvalidVersion;

/// Selects a catalog entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryChoice {
    Id(CatalogId),
    /// A version of a path; the newest if none is named.
    Path {
        path: String,
        version: Option<u32>,
    },
    /// A path or, if the catalog has no such path, a catalog id, `pbk_` and a catalog id, or the
    /// name of exactly one playbook.
    Named {
        name: String,
        version: Option<u32>,
    },
}

/// The reason why a catalog entry is not loaded or saved.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("the catalog has no such playbook")]
    Unknown,
    #[error(
        "{path} is a {kind}; only playbooks and notifications are archived. Pause or deactivate it instead"
    )]
    NotAPlaybook { path: String, kind: String },
    #[error("{} playbooks are named {}: {}; name one by its path", .0.paths.len(), .0.name, .0.paths.join(", "))]
    Ambiguous(AmbiguousName),
    #[error("the text is of {actual}, not of {expected}; register it apart")]
    OtherPath { actual: String, expected: String },
    #[error("{path} has version {newest} by now; the text was edited without it")]
    Changed { path: String, newest: u32 },
    #[error(transparent)]
    Register(#[from] RegisterError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<EntryNameError> for CatalogError {
    fn from(error: EntryNameError) -> Self {
        match error {
            EntryNameError::Ambiguous(names) => Self::Ambiguous(names),
            EntryNameError::Store(error) => Self::Store(error),
        }
    }
}

/// A page of catalog entries with contents, each at its newest version.
#[derive(Debug, Clone)]
pub struct CatalogEntries {
    pub entries: Vec<CatalogEntry>,
    /// The path after which the next page begins; `None` on the last page.
    pub next_after: Option<String>,
}

impl App {
    /// Registers a document, if it is valid; registering the same content again returns the same
    /// version.
    pub async fn register(&self, content: &str) -> Result<Registered, RegisterError> {
        self.control().register(DOCUMENT, content).await
    }

    /// Registers a document; `file` is its name in messages.
    pub async fn register_file(
        &self,
        file: &str,
        content: &str,
    ) -> Result<Registered, RegisterError> {
        self.control().register(file, content).await
    }

    /// Registers a document as the next version of the path of an entry, or of a named path; fails
    /// if the document has another path.
    pub async fn save(
        &self,
        content: &str,
        expected: Option<EntryPath>,
    ) -> Result<Registered, CatalogError> {
        self.checked_path(content, expected).await?;
        Ok(self.register(content).await?)
    }

    /// Does the same for a text that was edited from the version `base`, or from nothing: fails if
    /// the path has another newest version by now, with another text.
    pub async fn save_edited(
        &self,
        content: &str,
        expected: Option<EntryPath>,
        base: Option<u32>,
    ) -> Result<Registered, CatalogError> {
        let path = self.checked_path(content, expected).await?;
        let newest = self.find_entry(&EntryChoice::Path { path, version: None }).await?;
        match newest {
            Some(newest) if base != Some(newest.version) && newest.content != content => {
                Err(CatalogError::Changed { path: newest.path, newest: newest.version })
            }
            Some(_) | None => Ok(self.register(content).await?),
        }
    }

    /// Returns the path of a valid document; fails if it is not the expected one.
    async fn checked_path(
        &self,
        content: &str,
        expected: Option<EntryPath>,
    ) -> Result<String, CatalogError> {
        let expected = match expected {
            Some(EntryPath::Named(path)) => Some(path),
            Some(EntryPath::OfEntry(choice)) => Some(self.catalog_entry(&choice).await?.path),
            None => None,
        };
        let actual = path_of(document_of(content).map_err(RegisterError::Invalid)?);
        match expected {
            Some(expected) if actual != expected => {
                Err(CatalogError::OtherPath { actual, expected })
            }
            Some(_) | None => Ok(actual),
        }
    }

    /// Loads a catalog entry with its content.
    pub async fn catalog_entry(&self, choice: &EntryChoice) -> Result<CatalogEntry, CatalogError> {
        let found = match (self.find_entry(choice).await?, choice) {
            (None, EntryChoice::Named { name, version }) => {
                self.control().find_named(name, *version).await?
            }
            (found, _) => found,
        };
        found.ok_or(CatalogError::Unknown)
    }

    /// Archives the playbook of an entry with all its versions: it is not listed and starts nothing
    /// until it is restored. Its executions stay as they are. Returns the newest version.
    pub async fn archive(&self, choice: &EntryChoice) -> Result<CatalogEntry, CatalogError> {
        self.set_archived(choice, Some(self.now())).await
    }

    /// Restores the playbook of an entry with all its versions. Returns the newest version.
    pub async fn restore(&self, choice: &EntryChoice) -> Result<CatalogEntry, CatalogError> {
        self.set_archived(choice, None).await
    }

    async fn set_archived(
        &self,
        choice: &EntryChoice,
        archived_at: Option<Timestamp>,
    ) -> Result<CatalogEntry, CatalogError> {
        let CatalogEntry { path, kind, .. } = self.catalog_entry(choice).await?;
        let is_notification = kind == NOTIFICATION;
        if !kind.eq_ignore_ascii_case(PLAYBOOK) && !is_notification {
            return Err(CatalogError::NotAPlaybook { path, kind: kind.to_lowercase() });
        }
        let changed = self.store().set_archived(&path, archived_at).await?;
        let entry = changed.ok_or(CatalogError::Unknown)?;
        if is_notification {
            self.control().notices_changed();
        }
        tracing::info!(path, is_archived = entry.archived_at.is_some(), "catalog entry changed");
        Ok(entry)
    }

    /// Loads a catalog entry with its content, if it exists.
    pub async fn find_entry(
        &self,
        choice: &EntryChoice,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        self.reader().find_entry(choice).await
    }

    /// Lists every path that passes the filters at its newest version.
    pub async fn list_catalog(
        &self,
        page: &CatalogPage,
        contents: &EntryContents,
    ) -> Result<CatalogEntries, StoreError> {
        let limit = page.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
        let state = if page.archived { EntryState::Archived } else { EntryState::Active };
        let mut after = page.after.clone();
        let (mut entries, mut left_out) = (Vec::new(), page.offset);
        loop {
            let query = CatalogQuery {
                state,
                contents: contents.clone(),
                ..CatalogQuery::active(after.as_deref(), PAGE_MAX)
            };
            let rows = self.store().paths(&query).await?;
            let is_last = rows.len() < PAGE_MAX;
            let last = rows.last().map(|entry| entry.path.clone());
            for entry in rows {
                after = Some(entry.path.clone());
                if !page.admits(&entry.kind, &entry.path) {
                    continue;
                }
                if left_out > 0 {
                    left_out -= 1;
                    continue;
                }
                let path = entry.path.clone();
                entries.push(entry);
                if entries.len() == limit {
                    let next_after = after.filter(|_| !is_last || last != Some(path));
                    return Ok(CatalogEntries { entries, next_after });
                }
            }
            if is_last {
                return Ok(CatalogEntries { entries, next_after: None });
            }
        }
    }

    /// Lists the paths of a kind, ignoring case.
    pub async fn list_paths(&self, kind: String) -> Result<Vec<String>, StoreError> {
        let page = CatalogPage { resource_type: Some(kind), ..CatalogPage::default() };
        let entries = self.newest_entries(PATHS_MAX).await?.into_iter();
        let wanted = entries.filter(|entry| page.admits(&entry.kind, &entry.path));
        Ok(wanted.map(|entry| entry.path).collect())
    }

    /// Lists the playbooks marked as agents that pass the filters, each at its newest version.
    pub async fn list_agents(&self, page: &CatalogPage) -> Result<Vec<CatalogEntry>, StoreError> {
        let contents = EntryContents::Containing(AGENT.to_owned());
        let entries = self.active_entries(contents, PATHS_MAX).await?.into_iter();
        let wanted = entries.filter(|it| page.admits(&it.kind, &it.path));
        Ok(wanted.filter(is_agent).collect())
    }

    /// Loads up to `max` paths, each at its newest version, without contents.
    pub(crate) async fn newest_entries(&self, max: usize) -> Result<Vec<CatalogEntry>, StoreError> {
        self.active_entries(EntryContents::Omitted, max).await
    }

    async fn active_entries(
        &self,
        contents: EntryContents,
        max: usize,
    ) -> Result<Vec<CatalogEntry>, StoreError> {
        let mut query = CatalogQuery { contents, ..CatalogQuery::active(None, PAGE_MAX) };
        let mut entries: Vec<CatalogEntry> = Vec::new();
        loop {
            query.after = entries.last().map(|entry| entry.path.clone());
            let page = self.store().paths(&query).await?;
            let is_last = page.len() < PAGE_MAX;
            entries.extend(page);
            if is_last || entries.len() >= max {
                entries.truncate(max);
                return Ok(entries);
            }
        }
    }
}

/// The path that a saved document is expected to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryPath {
    Named(String),
    /// The path of a catalog entry.
    OfEntry(EntryChoice),
}

/// Checks a document without storing it; returns its warnings. A document that can be stored is
/// accepted: findings of the static analysis are warnings.
pub fn check_document(content: &str) -> Result<Problems, Problems> {
    checked_for(AnalysisLevel::Warn, content)
}

/// Returns all findings about a document; those that are certain are errors, also of a document that
/// can be stored.
pub(crate) fn findings_of(content: &str) -> Problems {
    checked_for(AnalysisLevel::Full, content).unwrap_or_else(|problems| problems)
}

fn checked_for(analysis: AnalysisLevel, content: &str) -> Result<Problems, Problems> {
    let options = ParseOptions { workers: TargetWorkers::Any, analysis };
    let document = noetl_playbook::parse_document_with(options, DOCUMENT, content.as_bytes());
    document.map(CheckedDocument::into_warnings)
}

fn document_of(content: &str) -> Result<CheckedDocument, Problems> {
    noetl_playbook::parse_document(DOCUMENT, content.as_bytes())
}

fn path_of(document: CheckedDocument) -> String {
    match document {
        CheckedDocument::Playbook(checked) => checked.playbook.metadata.path,
        CheckedDocument::Subscription(checked) => checked.subscription.metadata.path,
        CheckedDocument::Schedule(checked) => checked.schedule.metadata.path,
        CheckedDocument::Notification(checked) => checked.notification.metadata.path,
    }
}

/// True if a document has `metadata.agent: true`.
fn is_agent(entry: &CatalogEntry) -> bool {
    let parsed = noetl_playbook::parse(&entry.path, entry.content.as_bytes());
    let agent = |checked: noetl_playbook::CheckedPlaybook| {
        checked.playbook.metadata.all.get("agent").and_then(Value::as_bool)
    };
    parsed.ok().and_then(agent).unwrap_or(false)
}

/// Parses a version: a number, a number as text, or `latest`.
pub fn version_of(version: Option<&Value>) -> Result<Option<u32>, InvalidVersion> {
    let number = match version {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text == "latest" => return Ok(None),
        Some(Value::String(text)) => text.parse().ok(),
        Some(Value::Number(number)) => number.as_u64().and_then(|it| u32::try_from(it).ok()),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => None,
    };
    number.map(Some).ok_or(InvalidVersion)
}
