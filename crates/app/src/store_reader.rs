//! Reads stored data without a control plane, also from a database that another process writes.

use std::sync::Arc;

use noetl_api::wire::Verification;
use noetl_model::{Digest, ExecutionId, PayloadRef, Recorded, Seq, Summary, Timestamp};
use noetl_store::{
    CatalogEntry, CatalogQuery, ExecutionFilter, PAGE_MAX, Page, READ_EVENTS_MAX, ScheduleRow,
    Store, StoreError, SubscriptionRow,
};
use serde_json::Value;

use crate::app::App;
use crate::catalog::EntryChoice;
use crate::verification::verification;

/// A reader of stored executions and catalog entries.
#[derive(Clone)]
pub struct StoreReader {
    store: Arc<dyn Store>,
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
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Loads the summary of an execution, if it exists.
    pub async fn summary(&self, execution: ExecutionId) -> Result<Option<Summary>, StoreError> {
        self.store.summary(execution).await
    }

    /// Lists a page of summaries, newest first.
    pub async fn summaries(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<Summary>, StoreError> {
        self.store.list(filter, page).await
    }

    /// Reads a page of the log after an event; empty if there are no more events.
    pub async fn log(
        &self,
        execution: ExecutionId,
        after: Seq,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.store.read(execution, after, READ_EVENTS_MAX).await
    }

    /// Loads a value that is stored by reference.
    pub async fn value(&self, reference: &PayloadRef) -> Result<Value, ReadValueError> {
        let bytes = self.store.payload(&reference.digest).await?;
        let bytes = bytes.ok_or(ReadValueError::Missing(reference.digest))?;
        serde_json::from_slice(&bytes).map_err(ReadValueError::NotJson)
    }

    /// Verifies an execution against its digests; `None` if it does not exist. `kept` is a copy of
    /// the last event's digest that is held elsewhere; `progress` is called with the number of
    /// events read.
    pub async fn verify(
        &self,
        execution: ExecutionId,
        kept: Option<Digest>,
        progress: impl Fn(u64) + Send + Sync,
    ) -> Result<Option<Verification>, StoreError> {
        verification(&*self.store, execution, kept, progress).await
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

    /// Lists the names of feeds.
    pub async fn feed_names(&self) -> Result<Vec<String>, StoreError> {
        let feeds = self.store.list_feeds().await?;
        Ok(feeds.into_iter().map(|feed| feed.name).collect())
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
        StoreReader::new(self.shared_store().clone())
    }
}
