//! The line of descent: the executions above this one, and its children.

use maud::{Markup, html};
use noetl_app::{App, ExecutionFilter, ExecutionQuery, KnownExecution};
use noetl_model::{ExecutionStatus, Parent, Summary};

use super::view::ExecutionView;
use crate::components::execution_table::query_executions;
use crate::components::id::execution_address;
use crate::components::status::{Tone, status_word};
use crate::error::PageError;
use crate::request::PageRequest;

/// Maximum number of executions above this one that are shown.
const ABOVE_MAX: usize = 5;
/// Maximum number of children that are shown one by one.
const CHILDREN_MAX: usize = 4;

/// The executions above and below an execution.
#[derive(Debug, Clone, Default)]
pub(super) struct Descent {
    /// The execution that began it all first.
    above: Vec<Summary>,
    /// True if there are more executions above than are shown.
    is_cut: bool,
    /// The newest first.
    children: Vec<Summary>,
    has_more: bool,
}

impl Descent {
    pub(super) async fn load(page: &PageRequest, summary: &Summary) -> Result<Self, PageError> {
        let (above, is_cut) = above(page.app(), summary).await?;
        let filter =
            ExecutionFilter { parent: Some(summary.execution), ..ExecutionFilter::default() };
        let query =
            ExecutionQuery { filter, limit: Some(CHILDREN_MAX + 1), ..ExecutionQuery::default() };
        let found: Vec<KnownExecution> = query_executions(page, &query).await?.executions;
        let mut children: Vec<Summary> = found.into_iter().map(|known| known.summary).collect();
        let has_more = children.len() > CHILDREN_MAX;
        children.truncate(CHILDREN_MAX);
        Ok(Self { above, is_cut, children, has_more })
    }

    fn is_empty(&self) -> bool {
        self.above.is_empty() && self.children.is_empty()
    }
}

/// Loads the executions above one; the flag is true if there are more.
async fn above(app: &App, summary: &Summary) -> Result<(Vec<Summary>, bool), PageError> {
    let mut found = Vec::new();
    let mut next = parent_of(summary);
    while let Some(id) = next {
        if found.len() == ABOVE_MAX {
            return Ok((found, true));
        }
        // A parent may be a subscription, or deleted by the retention.
        let Some(known) = app.find_known(id).await? else { break };
        next = parent_of(&known.summary);
        found.insert(0, known.summary);
    }
    Ok((found, false))
}

fn parent_of(summary: &Summary) -> Option<noetl_model::ExecutionId> {
    match summary.parent {
        Some(Parent::Command(parent)) => Some(parent.execution),
        Some(Parent::Named { execution }) => Some(execution),
        None => None,
    }
}

/// Draws the line of descent as a fact of the head; nothing for an execution without relatives.
pub(super) fn descent(page: &PageRequest, view: &ExecutionView) -> Markup {
    let descent = &view.facts.descent;
    let list = format!("/ui/executions?parent={}", view.summary.execution);
    html! {
        @if !descent.is_empty() {
            div.descent { dt { (page.t("exec.descent")) } dd {
                @if descent.is_cut { "… › " }
                @for above in &descent.above { (relative(page, above)) " › " }
                strong { (name(&view.summary)) }
                @if !descent.children.is_empty() {
                    " › "
                    @for (index, child) in descent.children.iter().enumerate() {
                        @if index > 0 { ", " }
                        (relative(page, child))
                    }
                    " · " a href=(list) { (page.t(if descent.has_more { "exec.all_children" } else { "exec.list" })) }
                }
            } }
        }
    }
}

/// Draws a link to a relative, with a mark of its status.
fn relative(page: &PageRequest, summary: &Summary) -> Markup {
    let state = page.words.t(status_word(summary.status));
    let title = format!("{} {}, {state}", summary.playbook.path, summary.execution);
    let mark = match summary.status {
        ExecutionStatus::Running => "◐",
        ExecutionStatus::Completed => "✓",
        ExecutionStatus::Failed => "✕",
        ExecutionStatus::Cancelled => "⊘",
    };
    html! {
        span class={ "mark " (Tone::of(summary.status).class()) } aria-hidden="true" { (mark) }
        a href=(execution_address(summary.execution)) title=(title) { (name(summary)) }
        span.hidden { " " (state) }
    }
}

/// Returns the last part of the path of the playbook.
fn name(summary: &Summary) -> &str {
    let path = summary.playbook.path.as_str();
    path.rsplit('/').next().unwrap_or(path)
}
