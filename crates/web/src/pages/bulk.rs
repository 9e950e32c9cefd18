//! Bulk jobs: the count before an action on many executions, the progress of a job, and its results.

mod template;

use axum::extract::{Path, Query};
use noetl_api::wire::{BulkItemList, BulkJobView, BulkPreview};
use noetl_app::{BulkAction, BulkChoice, BulkError, BulkFilter, BulkOutcome, BulkRequest};
use noetl_model::ExecutionId;

use super::executions::{FilterField, ListFilter};
use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};

/// Number of jobs in the list, and of results on the page of a job.
const LISTED: usize = 50;

/// The selection of an action: executions that were ticked, else all that match the filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ChosenExecutions {
    ids: Vec<ExecutionId>,
    filter: ListFilter,
}

/// The question before a job is created.
struct BulkQuestion {
    action: BulkAction,
    chosen: ChosenExecutions,
    preview: BulkPreview,
}

/// A job with a page of its results.
struct BulkJobPage {
    job: BulkJobView,
    outcome: Option<BulkOutcome>,
    items: BulkItemList,
}

impl ChosenExecutions {
    /// Returns the selection of a form. An id or a condition that cannot be read is an error: left
    /// out, it would select more executions than the visitor chose.
    fn of(page: &PageRequest, fields: &[(String, String)]) -> Result<Self, PageError> {
        let of = |wanted: &str| {
            let found = fields.iter().find(|(name, _)| name == wanted);
            found.map_or_else(String::new, |(_, value)| value.clone())
        };
        let filter = ListFilter::of(&of);
        if let Some(FilterField { word, text, .. }) = filter.invalid().first() {
            let values = vec![("field", page.t(word).to_owned()), ("text", (*text).to_owned())];
            return Err(PageError::refused("error.bad_filter", values));
        }
        let ids = fields.iter().filter(|(name, _)| name == "id");
        let ids = ids.flat_map(|(_, ids)| ids.split(',')).map(|id| {
            let bad_id = |_| PageError::refused("error.bad_id", vec![("text", id.to_owned())]);
            id.parse().map_err(bad_id)
        });
        Ok(Self { ids: ids.collect::<Result<_, _>>()?, filter })
    }

    fn request(&self, action: BulkAction, reason: Option<String>) -> BulkRequest {
        let choice = if self.ids.is_empty() {
            let query = self.filter.query();
            BulkChoice::Filter(BulkFilter {
                status: query.filter.status,
                path: None,
                path_part: query.filter.path.map(|path| path.folded()),
                catalog_id: query.filter.catalog_id,
                parent: query.filter.parent,
                started_after: query.started_after,
                started_before: query.started_before,
                labels: query.filter.labels,
                actor: query.filter.actor,
                text: query.filter.text,
            })
        } else {
            BulkChoice::Ids(self.ids.clone())
        };
        BulkRequest { action, choice, reason }
    }
}

/// Returns an action that a form can ask for. Deletion needs the permission of an administrator and
/// is requested by the API or the command line.
fn action_of(name: &str) -> Option<BulkAction> {
    named_action(name).filter(|action| *action != BulkAction::Delete)
}

fn named_action(name: &str) -> Option<BulkAction> {
    [BulkAction::Cancel, BulkAction::Retry, BulkAction::Rerun, BulkAction::Delete]
        .into_iter()
        .find(|action| action.as_str() == name)
}

/// Shows how many executions an action would change, or the jobs if no action is named.
pub(super) async fn show(
    page: PageRequest,
    Query(fields): Query<Vec<(String, String)>>,
) -> PageResult {
    let named = fields.iter().find(|(name, _)| name == "action");
    let Some(action) = named.and_then(|(_, action)| action_of(action)) else {
        let jobs = page.app().bulk_jobs(None, Some(LISTED)).await?;
        let head = PageHead { title: page.t("bulk.jobs"), place: NavPlace::Executions };
        return Ok(page.respond(&head, &template::jobs(&page, &jobs)));
    };
    let chosen = ChosenExecutions::of(&page, &fields)?;
    let preview = page.app().count_bulk(&chosen.request(action, None)).await?;
    let question = BulkQuestion { action, chosen, preview };
    let head = PageHead { title: page.t("bulk.title"), place: NavPlace::Executions };
    Ok(page.respond(&head, &template::question(&page, &question)))
}

/// Creates a job and shows its progress.
pub(super) async fn create(page: PageRequest, form: SignedForm) -> PageResult {
    let action = action_of(form.get("action")).ok_or(PageError::UnknownPage)?;
    let fields: Vec<(String, String)> =
        form.under("").map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let reason = form.given("reason").map(str::to_owned);
    let request = ChosenExecutions::of(&page, &fields)?.request(action, reason);
    let job = page.app().create_bulk(&request, form.given("key"), page.actor()).await?;
    Ok(see(&address(&job.job_id)))
}

/// Shows the progress and the results of a job.
pub(super) async fn show_job(
    page: PageRequest,
    Path(id): Path<String>,
    Query(fields): Query<Vec<(String, String)>>,
) -> PageResult {
    let id = id_of(&id)?;
    let of = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let outcome: Option<BulkOutcome> = of("outcome").and_then(|it| it.parse().ok());
    let before = of("after").and_then(|it| it.parse().ok());
    let job = page.app().bulk_job(id).await?;
    let items = page.app().bulk_items(id, before, outcome, Some(LISTED)).await?;
    let head = PageHead { title: page.t("bulk.title"), place: NavPlace::Executions };
    let shown = BulkJobPage { job, outcome, items };
    Ok(page.respond(&head, &template::job(&page, &shown)))
}

/// Stops a job.
pub(super) async fn stop(page: PageRequest, Path(id): Path<String>, _: SignedForm) -> PageResult {
    let job = page.app().stop_bulk(id_of(&id)?).await?;
    Ok(see(&address(&job.job_id)))
}

fn id_of(text: &str) -> Result<i64, PageError> {
    text.parse().map_err(|_| PageError::UnknownPage)
}

/// Returns the address of a job.
fn address(id: &str) -> String {
    format!("/ui/executions/bulk/{id}")
}

impl From<BulkError> for PageError {
    fn from(error: BulkError) -> Self {
        match error {
            BulkError::IdCount(_)
            | BulkError::TooMany
            | BulkError::ReasonTooLong
            | BulkError::Key(_)
            | BulkError::KeyReused(_)
            | BulkError::Contended(_) => Self::Refused(error.to_string()),
            BulkError::Unknown(_) => Self::NotFound(error.to_string()),
            BulkError::Store(error) => error.into(),
        }
    }
}
