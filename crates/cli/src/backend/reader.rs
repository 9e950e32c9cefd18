//! The reading part of a backend: executions, their events and values, and the catalog.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::anyhow;
use async_trait::async_trait;
use futures::stream::{self, StreamExt as _};
use noetl_api::PublicEvent;
use noetl_api::wire::{AuditLogPage, AuditVerification, Verification};
use noetl_app::{
    AuditLogQuery, EntryState, ExecutionFilter, FORKS_MAX, HINTS_MAX, KnownExecution, LogFilter,
    PAGE_MAX, Page,
};
use noetl_compat::{Projection, ReplayState};
use noetl_control::LoadError;
use noetl_model::{
    Cutoff, Digest, Event, ExecutionId, ExecutionStatus, LogOrigin, Payload, PayloadRef, Recorded,
    Seq, Summary, Timestamp, first_id_at,
};
use noetl_replay::ReadOn;
use serde::Serialize;
use serde_json::{Map, Value};

use super::HistoryLocation;
use super::step_logs::LogFeed;
use crate::args::Chosen;
use crate::input::nearest::suggest;
use crate::show::failure::Failure;
use crate::show::overview::Overview;

/// The operations of a backend that change nothing. A local database can be read while another
/// process writes to it.
#[async_trait]
pub(crate) trait BackendReader: Send + Sync {
    fn location(&self) -> &HistoryLocation;

    /// Loads an execution of any origin; `None` if it does not exist.
    async fn find(&self, id: ExecutionId) -> Result<Option<KnownExecution>, Failure>;

    /// Loads a page of executions of every origin, newest first.
    async fn page(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<KnownExecution>, Failure>;

    /// Returns the time by the clock that stamps events.
    async fn now(&self) -> Result<Timestamp, Failure>;

    /// Loads a page of events after `after`, in order; empty if there are none.
    async fn events(&self, execution: ExecutionId, after: Seq) -> Result<Vec<Recorded>, Failure>;

    /// Loads a page of events after `after` of a log that the engine does not write; empty if there
    /// are none.
    async fn foreign_events(
        &self,
        known: &KnownExecution,
        after: Seq,
    ) -> Result<Vec<PublicEvent>, Failure>;

    /// Returns the output of an execution's steps; until the execution has ended if `follow`.
    async fn step_logs(
        &self,
        execution: ExecutionId,
        filter: LogFilter,
        follow: bool,
    ) -> Result<Box<dyn LogFeed>, Failure>;

    /// Returns the reason why a running execution does not proceed, as far as its server knows.
    async fn hint(&self, execution: ExecutionId, status: ExecutionStatus) -> Option<String>;

    /// Loads a value that is stored by reference.
    async fn payload(&self, reference: &PayloadRef) -> Result<Value, Failure>;

    /// Returns the published projections of an execution as of a cutoff.
    async fn replay(
        &self,
        execution: ExecutionId,
        cutoff: Cutoff,
        projection: Projection,
    ) -> Result<ReplayState, Failure>;

    /// Verifies the stored history of an execution; `expected` is the digest of its last event, if
    /// a copy was kept. `progress` is called with the number of events read in this process.
    async fn verify(
        &self,
        execution: ExecutionId,
        expected: Option<Digest>,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Verification, Failure>;

    /// Verifies the audit log; `None` if the server does not permit it.
    async fn verify_audit(&self) -> Result<Option<AuditVerification>, Failure>;

    /// Returns a page of the audit log, oldest entry first.
    async fn audit_page(&self, query: &AuditLogQuery) -> Result<AuditLogPage, Failure>;

    /// Lists the playbooks whose path contains a text, each at its newest version, sorted by path.
    async fn playbooks(
        &self,
        state: EntryState,
        part: Option<&str>,
    ) -> Result<Vec<PlaybookDocument>, Failure>;

    /// Lists the names of credentials.
    async fn credential_names(&self) -> Result<Vec<String>, Failure>;

    /// Loads a playbook with its text; the newest version if none is given.
    async fn playbook(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<PlaybookDocument>, Failure>;
}

/// A playbook of the catalog.
#[derive(Serialize)]
pub(crate) struct PlaybookDocument {
    pub(crate) path: String,
    pub(crate) version: u32,
    pub(crate) catalog_id: String,
    pub(crate) created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) archived_at: Option<String>,
    /// The text; left out of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
}

/// The choice of executions in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    /// Only executions without a parent.
    Requested,
    /// Only executions of the engine without a parent.
    RequestedHere,
}

impl Which {
    fn admits(self, known: &KnownExecution) -> bool {
        let is_requested = known.summary.parent.is_none();
        match self {
            Which::All => true,
            Which::Requested => is_requested,
            Which::RequestedHere => is_requested && known.origin == LogOrigin::Native,
        }
    }
}

/// The range of times in which an execution was started.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Started {
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
}

impl Started {
    fn admits(self, summary: &Summary) -> bool {
        self.since.is_none_or(|since| since <= summary.started_at)
            && self.until.is_none_or(|until| summary.started_at <= until)
    }

    /// Returns the lowest id after `until`: ids contain the millisecond of their creation.
    fn before_id(self) -> Option<ExecutionId> {
        self.until.map(|until| ExecutionId(first_id_at(until.after(MILLISECOND))))
    }
}

/// Maximum number of executions whose waits are looked up at the same time.
const HINTS_AT_ONCE_MAX: usize = 8;

const MILLISECOND: Duration = Duration::from_millis(1);

impl dyn BackendReader + '_ {
    /// Loads the chosen execution; fails if it does not exist.
    pub(crate) async fn chosen(&self, chosen: Chosen) -> Result<KnownExecution, Failure> {
        let place = match self.location() {
            HistoryLocation::Memory | HistoryLocation::File(_) => "in this database",
            HistoryLocation::Server(_) => "on this server",
        };
        match chosen {
            Chosen::Id(id) => self.find(id).await?.ok_or_else(|| {
                Failure::bad_input(anyhow!("there is no execution {id} {place}"))
                    .help("`noetl executions list` lists the executions")
            }),
            Chosen::Last => {
                let (filter, started) = (ExecutionFilter::default(), Started::default());
                let latest = self.list(Which::RequestedHere, &filter, started, 1).await?;
                latest.into_iter().next().ok_or_else(|| {
                    Failure::bad_input(anyhow!("there is no execution {place} yet"))
                        .help("`noetl run FILE` starts one")
                })
            }
        }
    }

    /// Loads the chosen execution; fails if it does not exist or the engine does not run it.
    pub(crate) async fn chosen_here(&self, chosen: Chosen) -> Result<Summary, Failure> {
        let KnownExecution { origin, summary } = self.chosen(chosen).await?;
        match origin {
            LogOrigin::Native => Ok(summary),
            LogOrigin::Imported | LogOrigin::Subscription => {
                let execution = summary.execution;
                Err(Failure::bad_input(LoadError::NotNative { execution, origin }))
            }
        }
    }

    /// Adds the most similar path of the catalog to a failure; `otherwise` if there is none.
    pub(crate) async fn suggest_playbook(
        &self,
        failure: Failure,
        name: &str,
        otherwise: &str,
    ) -> Failure {
        // The failure is shown in any case; without the catalog it only lacks the suggestion.
        let playbooks = self.playbooks(EntryState::Active, None).await.unwrap_or_default();
        suggest(failure, name, playbooks.iter().map(|it| it.path.as_str()), otherwise)
    }

    /// Lists executions that were started within a time range, newest first.
    pub(crate) async fn list(
        &self,
        which: Which,
        filter: &ExecutionFilter,
        started: Started,
        limit: usize,
    ) -> Result<Vec<KnownExecution>, Failure> {
        let mut listed: Vec<KnownExecution> = Vec::new();
        let mut before = started.before_id();
        // The page is larger than the limit because some of its executions may be filtered out.
        let page_limit = PAGE_MAX.min(2 * limit + 20);
        while listed.len() < limit {
            let page = self.page(filter, Page { before, limit: page_limit }).await?;
            let Some(last) = page.last() else { break };
            before = Some(last.summary.execution);
            // Ids of other programs do not follow the time.
            let is_beyond = last.origin == LogOrigin::Native
                && started.since.is_some_and(|since| last.summary.started_at < since);
            let admits = |it: &KnownExecution| which.admits(it) && started.admits(&it.summary);
            listed.extend(page.into_iter().filter(admits));
            if is_beyond {
                break;
            }
        }
        listed.truncate(limit);
        Ok(listed)
    }

    /// Explains why running executions of a list do not proceed, of at most [`HINTS_MAX`] of them.
    pub(crate) async fn hints(&self, listed: &[KnownExecution]) -> BTreeMap<ExecutionId, String> {
        let explained = listed.iter().filter_map(|known| match known.origin {
            LogOrigin::Native if known.summary.status == ExecutionStatus::Running => {
                Some((known.summary.execution, known.summary.status))
            }
            LogOrigin::Native | LogOrigin::Imported | LogOrigin::Subscription => None,
        });
        let hints: Vec<_> = explained
            .take(HINTS_MAX)
            .map(async |(id, status)| Some((id, self.hint(id, status).await?)))
            .collect();
        let found = stream::iter(hints).buffer_unordered(HINTS_AT_ONCE_MAX);
        found.filter_map(std::future::ready).collect().await
    }

    /// Returns the workload of an execution. A fork may have replaced the workload of its origin.
    pub(crate) async fn workload(&self, summary: &Summary) -> Result<Map<String, Value>, Failure> {
        let id = summary.execution;
        let mut fork = summary.fork;
        let mut after = Seq::ZERO;
        let mut until = summary.seq;
        for _ in 0..=FORKS_MAX {
            let Some(point) = fork else { break };
            // A fork that its descendant left before the first event of the fork has changed
            // nothing.
            if point.seq < until {
                let event = self.events(id, point.seq).await?.into_iter().next();
                if let Some(Event::ExecutionForked { workload: Some(_), .. }) =
                    event.map(|recorded| recorded.event)
                {
                    after = point.seq;
                    break;
                }
                until = point.seq;
            }
            fork = self.find(point.execution).await?.and_then(|origin| origin.summary.fork);
        }
        let event = self.events(id, after).await?.into_iter().next().map(|recorded| recorded.event);
        let workload = match event {
            Some(Event::ExecutionStarted { workload, .. }) => Some(workload),
            Some(Event::ExecutionForked { workload, .. }) => workload,
            Some(_) | None => None,
        };
        let Some(workload) = workload else {
            return Err(Failure::broken(anyhow!("execution {id} does not begin with a start")));
        };
        match self.value(&workload).await? {
            Value::Object(workload) => Ok(workload),
            _ => Err(Failure::broken(anyhow!("the workload of execution {id} is not a map"))),
        }
    }

    /// Reads the events of an execution in order, page by page, until the end or until `see` has
    /// enough.
    pub(crate) async fn read(
        &self,
        execution: ExecutionId,
        mut see: impl FnMut(&Recorded) -> Result<ReadOn, Failure> + Send,
    ) -> Result<(), Failure> {
        let mut after = Seq::ZERO;
        loop {
            let page = self.events(execution, after).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            for recorded in &page {
                if see(recorded)? == ReadOn::No {
                    return Ok(());
                }
            }
        }
    }

    /// Returns the overview of an execution, folded from all its events.
    pub(crate) async fn overview(&self, summary: &Summary) -> Result<Overview, Failure> {
        let mut overview = Overview::of(summary);
        self.read(summary.execution, |recorded| {
            overview.see(recorded);
            Ok(ReadOn::Yes)
        })
        .await?;
        Ok(overview)
    }

    /// Loads a value, inline or stored by reference.
    pub(crate) async fn value(&self, payload: &Payload) -> Result<Value, Failure> {
        match payload {
            Payload::Inline(value) => Ok((**value).clone()),
            Payload::Ref(reference) => self.payload(reference).await,
        }
    }
}
