//! Executions of every origin: those of the engine, imported ones, and subscriptions.

use noetl_compat::{LifecycleEvent, ReplayRequest, Replayer, public_envelope, subscription_status};
use noetl_control::LoadError;
use noetl_model::{
    Envelope, ExecutionId, ExecutionStatus, ItemCounts, Labels, LogOrigin, PlaybookRef, Seq,
    StepCounts, Summary, instant_of_id,
};
use noetl_replay::ReadOn;
use noetl_store::{
    EventPlace, ExecutionFilter, PAGE_MAX, PROJECT_MAX, Page, Records, Store, StoreError,
    SubscriptionRow,
};

use crate::app::App;
use crate::public_events::ConvertedEvent;

/// An execution and the origin of its log.
#[derive(Debug, Clone)]
pub struct KnownExecution {
    pub origin: LogOrigin,
    pub summary: Summary,
}

impl KnownExecution {
    fn native(summary: Summary) -> Self {
        Self { origin: LogOrigin::Native, summary }
    }
}

/// The logs of every origin in one store.
#[derive(Clone, Copy)]
pub(crate) struct KnownLogs<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) records: &'a dyn Records,
}

impl KnownLogs<'_> {
    /// Loads an execution of any origin, if it exists.
    pub(crate) async fn find(
        self,
        execution: ExecutionId,
    ) -> Result<Option<KnownExecution>, StoreError> {
        if let Some(summary) = self.store.summary(execution).await? {
            return Ok(Some(KnownExecution::native(summary)));
        }
        self.find_foreign(execution).await
    }

    /// Loads an execution that the engine does not run, if it exists.
    async fn find_foreign(
        self,
        execution: ExecutionId,
    ) -> Result<Option<KnownExecution>, StoreError> {
        if let Some(row) = self.store.subscription(execution).await? {
            return Ok(Some(self.known_subscription(row).await?));
        }
        let imported = self.records.imported(execution).await?;
        Ok(imported.map(|it| KnownExecution { origin: LogOrigin::Imported, summary: it.summary }))
    }

    /// Lists a page of executions of every origin, newest first.
    pub(crate) async fn page(
        self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<KnownExecution>, StoreError> {
        let (native, imported, subscriptions) = futures::future::try_join3(
            self.store.list(filter, page),
            self.records.list_imported(filter, page),
            self.subscription_page(filter, page),
        )
        .await?;
        let mut listed: Vec<KnownExecution> =
            native.into_iter().map(KnownExecution::native).collect();
        listed.extend(
            imported
                .into_iter()
                .map(|it| KnownExecution { origin: LogOrigin::Imported, summary: it.summary }),
        );
        listed.extend(subscriptions);
        listed.sort_by_key(|known| std::cmp::Reverse(known.summary.execution));
        listed.truncate(page.limit.min(PAGE_MAX));
        Ok(listed)
    }

    /// Lists a page of subscriptions as executions, newest first.
    async fn subscription_page(
        self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<KnownExecution>, StoreError> {
        let has_status = |status| match status {
            ExecutionStatus::Running | ExecutionStatus::Completed => true,
            ExecutionStatus::Failed | ExecutionStatus::Cancelled => false,
        };
        let mut found = Vec::new();
        if filter.parent.is_some() || !filter.status.is_none_or(has_status) {
            return Ok(found);
        }
        let (mut before, limit) = (page.before, page.limit.min(PAGE_MAX));
        loop {
            // Filters are applied here, so the number of rows to read is not known in advance.
            let needed = if *filter == ExecutionFilter::default() { limit } else { PAGE_MAX };
            let rows = self.store.subscriptions(before, needed).await?;
            let is_last = rows.len() < needed;
            for row in rows {
                before = Some(row.id);
                if !filter.admits(&subscription_summary(&row)) {
                    continue;
                }
                found.push(self.known_subscription(row).await?);
                if found.len() == limit {
                    return Ok(found);
                }
            }
            if is_last {
                return Ok(found);
            }
        }
    }

    async fn known_subscription(self, row: SubscriptionRow) -> Result<KnownExecution, StoreError> {
        let mut summary = subscription_summary(&row);
        if let Some(entry) = self.store.by_id(row.catalog_id).await? {
            summary.playbook.version = entry.version;
        }
        Ok(KnownExecution { origin: LogOrigin::Subscription, summary })
    }

    /// Reads up to `limit` events after a position of a log that the engine does not write; a page
    /// may be shorter, and only an empty one is the end.
    pub(crate) async fn foreign_events(
        self,
        known: &KnownExecution,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError> {
        let summary = &known.summary;
        match known.origin {
            LogOrigin::Native => Ok(Vec::new()),
            LogOrigin::Imported => {
                self.records.projected_from(summary.execution.0, after.0, limit).await
            }
            LogOrigin::Subscription => {
                let records = self.store.subscription_events(summary.execution, after).await?;
                let events = records.into_iter().take(limit).map(|record| LifecycleEvent {
                    subscription: summary.execution,
                    path: &summary.playbook.path,
                    catalog_id: summary.playbook.catalog_id.0,
                    event_id: record.event_id,
                    event: record.event,
                    at: record.at,
                });
                Ok(events.map(|event| event.envelope()).collect())
            }
        }
    }

    /// Converts up to `limit` events after a position of a log that the engine does not write.
    pub(crate) async fn foreign_public_events(
        self,
        known: &KnownExecution,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<ConvertedEvent>, LoadError> {
        let failed = |error| LoadError::of_store(known.summary.execution, error);
        let mut told: Vec<ConvertedEvent> = Vec::new();
        while told.len() < limit {
            let read = Seq(after.0 + told.len() as u64);
            let page = self.foreign_events(known, read, limit - told.len()).await;
            let page = page.map_err(failed)?;
            if page.is_empty() {
                break;
            }
            let first = read.0 + 1;
            told.extend((first..).zip(page).map(|(seq, event)| {
                let place = EventPlace::of(&event);
                ConvertedEvent::new(public_envelope(event, seq), place)
            }));
        }
        Ok(told)
    }

    /// Replays a log that the engine does not write; `None` if there is no such log.
    pub(crate) async fn replay_foreign(
        self,
        question: &ReplayRequest,
    ) -> Result<Option<Replayer>, LoadError> {
        let execution = question.execution;
        let failed = |error| LoadError::of_store(execution, error);
        let Some(known) = self.find(execution).await.map_err(failed)? else {
            return Ok(None);
        };
        if known.origin == LogOrigin::Native {
            return Ok(None);
        }
        let mut replayer = Replayer::new(question);
        let mut after = Seq::ZERO;
        loop {
            let page = self.foreign_events(&known, after, PROJECT_MAX).await.map_err(failed)?;
            if page.is_empty() {
                return Ok(Some(replayer));
            }
            for event in &page {
                after = after.next();
                if question.admits_owner(event) && replayer.see_envelope(after, event) == ReadOn::No
                {
                    return Ok(Some(replayer));
                }
            }
        }
    }
}

impl App {
    /// Returns the logs of every origin.
    pub(crate) fn logs(&self) -> KnownLogs<'_> {
        KnownLogs { store: self.store(), records: self.records() }
    }

    /// Loads an execution of any origin, if it exists.
    pub async fn find_known(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<KnownExecution>, StoreError> {
        self.logs().find(execution).await
    }

    /// Loads an execution of any origin; fails if it does not exist.
    pub async fn known_execution(
        &self,
        execution: ExecutionId,
    ) -> Result<KnownExecution, LoadError> {
        let found = self.find_known(execution).await;
        let found = found.map_err(|error| LoadError::of_store(execution, error))?;
        match found {
            Some(found) => Ok(found),
            None => Err(self.missing(execution).await),
        }
    }

    /// Returns the error for an execution that no log has: it was deleted, or it never existed.
    pub(crate) async fn missing(&self, execution: ExecutionId) -> LoadError {
        match self.store().tombstone(execution).await {
            Ok(Some(tombstone)) => LoadError::Deleted { execution, at: tombstone.deleted_at },
            Ok(None) => LoadError::NotFound(execution),
            Err(error) => LoadError::of_store(execution, error),
        }
    }

    /// Returns the error for an execution that the engine does not know.
    pub(crate) async fn not_native(&self, execution: ExecutionId) -> LoadError {
        match self.logs().find_foreign(execution).await {
            Ok(Some(KnownExecution { origin, .. })) => LoadError::NotNative { execution, origin },
            Ok(None) => self.missing(execution).await,
            Err(error) => LoadError::of_store(execution, error),
        }
    }

    /// Lists a page of executions of every origin, newest first.
    pub async fn known_page(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<KnownExecution>, StoreError> {
        self.logs().page(filter, page).await
    }
}

/// Returns a subscription as an execution, without the version of its document.
fn subscription_summary(row: &SubscriptionRow) -> Summary {
    let status = subscription_status(row.state());
    Summary {
        execution: row.id,
        playbook: PlaybookRef { catalog_id: row.catalog_id, path: row.path.clone(), version: 0 },
        status,
        seq: row.seq,
        started_at: instant_of_id(row.id.0),
        ended_at: status.is_terminal().then_some(row.updated_at),
        parent: None,
        current_step: None,
        steps: StepCounts::default(),
        items: ItemCounts::default(),
        error: None,
        head: None,
        fork: None,
        labels: Labels::default(),
        actor: None,
    }
}
