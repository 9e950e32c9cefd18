//! The values of a playbook's page.

use noetl_app::{CatalogEntry, EntryChoice, ExecutionFilter, ExecutionQuery, PathFilter};

use super::VersionChoice;
use super::diff::{DiffLine, diff};
use super::inputs::{InputField, fields};
use crate::components::execution_table::{listed, query_executions};
use crate::components::progress::ExecutionLine;
use crate::error::PageError;
use crate::request::PageRequest;

/// Number of executions on the page.
const EXECUTIONS: usize = 10;
/// Maximum number of versions to choose from.
const VERSIONS_MAX: u32 = 50;

#[derive(Debug)]
pub(super) struct PlaybookView {
    pub(super) entry: CatalogEntry,
    pub(super) newest: u32,
    pub(super) compared: Option<Comparison>,
    pub(super) inputs: Vec<InputField>,
    pub(super) pool: String,
    /// The reason why the values of the form did not start an execution.
    pub(super) refusal: Option<String>,
    pub(super) executions: Vec<ExecutionLine>,
}

/// The differences of the shown version from another.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) version: u32,
    pub(super) lines: Vec<DiffLine>,
}

impl PlaybookView {
    pub(super) async fn load(
        page: &PageRequest,
        path: String,
        query: &VersionChoice,
    ) -> Result<Self, PageError> {
        let newest = entry(page, path.clone(), None).await?;
        let newest_version = newest.version;
        let shown = match query.version.parse() {
            Ok(version) if version != newest_version => {
                entry(page, path.clone(), Some(version)).await?
            }
            Ok(_) | Err(_) => newest,
        };
        let compared = match query.compare.parse() {
            Ok(version) => {
                let other = entry(page, path.clone(), Some(version)).await?;
                Some(Comparison { version, lines: diff(&other.content, &shown.content) })
            }
            Err(_) => None,
        };
        Ok(Self {
            newest: newest_version,
            compared,
            inputs: fields(&shown.content),
            pool: String::new(),
            refusal: None,
            executions: last_executions(page, path).await?,
            entry: shown,
        })
    }

    /// True if the document is a playbook and not a schedule or a subscription.
    pub(super) fn is_playbook(&self) -> bool {
        self.entry.kind.eq_ignore_ascii_case("playbook")
    }

    /// Returns the versions to choose from, newest first.
    pub(super) fn versions(&self) -> impl Iterator<Item = u32> + use<> {
        let oldest = self.newest.saturating_sub(VERSIONS_MAX - 1).max(1);
        (oldest..=self.newest).rev()
    }
}

/// Loads a version of a path; the newest if none is named.
pub(super) async fn entry(
    page: &PageRequest,
    path: String,
    version: Option<u32>,
) -> Result<CatalogEntry, PageError> {
    Ok(page.app().catalog_entry(&EntryChoice::Path { path, version }).await?)
}

async fn last_executions(
    page: &PageRequest,
    path: String,
) -> Result<Vec<ExecutionLine>, PageError> {
    let filter =
        ExecutionFilter { path: Some(PathFilter::Whole(path)), ..ExecutionFilter::default() };
    let query = ExecutionQuery { filter, limit: Some(EXECUTIONS), ..ExecutionQuery::default() };
    listed(page, query_executions(page, &query).await?.executions).await
}
