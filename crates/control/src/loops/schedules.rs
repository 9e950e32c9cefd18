//! Schedules: each instant starts one execution, however many control planes check the clock.
//!
//! A control plane that finds an instant due starts its execution under the instant's start key and
//! then records that it has fired. The key admits one start; the row is updated by one writer at a
//! time, so that missed, skipped and caught-up instants are decided once.

mod fire;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard};

use lru::LruCache;
use noetl_engine::{evolve_schedule, next_start};
use noetl_model::{CatalogId, ExecutionId, ScheduleEvent, ScheduleState, Seq, Timestamp};
use noetl_playbook::{CheckedDocument, Problems, Schedule};
use noetl_store::{CatalogEntry, PAGE_MAX, ScheduleRow, StoreError};
use thiserror::Error;

use crate::{Control, StartError};

/// The largest number of instants of one backfill.
pub const BACKFILL_MAX: usize = 1000;
/// The largest number of retries after conflicts with other writers.
const CONFLICTS_MAX: u32 = 16;
/// The largest number of schedules in a list.
const LIST_MAX: usize = 20_000;

/// The largest number of parsed documents in the cache.
const DOCUMENTS_MAX: NonZeroUsize = NonZeroUsize::new(20_000).expect("not zero");

/// The cache of parsed schedule documents.
pub(crate) struct ScheduleCache {
    documents: Mutex<LruCache<CatalogId, Arc<Schedule>>>,
}

impl Default for ScheduleCache {
    fn default() -> Self {
        Self { documents: Mutex::new(LruCache::sparse(DOCUMENTS_MAX)) }
    }
}

impl ScheduleCache {
    fn get(&self, id: CatalogId) -> Option<Arc<Schedule>> {
        self.documents().get(&id).cloned()
    }

    /// Clears the cache, because the catalog may have lost versions.
    pub(crate) fn clear(&self) {
        self.documents().clear();
    }

    fn put(&self, id: CatalogId, document: Arc<Schedule>) {
        self.documents().put(id, document);
    }

    fn documents(&self) -> MutexGuard<'_, LruCache<CatalogId, Arc<Schedule>>> {
        self.documents.lock().expect("nothing panics while it holds the documents")
    }
}

/// The reason why an operation on a schedule failed.
#[derive(Debug, Error)]
pub enum ScheduleError {
    #[error("there is no schedule at {0}")]
    Unknown(String),
    /// The stored document is invalid.
    #[error("the schedule's document cannot be read")]
    Damaged(#[source] Problems),
    #[error("the period has more than {BACKFILL_MAX} scheduled times; choose a shorter one")]
    TooMany,
    #[error("{0} is in the future; only past times can be backfilled")]
    Ahead(Timestamp),
    /// Other writers kept winning the race.
    #[error("the schedule keeps changing")]
    Contended,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the store did not answer")]
    Store(#[from] StoreError),
}

/// The execution of an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fired {
    /// Started just now.
    Now(ExecutionId),
    /// Started before.
    Before(ExecutionId),
}

impl Fired {
    pub fn execution(self) -> ExecutionId {
        match self {
            Fired::Now(execution) | Fired::Before(execution) => execution,
        }
    }
}

/// An action on a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleAction {
    Pause,
    /// Instants during the pause are skipped.
    Resume,
}

impl Control {
    /// Lists all schedules by path.
    pub async fn schedules(&self) -> Result<Vec<ScheduleRow>, ScheduleError> {
        let mut rows: Vec<ScheduleRow> = Vec::new();
        loop {
            let after = rows.last().map(|row| row.path.as_str());
            let page = self.parts.store.list_schedules(after).await?;
            let is_last = page.len() < PAGE_MAX;
            rows.extend(page);
            if is_last || rows.len() >= LIST_MAX {
                return Ok(rows);
            }
        }
    }

    /// Returns the schedule of a path.
    pub async fn schedule(&self, path: &str) -> Result<ScheduleRow, ScheduleError> {
        let row = self.parts.store.schedule(path).await?;
        row.ok_or_else(|| ScheduleError::Unknown(path.to_owned()))
    }

    /// Returns the active document of a schedule.
    pub async fn schedule_document(&self, path: &str) -> Result<Arc<Schedule>, ScheduleError> {
        let row = self.schedule(path).await?;
        self.document_of(&row.path, row.standing.catalog_id).await
    }

    /// Pauses or resumes a schedule; does nothing if it is already in that state.
    pub async fn move_schedule(
        &self,
        path: &str,
        action: ScheduleAction,
    ) -> Result<ScheduleRow, ScheduleError> {
        let (event, state) = match action {
            ScheduleAction::Pause => (ScheduleEvent::Paused, ScheduleState::Paused),
            ScheduleAction::Resume => (ScheduleEvent::Resumed, ScheduleState::Active),
        };
        let moved = self.note_unless(path, &event, |row| row.standing.state == state).await?;
        tracing::info!(path, state = %moved.standing.state, "schedule moved");
        self.parts.wakes.schedules.notify_one();
        Ok(moved)
    }

    /// Records an event of a schedule, whatever its state, unless `is_known`. Returns the schedule.
    async fn note_unless(
        &self,
        path: &str,
        event: &ScheduleEvent,
        is_known: impl Fn(&ScheduleRow) -> bool,
    ) -> Result<ScheduleRow, ScheduleError> {
        for _ in 0..CONFLICTS_MAX {
            let row = self.schedule(path).await?;
            if is_known(&row) {
                return Ok(row);
            }
            let document = self.document_of(path, row.standing.catalog_id).await?;
            if let Some(moved) = self.note(&row, event, Some(&document)).await? {
                return Ok(moved);
            }
        }
        Err(ScheduleError::Contended)
    }

    /// Activates a version of a schedule's document.
    pub(crate) async fn begin_schedule(
        &self,
        entry: &CatalogEntry,
        document: Arc<Schedule>,
    ) -> Result<(), ScheduleError> {
        let (path, catalog_id) = (&entry.path, entry.catalog_id);
        self.parts.schedules.put(catalog_id, document.clone());
        let event = ScheduleEvent::Registered { catalog_id };
        for _ in 0..CONFLICTS_MAX {
            let noted = match self.parts.store.schedule(path).await? {
                Some(row) if row.standing.catalog_id >= catalog_id => return Ok(()),
                Some(row) => self.note(&row, &event, Some(&document)).await?.is_some(),
                None => self.begin(path, &event, &document).await?,
            };
            if noted {
                self.parts.wakes.schedules.notify_one();
                return Ok(());
            }
        }
        Err(ScheduleError::Contended)
    }

    async fn begin(
        &self,
        path: &str,
        event: &ScheduleEvent,
        document: &Schedule,
    ) -> Result<bool, ScheduleError> {
        let now = self.parts.stamps.now();
        let standing = evolve_schedule(None, event, now).expect("a registration begins a life");
        let row = ScheduleRow {
            path: path.to_owned(),
            seq: Seq::ZERO.next(),
            playbook: document.playbook.clone(),
            timing: document.timing(),
            next_at: next_start(document, &standing),
            standing,
            updated_at: now,
        };
        Ok(self.parts.store.record_schedule(&row, event).await?)
    }

    /// Records an event of a schedule; `None` if another writer was faster. Without a document, the
    /// schedule has no next start.
    async fn note(
        &self,
        row: &ScheduleRow,
        event: &ScheduleEvent,
        document: Option<&Schedule>,
    ) -> Result<Option<ScheduleRow>, ScheduleError> {
        let now = self.parts.stamps.now();
        let standing = evolve_schedule(Some(row.standing.clone()), event, now);
        let standing = standing.expect("anything may happen to what was registered");
        let (playbook, timing) = match document {
            Some(document) => (document.playbook.clone(), document.timing()),
            None => (row.playbook.clone(), row.timing.clone()),
        };
        let moved = ScheduleRow {
            path: row.path.clone(),
            seq: row.seq.next(),
            playbook,
            timing,
            next_at: document.and_then(|document| next_start(document, &standing)),
            standing,
            updated_at: now,
        };
        let is_written = self.parts.store.record_schedule(&moved, event).await?;
        Ok(is_written.then_some(moved))
    }

    /// Returns a version of a schedule's document, parsed once.
    async fn document_of(
        &self,
        path: &str,
        catalog_id: CatalogId,
    ) -> Result<Arc<Schedule>, ScheduleError> {
        if let Some(document) = self.parts.schedules.get(catalog_id) {
            return Ok(document);
        }
        let entry = self.parts.store.by_id(catalog_id).await?;
        let entry = entry.ok_or_else(|| ScheduleError::Unknown(path.to_owned()))?;
        match noetl_playbook::parse_document(&entry.path, entry.content.as_bytes()) {
            Ok(CheckedDocument::Schedule(checked)) => {
                let document = Arc::new(checked.schedule);
                self.parts.schedules.put(catalog_id, document.clone());
                Ok(document)
            }
            Ok(
                CheckedDocument::Playbook(_)
                | CheckedDocument::Subscription(_)
                | CheckedDocument::Notification(_),
            ) => Err(ScheduleError::Unknown(path.to_owned())),
            Err(problems) => Err(ScheduleError::Damaged(problems)),
        }
    }

    /// Starts an execution for every instant of a period that has none.
    pub async fn backfill(
        &self,
        path: &str,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<(Timestamp, Fired)>, ScheduleError> {
        let instants = self.instants(path, from, until).await?;
        let document = self.schedule_document(path).await?;
        let mut fired = Vec::with_capacity(instants.len());
        for instant in instants {
            fired.push((instant, self.start_instant(path, &document, instant).await?));
        }
        let started = fired.iter().filter(|(_, fired)| match fired {
            Fired::Now(_) => true,
            Fired::Before(_) => false,
        });
        let started = started.count() as u64;
        let event = ScheduleEvent::Backfilled { from, until, started };
        self.note_unless(path, &event, |_| false).await?;
        tracing::info!(path, started, "schedule backfilled");
        Ok(fired)
    }

    /// Returns the instants of a past period, both ends included.
    pub async fn instants(
        &self,
        path: &str,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<Timestamp>, ScheduleError> {
        if until > self.parts.stamps.now() {
            return Err(ScheduleError::Ahead(until));
        }
        let document = self.schedule_document(path).await?;
        let mut reached = Timestamp::from_micros(from.as_micros().saturating_sub(1));
        let mut instants = Vec::new();
        while let Some(instant) = document.next_after(reached).filter(|it| *it <= until) {
            if instants.len() == BACKFILL_MAX {
                return Err(ScheduleError::TooMany);
            }
            instants.push(instant);
            reached = instant;
        }
        Ok(instants)
    }
}
