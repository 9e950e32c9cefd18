//! Reading, ending and forking executions.

mod end;
mod events;
mod list;
mod tree;

use noetl_api::wire::Pagination;
use noetl_api::{PublicEvent, value_or_reference};
use noetl_control::{ForkError, ForkRequest, LoadError};
use noetl_model::{Event, ExecutionId, ExecutionStatus, Recorded, Seq, Summary};
use noetl_store::{ExecutionFilter, Page, READ_EVENTS_MAX, StoreError};
use serde_json::Value;

use crate::app::App;
use crate::public_events::{Keep, events_after};
pub use end::{EndError, OldExecutions};
pub use events::{EventOrder, EventQuery};
pub use list::{ExecutionList, ExecutionQuery, ListError};
pub use tree::{ExecutionNode, ExecutionTree};

/// Maximum number of events shown with an execution.
const DETAIL_EVENTS_MAX: u64 = 2000;

/// An execution with its latest events, or a page of them.
#[derive(Debug, Clone)]
pub struct ExecutionOverview {
    pub summary: Summary,
    /// The execution's parameters, or a reference to fetch them from.
    pub workload: Value,
    /// The events of the page, oldest first.
    pub events: Vec<PublicEvent>,
    pub pagination: Pagination,
    /// The reason why the execution does not advance, if no worker takes its commands.
    pub hint: Option<String>,
}

/// The playbook of a fork.
#[derive(Debug, Clone, Copy)]
pub enum ForkPlaybook<'a> {
    /// A registered one, as the request says.
    Registered,
    /// A document that is registered if the fork is possible; `file` is its name in messages.
    Document { file: &'a str, content: &'a str },
}

impl App {
    /// Loads the summary of an execution; fails if it does not exist.
    pub async fn execution(&self, execution: ExecutionId) -> Result<Summary, LoadError> {
        let summary = self.control().summary(execution).await;
        let summary = summary.map_err(|error| LoadError::of_store(execution, error))?;
        summary.ok_or(LoadError::NotFound(execution))
    }

    /// Loads the summary of an execution, if it exists.
    pub async fn find_execution(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<Summary>, StoreError> {
        self.control().summary(execution).await
    }

    /// Reads up to `limit` events of an execution after a seq, in order.
    pub(crate) async fn events(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, LoadError> {
        let events = self.control().events(execution, after, limit).await;
        events.map_err(|error| LoadError::of_store(execution, error))
    }

    /// Lists a page of summaries, newest first.
    pub async fn summaries(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Summary>, StoreError> {
        self.control().list(filter, page).await
    }

    /// Loads an execution with a page of its events; with the latest events if `page` is `None`.
    pub async fn execution_overview(
        &self,
        execution: ExecutionId,
        page: Option<u64>,
        page_size: Option<u64>,
    ) -> Result<ExecutionOverview, LoadError> {
        let summary = self.execution(execution).await?;
        let first = self.events(execution, Seq::ZERO, 1).await?;
        let workload = match first.first().map(|recorded| &recorded.event) {
            Some(Event::ExecutionStarted { workload, .. }) => value_or_reference(workload),
            Some(_) | None => Value::Null,
        };
        let total = summary.seq.0;
        let hint = self.hint(&summary).await?;
        let size = page_size.unwrap_or(DETAIL_EVENTS_MAX).clamp(1, DETAIL_EVENTS_MAX);
        let pagination = Pagination::of(page, size, total);
        let (after, keep) = match page {
            Some(_) => ((pagination.page - 1).saturating_mul(size).min(total), Keep::All),
            None => (total.saturating_sub(size), Keep::Newest),
        };
        let limit = usize::try_from(size.min(total - after)).unwrap_or(READ_EVENTS_MAX);
        let events = events_after(self, execution, Seq(after), limit, keep).await?;
        let events = events.into_iter().map(|told| told.event).collect();
        Ok(ExecutionOverview { summary, workload, events, pagination, hint })
    }

    /// True if an execution was cancelled; an unknown execution was not.
    pub async fn is_cancelled(&self, execution: ExecutionId) -> Result<bool, StoreError> {
        let summary = self.control().summary(execution).await?;
        Ok(summary.is_some_and(|summary| summary.status == ExecutionStatus::Cancelled))
    }

    /// Reads a page of the log after an event; empty if there are no more events.
    pub async fn log(
        &self,
        execution: ExecutionId,
        after: Seq,
    ) -> Result<Vec<Recorded>, LoadError> {
        self.events(execution, after, READ_EVENTS_MAX).await
    }

    /// Waits for an event after `after`, and reads a page of the log from there.
    pub async fn next_log(
        &self,
        execution: ExecutionId,
        after: Seq,
    ) -> Result<Vec<Recorded>, LoadError> {
        let first = self.control().events_follow(execution, after).next().await?;
        let mut events = self.log(execution, after).await?;
        if events.is_empty() {
            events.push(first);
        }
        Ok(events)
    }

    /// Forks an execution; returns the summary of the fork.
    pub async fn fork(
        &self,
        request: ForkRequest,
        playbook: ForkPlaybook<'_>,
    ) -> Result<Summary, ForkError> {
        let fork = match playbook {
            ForkPlaybook::Registered => self.control().fork(request).await?,
            ForkPlaybook::Document { file, content } => {
                self.control().fork_onto(request, file, content).await?
            }
        };
        Ok(self.execution(fork).await?)
    }
}
