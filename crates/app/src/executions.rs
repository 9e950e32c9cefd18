//! Reading, ending and forking executions.

mod awaited_end;
mod end;
mod events;
mod histogram;
mod import;
mod initiator;
mod kept_signals;
mod known;
mod list;
mod reported;
mod signal;
mod signal_waits;
mod tree;

use std::collections::BTreeMap;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use noetl_api::wire::Pagination;
use noetl_api::{PublicEvent, value_or_reference};
use noetl_compat::with_derived;
use noetl_control::{ForkError, ForkRequest, LoadError};
use noetl_model::{
    Event, ExecutionId, ExecutionStatus, LogOrigin, Recorded, Seq, StepName, StepStatus, Summary,
    Timestamp,
};
use noetl_store::{READ_EVENTS_MAX, StoreError};
use serde_json::Value;

use crate::app::App;
use crate::public_events::{ConvertedEvent, Keep, events_after};
use crate::unserved_pools::WaitHint;
pub use awaited_end::EndedExecution;
pub use end::{EndError, OldExecutions};
pub use events::{EventOrder, EventQuery};
pub use histogram::{HistogramError, HistogramQuery};
pub use initiator::Initiator;
pub use kept_signals::{DropSignalError, KeptSignalFilter};
pub use known::KnownExecution;
pub(crate) use known::KnownLogs;
pub use list::{ExecutionList, ExecutionQuery, ListError};
pub(crate) use reported::place_of;
pub use signal::{KeyedSignalResult, SignalError};
pub use signal_waits::{OpenSignalWait, OpenSignalWaits};
pub use tree::{ExecutionNode, ExecutionTree};

/// Maximum number of events that follow the end of an execution, such as notifications and late
/// reports.
const LATE_EVENTS_MAX: u64 = 96;

/// Maximum number of executions of a list whose waits are explained.
pub const HINTS_MAX: usize = 100;
/// Maximum number of executions whose waits are looked up at the same time.
const HINTS_AT_ONCE_MAX: usize = 8;

/// Maximum number of events shown with an execution.
const DETAIL_EVENTS_MAX: u64 = 2000;

/// An execution with its latest events, or a page of them.
#[derive(Debug, Clone)]
pub struct ExecutionOverview {
    pub known: KnownExecution,
    /// The execution's parameters, or a reference to fetch them from.
    pub workload: Value,
    /// The output of a completed execution, or a reference to fetch it from.
    pub result: Option<Value>,
    /// The latest events, oldest first; the events of a page, newest first.
    pub events: Vec<PublicEvent>,
    pub pagination: Pagination,
    /// The reason why the execution does not advance, if no worker takes its commands.
    pub hint: Option<WaitHint>,
}

/// The state of an execution in the words of a status request.
#[derive(Debug, Clone)]
pub struct ExecutionProgress {
    pub known: KnownExecution,
    /// The steps that have completed, in the order of their names.
    pub completed_steps: Vec<StepName>,
    /// The time at which the execution was found to be late; `None` if it is not.
    pub late_at: Option<Timestamp>,
    /// The reason of a cancellation.
    pub cancelled_because: Option<String>,
    /// The reason why the execution does not advance, if no worker takes its commands.
    pub hint: Option<WaitHint>,
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
    /// Loads the summary of an execution that the engine runs; fails if there is none.
    pub async fn execution(&self, execution: ExecutionId) -> Result<Summary, LoadError> {
        let summary = self.control().summary(execution).await;
        let summary = summary.map_err(|error| LoadError::of_store(execution, error))?;
        match summary {
            Some(summary) => Ok(summary),
            None => Err(self.not_native(execution).await),
        }
    }

    /// Loads the summary of an execution that the engine runs, if there is one.
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

    /// Loads the state of an execution: its summary, its completed steps and the reason of its end.
    pub async fn execution_progress(
        &self,
        execution: ExecutionId,
    ) -> Result<ExecutionProgress, LoadError> {
        let known = self.known_execution(execution).await?;
        let (completed_steps, late_at) = self.folded(&known).await?;
        let cancelled_because = match self.ending(&known).await? {
            Some(Event::ExecutionCancelled { reason, .. }) => Some(reason),
            Some(_) | None => None,
        };
        let hint = self.hint_of(&known).await?;
        Ok(ExecutionProgress { known, completed_steps, late_at, cancelled_because, hint })
    }

    /// Returns the steps that have completed and when the execution was found to be late; nothing
    /// for a log that the engine does not run.
    async fn folded(
        &self,
        known: &KnownExecution,
    ) -> Result<(Vec<StepName>, Option<Timestamp>), LoadError> {
        match known.origin {
            LogOrigin::Native => {
                let Summary { execution, seq, .. } = known.summary;
                let state = self.control().state_after(execution, seq).await?;
                let steps = state.steps().filter(|step| step.status == StepStatus::Completed);
                Ok((steps.map(|step| step.name.clone()).collect(), state.late_at()))
            }
            LogOrigin::Imported | LogOrigin::Subscription => Ok((Vec::new(), None)),
        }
    }

    /// Returns the event that ended an execution; `None` while it runs, and for a log that the
    /// engine does not run.
    async fn ending(
        &self,
        KnownExecution { origin, summary }: &KnownExecution,
    ) -> Result<Option<Event>, LoadError> {
        match origin {
            LogOrigin::Native if summary.status.is_terminal() => {}
            LogOrigin::Native | LogOrigin::Imported | LogOrigin::Subscription => return Ok(None),
        }
        let after = Seq(summary.seq.0.saturating_sub(LATE_EVENTS_MAX));
        let limit = usize::try_from(LATE_EVENTS_MAX).unwrap_or(READ_EVENTS_MAX);
        let last = self.events(summary.execution, after, limit).await?;
        let mut events = last.into_iter().rev().map(|recorded| recorded.event);
        Ok(events.find(Event::ends_execution))
    }

    /// Loads an execution with a page of its events; with the latest events if `page` and
    /// `page_size` are `None`.
    pub async fn execution_overview(
        &self,
        execution: ExecutionId,
        page: Option<u64>,
        page_size: Option<u64>,
    ) -> Result<ExecutionOverview, LoadError> {
        let known = self.known_execution(execution).await?;
        let workload = self.workload(&known).await?;
        let total = known.summary.seq.0;
        let hint = self.hint_of(&known).await?;
        let size = page_size.unwrap_or(DETAIL_EVENTS_MAX).clamp(1, DETAIL_EVENTS_MAX);
        let pagination = Pagination::of(page, size, total);
        let is_page = page.is_some() || page_size.is_some();
        // The page lies between the two; page 1 ends with the last event.
        let end = total.saturating_sub((pagination.page - 1).saturating_mul(size));
        let after = end.saturating_sub(size);
        let keep = if is_page { Keep::All } else { Keep::Newest };
        let limit = usize::try_from(end - after).unwrap_or(READ_EVENTS_MAX);
        let events = self.known_events_after(&known, Seq(after), limit, keep).await?;
        let mut events: Vec<PublicEvent> =
            events.into_iter().flat_map(ConvertedEvent::with_facts).collect();
        if is_page {
            events = with_derived(events);
            events.reverse();
        }
        let result = match self.ending(&known).await? {
            Some(Event::ExecutionCompleted { output, .. }) => Some(value_or_reference(&output)),
            Some(_) | None => None,
        };
        Ok(ExecutionOverview { known, workload, result, events, pagination, hint })
    }

    /// Returns the parameters of an execution; null if its log does not name them.
    async fn workload(&self, known: &KnownExecution) -> Result<Value, LoadError> {
        let execution = known.summary.execution;
        match known.origin {
            LogOrigin::Native => {
                let first = self.events(execution, Seq::ZERO, 1).await?;
                Ok(match first.first().map(|recorded| &recorded.event) {
                    Some(Event::ExecutionStarted { workload, .. }) => value_or_reference(workload),
                    Some(_) | None => Value::Null,
                })
            }
            LogOrigin::Imported | LogOrigin::Subscription => {
                let first = self.logs().foreign_events(known, Seq::ZERO, 1).await;
                let first = first.map_err(|error| LoadError::of_store(execution, error))?;
                let context = first.into_iter().next().and_then(|event| event.context);
                Ok(context.and_then(|context| context.get("workload").cloned()).unwrap_or_default())
            }
        }
    }

    /// Explains why an execution does not advance; `None` if it does, or is not run here.
    pub async fn hint_of(&self, known: &KnownExecution) -> Result<Option<WaitHint>, LoadError> {
        match known.origin {
            LogOrigin::Native => self.hint(&known.summary).await,
            LogOrigin::Imported | LogOrigin::Subscription => Ok(None),
        }
    }

    /// Explains why the running executions of a list do not advance; of at most [`HINTS_MAX`] of them,
    /// from the first. Executions that advance, or have left the store meanwhile, have no entry.
    pub async fn hints_of(
        &self,
        listed: &[KnownExecution],
    ) -> Result<BTreeMap<ExecutionId, WaitHint>, LoadError> {
        let is_running = |known: &&KnownExecution| known.summary.status == ExecutionStatus::Running;
        let running = listed.iter().filter(is_running).take(HINTS_MAX);
        let hints: Vec<_> = running.map(|known| self.hint_if_stored(known)).collect();
        let hints = stream::iter(hints).buffer_unordered(HINTS_AT_ONCE_MAX);
        let hints: Vec<Option<_>> = hints.try_collect().await?;
        Ok(hints.into_iter().flatten().collect())
    }

    /// Returns the executions of a list that run and are late; of the running ones the first
    /// [`HINTS_MAX`] are looked at.
    pub async fn late_of(
        &self,
        listed: Vec<KnownExecution>,
    ) -> Result<Vec<KnownExecution>, LoadError> {
        let is_running = |known: &KnownExecution| known.summary.status == ExecutionStatus::Running;
        let running = listed.into_iter().filter(is_running).take(HINTS_MAX);
        let late: Vec<_> = running.map(|known| self.if_late(known)).collect();
        // In the order of the list.
        let late = stream::iter(late).buffered(HINTS_AT_ONCE_MAX);
        let late: Vec<Option<KnownExecution>> = late.try_collect().await?;
        Ok(late.into_iter().flatten().collect())
    }

    async fn if_late(&self, known: KnownExecution) -> Result<Option<KnownExecution>, LoadError> {
        match self.folded(&known).await {
            Ok((_, late_at)) => Ok(late_at.map(|_| known)),
            Err(LoadError::NotFound(_) | LoadError::Deleted { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn hint_if_stored(
        &self,
        known: &KnownExecution,
    ) -> Result<Option<(ExecutionId, WaitHint)>, LoadError> {
        match self.hint_of(known).await {
            Ok(hint) => Ok(hint.map(|hint| (known.summary.execution, hint))),
            Err(LoadError::NotFound(_) | LoadError::Deleted { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Converts at most `limit` events of an execution after a seq, in order.
    pub(crate) async fn known_events_after(
        &self,
        known: &KnownExecution,
        after: Seq,
        limit: usize,
        keep: Keep,
    ) -> Result<Vec<ConvertedEvent>, LoadError> {
        match known.origin {
            LogOrigin::Native => {
                let Summary { execution, seq, .. } = known.summary;
                let mut events = events_after(self, execution, after, limit, keep).await?;
                self.add_reported(execution, seq.0, &mut events).await?;
                Ok(events)
            }
            LogOrigin::Imported | LogOrigin::Subscription => {
                self.logs().foreign_public_events(known, after, limit).await
            }
        }
    }

    /// True if an execution was cancelled; an unknown execution was not.
    pub async fn is_cancelled(&self, execution: ExecutionId) -> Result<bool, StoreError> {
        let known = self.find_known(execution).await?;
        Ok(known.is_some_and(|known| known.summary.status == ExecutionStatus::Cancelled))
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
        self.execution(request.origin).await?;
        let fork = match playbook {
            ForkPlaybook::Registered => self.control().fork(request).await?,
            ForkPlaybook::Document { file, content } => {
                self.control().fork_onto(request, file, content).await?
            }
        };
        Ok(self.execution(fork).await?)
    }
}
