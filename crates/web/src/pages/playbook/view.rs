//! The values of a playbook's page.

use noetl_api::wire::PauseView;
use noetl_app::{CatalogEntry, EntryChoice, ExecutionFilter, ExecutionQuery, PathFilter};
use noetl_model::Summary;
use noetl_playbook::parse;

use super::VersionChoice;
use super::diff::{DiffLine, diff};
use super::inputs::{InputField, fields};
use crate::components::execution_table::{listed, query_executions};
use crate::components::progress::ExecutionLine;
use crate::error::PageError;
use crate::request::PageRequest;

/// Number of executions on the page.
const EXECUTIONS: usize = 10;
/// Number of executions whose durations are drawn.
const DURATIONS: usize = 40;
/// Maximum number of versions to choose from.
const VERSIONS_MAX: u32 = 50;

#[derive(Debug)]
pub(super) struct PlaybookView {
    pub(super) entry: CatalogEntry,
    pub(super) newest: u32,
    pub(super) compared: Option<Comparison>,
    pub(super) inputs: Vec<InputField>,
    pub(super) pool: String,
    /// The labels of the form.
    pub(super) labels: String,
    /// The reason why the values of the form did not start an execution.
    pub(super) refusal: Option<String>,
    /// The names of the steps; none if this server cannot read the version.
    pub(super) steps: Vec<String>,
    pub(super) executions: Vec<ExecutionLine>,
    /// The pause of the playbook, if it is paused.
    pub(super) pause: Option<PauseView>,
    /// The last executions, newest first, for their durations.
    pub(super) durations: Vec<Summary>,
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
        let pause = pause_of(page, &path).await?;
        let (executions, durations) = last_executions(page, path).await?;
        Ok(Self {
            newest: newest_version,
            compared,
            inputs: fields(&shown.content),
            pool: String::new(),
            labels: String::new(),
            refusal: None,
            pause,
            steps: step_names(&shown.content),
            executions,
            durations,
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

fn step_names(content: &str) -> Vec<String> {
    let parsed = parse("playbook", content.as_bytes());
    parsed.map_or_else(
        |_| Vec::new(),
        |checked| checked.playbook.steps.iter().map(|step| step.name.to_string()).collect(),
    )
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
) -> Result<(Vec<ExecutionLine>, Vec<Summary>), PageError> {
    let filter =
        ExecutionFilter { path: Some(PathFilter::Whole(path)), ..ExecutionFilter::default() };
    let query = ExecutionQuery { filter, limit: Some(DURATIONS), ..ExecutionQuery::default() };
    let mut found = query_executions(page, &query).await?.executions;
    let durations = found.iter().map(|known| known.summary.clone()).collect();
    found.truncate(EXECUTIONS);
    Ok((listed(page, found).await?, durations))
}

async fn pause_of(page: &PageRequest, path: &str) -> Result<Option<PauseView>, PageError> {
    let mut pauses = page.app().pause_list().await?.pauses.into_iter();
    Ok(pauses.find(|it| it.kind == "playbook" && it.name == path && !it.is_ending))
}
