//! Executions as a table.

use maud::{Markup, html};
use noetl_api::wire::ExecutionHistogram;
use noetl_app::{
    ExecutionList, ExecutionQuery, HistogramError, HistogramQuery, Initiator, KnownExecution,
    ListError,
};
use noetl_model::{ExecutionId, ExecutionStatus, LogOrigin, PermittedPaths, Summary};

use super::action::{Action, action, confirmed_as};
use super::duration::{duration, growing};
use super::id::{execution_address, execution_link, playbook_link};
use super::initiator::initiator_line;
use super::labels::label_links;
use super::progress::{ExecutionLine, progress, took};
use super::status::execution_status;
use super::table::{actions, keyed_table, number, text, wide};
use super::time::time;
use crate::error::PageError;
use crate::request::PageRequest;

/// Lists executions.
pub(crate) async fn query_executions(
    page: &PageRequest,
    query: &ExecutionQuery,
) -> Result<ExecutionList, PageError> {
    page.app().list_executions(query, &PermittedPaths::All).await.map_err(|error| match error {
        ListError::OffsetTooLarge => PageError::Refused(error.to_string()),
        ListError::Store(error) => error.into(),
    })
}

/// Counts executions by time and status; `None` if the query leaves no time.
pub(crate) async fn count_executions(
    page: &PageRequest,
    query: &HistogramQuery,
) -> Result<Option<ExecutionHistogram>, PageError> {
    match page.app().execution_histogram(query).await {
        Ok(counts) => Ok(Some(counts)),
        Err(HistogramError::EmptyTime | HistogramError::Buckets) => Ok(None),
        Err(HistogramError::Store(error)) => Err(error.into()),
    }
}

/// Adds to executions their initiators and the reasons why they do not advance. Subscriptions, which are listed as
/// executions too, are left out: they have a page of their own.
pub(crate) async fn listed(
    page: &PageRequest,
    executions: Vec<KnownExecution>,
) -> Result<Vec<ExecutionLine>, PageError> {
    let executions = executions.into_iter().filter(|known| match known.origin {
        LogOrigin::Native | LogOrigin::Imported => true,
        LogOrigin::Subscription => false,
    });
    let executions: Vec<KnownExecution> = executions.collect();
    let initiators = page.app().initiators(&executions).await?;
    let mut hints = page.app().hints_of(&executions).await?;
    let lines = executions.into_iter().zip(initiators).map(|(known, initiator)| {
        let hint = hints.remove(&known.summary.execution);
        ExecutionLine { summary: known.summary, initiator, hint }
    });
    Ok(lines.collect())
}

/// The id of the form that the ticks of a table belong to.
pub(crate) const SELECTION_FORM: &str = "selection";

/// Draws executions, each with its status, its times and what it does.
pub(crate) fn execution_table(page: &PageRequest, executions: &[ExecutionLine]) -> Markup {
    drawn_table(page, executions, false, &|_| None)
}

/// Draws executions with a tick each, if the visitor may act on them, and with a link that chooses
/// one for a comparison.
pub(crate) fn selectable_executions(
    page: &PageRequest,
    executions: &[ExecutionLine],
    compare: &dyn Fn(ExecutionId) -> Option<String>,
) -> Markup {
    drawn_table(page, executions, page.visitor.may.run, compare)
}

fn drawn_table(
    page: &PageRequest,
    executions: &[ExecutionLine],
    has_ticks: bool,
    compare: &dyn Fn(ExecutionId) -> Option<String>,
) -> Markup {
    let mut columns = vec![
        text(page.t("executions.status")),
        text(page.t("executions.playbook")),
        text(page.t("executions.id")),
        text(page.t("executions.started")),
        number(page.t("executions.took")),
        wide(page.t("executions.now")),
        actions(page.t("schedules.actions")),
    ];
    if has_ticks {
        columns.insert(0, actions(page.t("bulk.tick")));
    }
    let keyed_row = |listed: &ExecutionLine| {
        let mut cells = row(page, listed, compare(listed.summary.execution));
        if has_ticks {
            cells.insert(0, tick(page, &listed.summary));
        }
        (listed.summary.execution.to_string(), cells)
    };
    let rows: Vec<(String, Vec<Markup>)> = executions.iter().map(keyed_row).collect();
    html! { div.executions.comparable { (keyed_table(page.t("nav.executions"), &columns, &rows)) } }
}

/// Draws the tick that selects an execution.
fn tick(page: &PageRequest, summary: &Summary) -> Markup {
    let label = format!("{} {}", page.t("bulk.tick"), summary.execution);
    html! {
        input type="checkbox" name="id" value=(summary.execution) form=(SELECTION_FORM) aria-label=(label);
    }
}

fn row(page: &PageRequest, listed: &ExecutionLine, compare: Option<String>) -> Vec<Markup> {
    let summary = &listed.summary;
    vec![
        execution_status(page.words, summary.status),
        html! {
            (playbook_link(&summary.playbook.path)) " " span.soft { "v" (summary.playbook.version) }
            (started_by(page, &listed.initiator))
            (label_links(&summary.labels))
        },
        html! { span data-opens { (execution_link(summary.execution)) } },
        time(summary.started_at),
        took_so_far(page, summary),
        progress(page.words, listed, page.now),
        html! {
            @if let Some(address) = compare { a.choose href=(address) { (page.t("compare.choose")) } }
            @if page.visitor.may.run { (act(page, summary)) }
        },
    ]
}

/// Draws how long an execution took; of a running one it counts on.
fn took_so_far(page: &PageRequest, summary: &Summary) -> Markup {
    let took = took(summary, page.now);
    match summary.status.is_terminal() {
        true => duration(page.words, took),
        false => growing(page.words, took),
    }
}

/// Draws the initiator of an execution unless it is a request, as for most.
fn started_by(page: &PageRequest, initiator: &Initiator) -> Markup {
    match initiator {
        Initiator::Request => html! {},
        Initiator::Parent(_)
        | Initiator::Subscription { .. }
        | Initiator::Schedule { .. }
        | Initiator::Rerun(_)
        | Initiator::Fork(_)
        | Initiator::OtherProgram => html! { div.initiator { (initiator_line(page, initiator)) } },
    }
}

/// Draws the action that the status of an execution suggests.
fn act(page: &PageRequest, summary: &Summary) -> Markup {
    let address = |name: &str| format!("{}/{name}", execution_address(summary.execution));
    match summary.status {
        ExecutionStatus::Running => {
            let address = address("cancel");
            let cancel =
                Action { address: &address, label: page.t("executions.cancel"), fields: &[] };
            let question = page.t("executions.cancel_question");
            confirmed_as(page, &cancel, question, page.t("executions.cancel_this"))
        }
        ExecutionStatus::Failed => {
            let address = address("retry");
            action(
                page,
                &Action { address: &address, label: page.t("executions.retry"), fields: &[] },
            )
        }
        ExecutionStatus::Completed | ExecutionStatus::Cancelled => {
            let address = address("rerun");
            action(
                page,
                &Action { address: &address, label: page.t("executions.rerun"), fields: &[] },
            )
        }
    }
}
