//! Reads stored data without a control plane, also from a database that another process writes.

use std::sync::Arc;

use noetl_api::PublicEvent;
use noetl_api::wire::Verification;
use noetl_compat::{ReplayRequest, ReplayState, Replayer};
use noetl_control::LoadError;
use noetl_engine::{Execution, begin, evolve_without_digest};
use noetl_model::{
    CommandId, Digest, ExecutionId, Held, PayloadRef, Recorded, Seq, StoredLog, Timestamp,
};
use noetl_store::{
    CatalogEntry, CatalogQuery, CredentialFilter, ExecutionFilter, Holder, LogRead, OpenCommand,
    PAGE_MAX, PROJECT_MAX, Page, READ_EVENTS_MAX, Records, ScheduleRow, Store, StoreError,
    SubscriptionRow,
};
use serde_json::Value;

use crate::app::App;
use crate::catalog::EntryChoice;
use crate::executions::{KnownExecution, KnownLogs};
use crate::public_events::ConvertedEvent;
use crate::unserved_pools::{WaitHint, declared_wait};
use crate::verification::{unproven, verification};

/// A reader of stored executions and catalog entries.
#[derive(Clone)]
pub struct StoreReader {
    store: Arc<dyn Store>,
    /// The same store, as [`Records`].
    records: Arc<dyn Records>,
}

/// The reason why a stored value is not loaded.
#[derive(Debug, thiserror::Error)]
pub enum ReadValueError {
    #[error("there is no payload {0}")]
    Missing(Digest),
    #[error("a stored value is not JSON")]
    NotJson(#[source] serde_json::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StoreReader {
    pub fn new(store: Arc<impl Store + Records + 'static>) -> Self {
        Self { store: store.clone(), records: store }
    }

    pub(crate) fn records(&self) -> &dyn Records {
        &*self.records
    }

    fn logs(&self) -> KnownLogs<'_> {
        KnownLogs { store: &*self.store, records: &*self.records }
    }

    /// Loads an execution of any origin, if it exists.
    pub async fn find_known(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<KnownExecution>, StoreError> {
        self.logs().find(execution).await
    }

    /// Returns the callback, time or signal that an execution has waited for longest, if it waits for
    /// nothing else. Only then the log is read.
    pub async fn declared_wait(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<WaitHint>, StoreError> {
        let work = self.store.open_work(execution).await?;
        let is_parked = |open: &OpenCommand| open.holder == Holder::Parked;
        let is_empty = work.commands.is_empty() && work.timers.is_empty();
        if is_empty || !work.commands.values().all(is_parked) {
            return Ok(None);
        }
        let mut state: Option<Execution> = None;
        let mut after = Seq::ZERO;
        loop {
            let page = self.log(execution, after).await?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for recorded in &page {
                let folded = match &mut state {
                    Some(state) => evolve_without_digest(state, recorded),
                    None => begin(execution, recorded).map(|begun| state = Some(begun)),
                };
                if folded.is_err() {
                    return Ok(None);
                }
            }
        }
        Ok(state.as_ref().and_then(declared_wait))
    }

    /// Lists a page of executions of every origin, newest first.
    pub async fn known_page(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<KnownExecution>, StoreError> {
        self.logs().page(filter, page).await
    }

    /// Reads a page of a log that the engine does not write, after a position; empty if there are no
    /// more events, and for an execution that the engine runs.
    pub async fn foreign_log(
        &self,
        known: &KnownExecution,
        after: Seq,
    ) -> Result<Vec<PublicEvent>, LoadError> {
        let told = self.logs().foreign_public_events(known, after, PROJECT_MAX).await?;
        Ok(told.into_iter().flat_map(ConvertedEvent::with_facts).collect())
    }

    /// Replays a log that the engine does not write; `None` if there is no such log.
    pub async fn replay_foreign(
        &self,
        question: &ReplayRequest,
    ) -> Result<Option<ReplayState>, LoadError> {
        let replayer = self.logs().replay_foreign(question).await?;
        Ok(replayer.map(Replayer::finish))
    }

    /// Reads a page of the log after an event; empty if there are no more events.
    pub async fn log(
        &self,
        execution: ExecutionId,
        after: Seq,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.store.read(execution, after, READ_EVENTS_MAX).await
    }

    /// Reads at most `limit` events after an event.
    pub(crate) async fn events_after(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.store.read(execution, after, limit).await
    }

    pub(crate) async fn read_logs(
        &self,
        execution: ExecutionId,
        page: &LogRead,
    ) -> Result<Vec<StoredLog>, StoreError> {
        self.records.read_logs(execution, page).await
    }

    pub(crate) async fn log_sources(
        &self,
        execution: ExecutionId,
        commands: &[CommandId],
    ) -> Result<Vec<Held>, StoreError> {
        self.records.log_sources(execution, commands).await
    }

    /// Loads a value that is stored by reference.
    pub async fn value(&self, reference: &PayloadRef) -> Result<Value, ReadValueError> {
        let bytes = self.store.payload(&reference.digest).await?;
        let bytes = bytes.ok_or(ReadValueError::Missing(reference.digest))?;
        serde_json::from_slice(&bytes).map_err(ReadValueError::NotJson)
    }

    /// Verifies an execution against its digests; `None` if it does not exist. A log that the
    /// engine does not write has no digests, and the answer says so. `kept` is a copy of
    /// the last event's digest that is held elsewhere; `progress` is called with the number of
    /// events read.
    pub async fn verify(
        &self,
        execution: ExecutionId,
        kept: Option<Digest>,
        progress: impl Fn(u64) + Send + Sync,
    ) -> Result<Option<Verification>, StoreError> {
        let found = verification(&*self.store, execution, kept, progress).await?;
        if found.is_some() {
            return Ok(found);
        }
        let foreign = self.logs().find(execution).await?;
        Ok(foreign.map(|known| unproven(&known, kept)))
    }

    /// Loads a catalog entry with its content, if it exists.
    pub async fn find_entry(
        &self,
        choice: &EntryChoice,
    ) -> Result<Option<CatalogEntry>, StoreError> {
        match choice {
            EntryChoice::Id(id) => self.store.by_id(*id).await,
            EntryChoice::Path { path, version } | EntryChoice::Named { name: path, version } => {
                self.store.by_path(path, *version).await
            }
        }
    }

    /// Lists catalog entries, each at its newest version.
    pub async fn paths(&self, query: &CatalogQuery) -> Result<Vec<CatalogEntry>, StoreError> {
        self.store.paths(query).await
    }

    /// Lists the names of the newest credentials.
    pub async fn credential_names(&self) -> Result<Vec<String>, StoreError> {
        let found = self.records.credentials(&CredentialFilter::default(), PAGE_MAX).await?;
        Ok(found.into_iter().map(|credential| credential.name).collect())
    }

    /// Lists the names of feeds.
    pub async fn feed_names(&self) -> Result<Vec<String>, StoreError> {
        let feeds = self.store.list_feeds().await?;
        Ok(feeds.into_iter().map(|feed| feed.name).collect())
    }

    /// Lists the names of the first tokens.
    pub async fn token_names(&self) -> Result<Vec<String>, StoreError> {
        let tokens = self.records.tokens("", PAGE_MAX).await?;
        Ok(tokens.into_iter().map(|token| token.name.into()).collect())
    }

    /// Lists the newest subscriptions.
    pub async fn subscriptions(&self) -> Result<Vec<SubscriptionRow>, StoreError> {
        self.store.subscriptions(None, PAGE_MAX).await
    }

    /// Lists the first schedules by path.
    pub async fn schedules(&self) -> Result<Vec<ScheduleRow>, StoreError> {
        self.store.list_schedules(None).await
    }

    /// Returns the time by the clock that stamps events.
    pub fn now(&self) -> Timestamp {
        self.store.clock().now()
    }
}

impl App {
    /// Returns a reader of the data that this application writes.
    pub fn reader(&self) -> StoreReader {
        StoreReader { store: self.shared_store().clone(), records: self.shared_records().clone() }
    }
}
