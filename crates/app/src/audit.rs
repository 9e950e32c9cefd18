//! The audit log: writing facts in groups, reading and verifying the chain.
//!
//! Invariants: a fact is stored, or it is in the process's log as an error; the queue is bounded.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use noetl_api::wire::{AuditEntryView, AuditLogPage, AuditVerification};
use noetl_model::{Timestamp, TrailEntry, TrailFact, TrailFault};
use noetl_secrets::AccessLog;
use noetl_store::{PAGE_MAX, Records, StoreError, TrailSpan};
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};

use crate::app::App;
use crate::store_reader::StoreReader;

/// The maximum number of facts that wait for the store.
const WAITING_MAX: usize = 10_000;
/// The maximum number of facts that are written together.
const GROUP_MAX: usize = 500;
/// The time for which a request waits until its fact is stored.
const STORED_WAIT_MAX: Duration = Duration::from_secs(5);
/// The pause after a write that failed, and the number of tries.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
const TRIES_MAX: u32 = 60;
/// The maximum number of entries that are read for one page.
const LOOKED_AT_MAX: usize = 20_000;
/// The number of verifications of a log whose beginning is deleted meanwhile.
const VERIFICATIONS_MAX: usize = 3;

/// Facts on their way to the store.
#[derive(Default)]
struct WaitingFacts {
    facts: Vec<(TrailFact, oneshot::Sender<()>)>,
    is_writing: bool,
    /// True from a write that failed until one succeeds.
    is_failing: bool,
}

/// Writes facts to the audit log, those of concurrent requests together.
#[derive(Clone)]
pub(crate) struct AuditWriter {
    records: Arc<dyn Records>,
    waiting: Arc<Mutex<WaitingFacts>>,
    /// Notified when no fact waits any more.
    idle: Arc<Notify>,
}

impl AuditWriter {
    pub(crate) fn new(records: Arc<dyn Records>) -> Self {
        Self { records, waiting: Arc::default(), idle: Arc::default() }
    }

    /// Waits until every fact is stored, for a few seconds at most.
    async fn finish(&self) {
        let mut idle = pin!(self.idle.notified());
        idle.as_mut().enable();
        if self.waiting().is_writing && timeout(STORED_WAIT_MAX, idle).await.is_err() {
            let count = self.waiting().facts.len();
            tracing::error!(count, "the audit log cannot be written; its last entries are lost");
        }
    }

    /// Writes a fact. The answer comes once it is stored, or after a few seconds.
    async fn write(&self, fact: TrailFact) {
        // A fact that is late is still written.
        let _late = timeout(STORED_WAIT_MAX, self.push(fact)).await;
    }

    /// Adds a fact to those that wait. The answer comes once it is stored, or is lost.
    fn push(&self, fact: TrailFact) -> oneshot::Receiver<()> {
        let (stored, is_stored) = oneshot::channel();
        let mut waiting = self.waiting();
        if waiting.facts.len() >= WAITING_MAX {
            drop(waiting);
            lost(&fact, "too many facts wait for the store");
            return is_stored;
        }
        waiting.facts.push((fact, stored));
        if !waiting.is_writing {
            waiting.is_writing = true;
            drop(tokio::spawn(self.clone().write_all()));
        }
        is_stored
    }

    /// Writes the waiting facts, group by group, until there are none.
    async fn write_all(self) {
        loop {
            let group: Vec<_> = {
                let mut waiting = self.waiting();
                let count = waiting.facts.len().min(GROUP_MAX);
                if count == 0 {
                    waiting.is_writing = false;
                    self.idle.notify_waiters();
                    return;
                }
                waiting.facts.drain(..count).collect()
            };
            let (facts, stored): (Vec<TrailFact>, Vec<_>) = group.into_iter().unzip();
            self.write_group(&facts).await;
            for stored in stored {
                // The request may have ended.
                let _gone = stored.send(());
            }
        }
    }

    async fn write_group(&self, facts: &[TrailFact]) {
        for attempt in 1..=TRIES_MAX {
            let written = self.records.append_trail(facts).await;
            self.waiting().is_failing = written.is_err();
            match written {
                Ok(()) => return,
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, attempt, "cannot write the audit log; will retry");
                }
            }
            sleep(RETRY_PAUSE).await;
        }
        for fact in facts {
            lost(fact, "the store refuses it");
        }
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingFacts> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AccessLog for AuditWriter {
    fn note_access(&self, fact: TrailFact) {
        drop(self.push(fact));
    }
}

/// Logs a fact that the audit log does not have.
fn lost(fact: &TrailFact, reason: &str) {
    let TrailFact { at, actor, action, subject, source, outcome, detail } = fact;
    tracing::error!(
        reason, %at, ?actor, action, ?subject, ?source, %outcome, ?detail,
        "an entry is missing from the audit log"
    );
}

/// Selects entries of the audit log.
#[derive(Debug, Clone, Default)]
pub struct AuditLogQuery {
    /// The number after which the page begins.
    pub after: u64,
    pub limit: Option<usize>,
    pub since: Option<Timestamp>,
    pub actor: Option<String>,
    /// A part of the action.
    pub action: Option<String>,
}

impl AuditLogQuery {
    fn admits(&self, fact: &TrailFact) -> bool {
        self.since.is_none_or(|since| since <= fact.at)
            && (self.actor.is_none() || self.actor == fact.actor)
            && self.action.as_ref().is_none_or(|part| fact.action.contains(part.as_str()))
    }
}

impl App {
    /// Writes a fact to the audit log and waits until it is stored, for a few seconds at most.
    pub async fn audit(&self, fact: TrailFact) {
        self.audit_writer().write(fact).await;
    }

    /// Writes a fact to the audit log in the background.
    pub fn audit_later(&self, fact: TrailFact) {
        drop(self.audit_writer().push(fact));
    }

    /// True while the audit log cannot be written, as far as the last write tells. The next fact tries
    /// again.
    pub fn audit_is_failing(&self) -> bool {
        self.audit_writer().waiting().is_failing
    }

    /// Waits until every fact is in the audit log, for a few seconds at most; for the end of a server.
    pub async fn finish_audit(&self) {
        self.audit_writer().finish().await;
    }

    pub async fn audit_page(&self, query: &AuditLogQuery) -> Result<AuditLogPage, StoreError> {
        self.reader().audit_page(query).await
    }

    /// Returns a page of the audit log, newest entry first: entries with a number below `before`.
    pub async fn newest_audit(
        &self,
        before: Option<u64>,
        query: &AuditLogQuery,
    ) -> Result<AuditLogPage, StoreError> {
        self.reader().newest_audit(before, query).await
    }

    pub async fn verify_audit(&self) -> Result<AuditVerification, StoreError> {
        self.reader().verify_audit().await
    }
}

impl StoreReader {
    /// Returns a page of the audit log, oldest entry first.
    pub async fn audit_page(&self, query: &AuditLogQuery) -> Result<AuditLogPage, StoreError> {
        let limit = query.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
        let (mut after, mut entries) = (query.after, Vec::new());
        for _page in 0..LOOKED_AT_MAX / PAGE_MAX {
            let page = self.records().trail(after, PAGE_MAX).await?;
            let is_last = page.len() < PAGE_MAX;
            for entry in page {
                after = entry.number;
                if query.admits(&entry.fact) {
                    entries.push(view(entry));
                }
                if entries.len() == limit {
                    return Ok(AuditLogPage { entries, next: Some(after) });
                }
            }
            if is_last {
                return Ok(AuditLogPage { entries, next: None });
            }
        }
        Ok(AuditLogPage { entries, next: Some(after) })
    }

    /// Returns a page of the audit log, newest entry first. `next` is the number below which the next
    /// page begins.
    pub async fn newest_audit(
        &self,
        before: Option<u64>,
        query: &AuditLogQuery,
    ) -> Result<AuditLogPage, StoreError> {
        let limit = query.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
        let span = self.records().trail_span().await?;
        let oldest = query.after.max(span.before.number);
        let end = span.last.number.saturating_add(1);
        let (mut below, mut entries) = (before.map_or(end, |before| before.min(end)), Vec::new());
        for _page in 0..LOOKED_AT_MAX / PAGE_MAX {
            // Numbers have no gaps, so a page of them is a page of entries.
            let from = below.saturating_sub(1 + PAGE_MAX as u64).max(oldest);
            if below <= from + 1 {
                return Ok(AuditLogPage { entries, next: None });
            }
            let page = self.records().trail(from, PAGE_MAX).await?;
            for entry in page.into_iter().rev().filter(|entry| entry.number < below) {
                let number = entry.number;
                if query.admits(&entry.fact) {
                    entries.push(view(entry));
                }
                if entries.len() == limit {
                    let next = Some(number).filter(|number| *number > oldest + 1);
                    return Ok(AuditLogPage { entries, next });
                }
            }
            below = from + 1;
        }
        Ok(AuditLogPage { entries, next: Some(below) })
    }

    /// Verifies the digests of the audit log from its stored beginning to its stored end.
    pub async fn verify_audit(&self) -> Result<AuditVerification, StoreError> {
        let mut tries = 1;
        loop {
            let span = self.records().trail_span().await?;
            let fault = self.trail_fault(span).await?;
            // Old entries may have been deleted meanwhile.
            let is_cut = || async {
                Ok::<bool, StoreError>(self.records().trail_span().await?.before != span.before)
            };
            if fault.is_some() && tries < VERIFICATIONS_MAX && is_cut().await? {
                tries += 1;
                continue;
            }
            return Ok(AuditVerification {
                valid: fault.is_none(),
                entries: span.last.number.saturating_sub(span.before.number),
                last: span.last.number,
                head: (span.last.number > 0).then(|| span.last.digest.to_string()),
                fault: fault.map(|fault| fault.to_string()),
            });
        }
    }

    async fn trail_fault(&self, span: TrailSpan) -> Result<Option<TrailFault>, StoreError> {
        let (mut place, last) = (span.before, span.last);
        while place.number < last.number {
            let page = self.records().trail(place.number, PAGE_MAX).await?;
            if page.is_empty() {
                let (expected, found) = (last.number, place.number);
                return Ok(Some(TrailFault::CutOff { expected, found }));
            }
            for entry in page.iter().take_while(|entry| entry.number <= last.number) {
                match entry.check_after(&place) {
                    Ok(next) => place = next,
                    Err(fault) => return Ok(Some(fault)),
                }
            }
            if page.first().is_some_and(|entry| entry.number > last.number) {
                let (expected, found) = (place.number + 1, page[0].number);
                return Ok(Some(TrailFault::Missing { expected, found }));
            }
        }
        if place != last {
            return Ok(Some(TrailFault::Changed(place.number)));
        }
        // Entries behind the end were appended meanwhile, unless the end was changed.
        let Some(next) = self.records().trail(last.number, 1).await?.into_iter().next() else {
            return Ok(None);
        };
        let end = self.records().trail_span().await?.last.number;
        Ok((end < next.number).then_some(TrailFault::Changed(next.number)))
    }
}

fn view(entry: TrailEntry) -> AuditEntryView {
    let TrailFact { at, actor, action, subject, source, outcome, detail } = entry.fact;
    AuditEntryView {
        number: entry.number,
        at: at.to_string(),
        actor,
        action,
        subject,
        source,
        outcome: outcome.to_string(),
        detail,
        digest: entry.digest.to_string(),
    }
}
