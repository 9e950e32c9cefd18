//! Reads a local store, also one that another process writes.

use anyhow::anyhow;
use async_trait::async_trait;
use noetl_api::PublicEvent;
use noetl_api::wire::{AuditLogPage, AuditVerification, Verification};
use noetl_app::{
    AuditLogQuery, CatalogEntry, CatalogQuery, EntryChoice, EntryState, ExecutionFilter,
    KnownExecution, LogFilter, LogPosition, Page, ReadValueError, StoreError, StoreReader,
};
use noetl_compat::{DEFAULT_TENANT, Projection, ReplayRequest, ReplayState, Replayer};
use noetl_model::{
    Cutoff, Digest, ExecutionId, ExecutionStatus, PayloadRef, Recorded, Seq, Timestamp,
};
use serde_json::Value;

use crate::backend::remote::Remote;
use crate::backend::step_logs::{LocalLogs, LogFeed};
use crate::backend::{BackendReader, HistoryLocation, PlaybookDocument};
use crate::show::failure::Failure;

/// The most playbooks listed.
const PLAYBOOKS_MAX: usize = 10_000;

/// A reader of a store in this process.
pub(crate) struct LocalReader {
    pub(crate) store: StoreReader,
    pub(crate) location: HistoryLocation,
    /// The server that has the database open. It knows the workers and the queues of limits.
    pub(crate) server: Option<Remote>,
}

impl From<CatalogEntry> for PlaybookDocument {
    fn from(entry: CatalogEntry) -> Self {
        Self {
            path: entry.path,
            version: entry.version,
            catalog_id: entry.catalog_id.to_string(),
            created_at: entry.created_at.to_string(),
            archived_at: entry.archived_at.map(|at| at.to_string()),
            content: Some(entry.content).filter(|content| !content.is_empty()),
        }
    }
}

fn unread(error: StoreError) -> Failure {
    Failure::broken(anyhow::Error::new(error).context("cannot read the history"))
        .help("`noetl doctor` checks the database")
}

#[async_trait]
impl BackendReader for LocalReader {
    fn location(&self) -> &HistoryLocation {
        &self.location
    }

    async fn find(&self, id: ExecutionId) -> Result<Option<KnownExecution>, Failure> {
        self.store.find_known(id).await.map_err(unread)
    }

    async fn page(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<KnownExecution>, Failure> {
        self.store.known_page(filter, page).await.map_err(unread)
    }

    async fn now(&self) -> Result<Timestamp, Failure> {
        Ok(self.store.now())
    }

    async fn events(&self, execution: ExecutionId, after: Seq) -> Result<Vec<Recorded>, Failure> {
        self.store.log(execution, after).await.map_err(unread)
    }

    async fn foreign_events(
        &self,
        known: &KnownExecution,
        after: Seq,
    ) -> Result<Vec<PublicEvent>, Failure> {
        self.store.foreign_log(known, after).await.map_err(Failure::broken)
    }

    async fn step_logs(
        &self,
        execution: ExecutionId,
        filter: LogFilter,
        follow: bool,
    ) -> Result<Box<dyn LogFeed>, Failure> {
        let after = LogPosition::default();
        let reader = self.store.step_logs(execution, filter, after).await.map_err(unread)?;
        Ok(Box::new(LocalLogs { reader, follow }))
    }

    /// Returns the answer of the server that has the database open; without one, the wait that a step has
    /// declared, since only a server knows about workers.
    async fn hint(&self, execution: ExecutionId, status: ExecutionStatus) -> Option<String> {
        if status != ExecutionStatus::Running {
            return None;
        }
        if let Some(server) = &self.server
            && let Some(hint) = server.hint(execution, status).await
        {
            return Some(hint);
        }
        match self.store.declared_wait(execution).await {
            Ok(wait) => wait.map(|wait| wait.to_string()),
            Err(error) => {
                tracing::debug!(%error, %execution, "cannot determine what an execution waits for");
                None
            }
        }
    }

    async fn payload(&self, reference: &PayloadRef) -> Result<Value, Failure> {
        self.store.value(reference).await.map_err(|error| match error {
            ReadValueError::Store(error) => unread(error),
            ReadValueError::Missing(_) | ReadValueError::NotJson(_) => Failure::broken(error),
        })
    }

    async fn replay(
        &self,
        execution: ExecutionId,
        cutoff: Cutoff,
        projection: Projection,
    ) -> Result<ReplayState, Failure> {
        let question = ReplayRequest {
            execution,
            tenant: DEFAULT_TENANT.to_owned(),
            organization: DEFAULT_TENANT.to_owned(),
            cutoff,
            projection,
            limit: u64::MAX,
        };
        let foreign = self.store.replay_foreign(&question).await.map_err(Failure::broken)?;
        if let Some(state) = foreign {
            return Ok(state);
        }
        let mut replayer = Replayer::new(&question);
        let reader: &dyn BackendReader = self;
        reader.read(execution, |recorded| Ok(replayer.see(recorded))).await?;
        Ok(replayer.finish())
    }

    async fn verify(
        &self,
        execution: ExecutionId,
        expected: Option<Digest>,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Verification, Failure> {
        let found = self.store.verify(execution, expected, progress).await;
        found
            .map_err(Failure::broken)?
            .ok_or_else(|| Failure::broken(anyhow!("execution {execution} has been deleted")))
    }

    async fn verify_audit(&self) -> Result<Option<AuditVerification>, Failure> {
        self.store.verify_audit().await.map(Some).map_err(Failure::broken)
    }

    async fn audit_page(&self, query: &AuditLogQuery) -> Result<AuditLogPage, Failure> {
        self.store.audit_page(query).await.map_err(Failure::broken)
    }

    async fn playbooks(
        &self,
        state: EntryState,
        part: Option<&str>,
    ) -> Result<Vec<PlaybookDocument>, Failure> {
        let part = part.map(str::to_lowercase);
        let matches =
            |path: &str| part.as_ref().is_none_or(|part| path.to_lowercase().contains(part));
        let query = CatalogQuery { state, ..CatalogQuery::active(None, PLAYBOOKS_MAX) };
        let entries = self.store.paths(&query).await.map_err(Failure::broken)?;
        Ok(entries.into_iter().filter(|it| matches(&it.path)).map(Into::into).collect())
    }

    async fn credential_names(&self) -> Result<Vec<String>, Failure> {
        self.store.credential_names().await.map_err(Failure::broken)
    }

    async fn playbook(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<PlaybookDocument>, Failure> {
        let choice = EntryChoice::Path { path: path.to_owned(), version };
        let entry = self.store.find_entry(&choice).await.map_err(Failure::broken)?;
        Ok(entry.map(Into::into))
    }
}
