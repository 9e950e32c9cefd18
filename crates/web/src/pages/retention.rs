//! The retention of one execution: the rule that applies to it, the mark that keeps it, and its
//! deletion; and the page that remains of a deleted one.

mod template;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use noetl_app::{DeleteError, KeepMark, RetentionRule};
use noetl_model::{ExecutionId, Summary};

use crate::components::id::execution_address;
use crate::error::PageError;
use crate::form::SignedForm;
use crate::layout::{NavPlace, PageHead};
use crate::request::PageRequest;
use crate::response::{PageResult, see};

/// Returns the address of the page and of its forms.
pub(super) fn retention_address(execution: ExecutionId) -> String {
    format!("{}/retention", execution_address(execution))
}

#[derive(Debug)]
struct RetentionView {
    summary: Summary,
    mark: Option<KeepMark>,
    /// The rule that decides about the execution.
    rule: Option<RetentionRule>,
}

pub(super) async fn show(page: PageRequest, Path(id): Path<String>) -> PageResult {
    let summary = page.app().execution(execution_of(&id)?).await?;
    let view = RetentionView {
        mark: page.app().keep_mark(summary.execution).await?,
        rule: page.app().retention_rules().rule_of(&summary).cloned(),
        summary,
    };
    let head = PageHead { title: page.t("retention.title"), place: NavPlace::Executions };
    Ok(page.respond(&head, &template::retention(&page, &view)))
}

/// Keeps the execution, ends keeping it, or deletes it.
pub(super) async fn act(page: PageRequest, Path(id): Path<String>, form: SignedForm) -> PageResult {
    let execution = execution_of(&id)?;
    match form.get("action") {
        "keep" => {
            let reason = form.given("reason").map(str::to_owned);
            page.app().keep_execution(execution, reason, page.actor()).await.map(drop)?;
        }
        "end" => page.app().end_keeping(execution).await.map(drop)?,
        "delete" => {
            page.app().delete_execution(execution, page.actor()).await.map(drop)?;
            return Ok(see(&execution_address(execution)));
        }
        other => return Err(PageError::Unreadable(format!("there is no action `{other}`"))),
    }
    Ok(see(&retention_address(execution)))
}

/// Draws the page of a deleted execution.
pub(super) async fn show_deleted(
    page: &PageRequest,
    execution: ExecutionId,
) -> Result<Response, PageError> {
    let Some(tombstone) = page.app().tombstone(execution).await? else {
        let values = vec![("execution", execution.to_string())];
        return Err(PageError::not_found("error.no_execution", values));
    };
    let head = PageHead { title: page.t("retention.deleted"), place: NavPlace::Executions };
    Ok(page.respond_with(StatusCode::GONE, &head, &template::deleted(page, &tombstone)))
}

fn execution_of(text: &str) -> Result<ExecutionId, PageError> {
    text.parse().map_err(|_| PageError::UnknownPage)
}

impl From<DeleteError> for PageError {
    fn from(error: DeleteError) -> Self {
        match error {
            DeleteError::Kept { .. } | DeleteError::ReasonTooLong => {
                Self::Refused(error.to_string())
            }
            DeleteError::Load(error) => error.into(),
            DeleteError::Store(error) => error.into(),
        }
    }
}
