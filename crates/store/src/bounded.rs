//! A store wrapper that gives every call a deadline, for waits on connections, locks, networks and
//! disks.
//!
//! A write whose deadline has passed has an unknown outcome, like a write whose connection was
//! lost.
//!
//! Provided trait methods are forwarded as well: without that, a caller would get the default
//! implementation instead of the wrapped store's own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{
    CatalogId, CommandId, Digest, Envelope, EventId, ExecutionId, ExecutionStatus, Pool, Recorded,
    ScheduleEvent, Seq, Summary, Timestamp, WorkerId,
};
use tokio::time::timeout;

use crate::*;

/// The deadline of one maintenance call. Dropping a month of executions unlinks large files.
pub const MAINTENANCE_MAX: Duration = Duration::from_secs(300);

/// A store whose calls fail with [`StoreError::TimedOut`] after their deadline, and which keeps the
/// last write that the disk refused.
#[derive(Debug)]
pub struct Bounded<S> {
    store: Arc<S>,
    deadline: Duration,
    write_fault: Mutex<Option<String>>,
}

impl<S> Bounded<S> {
    pub fn new(store: Arc<S>, deadline: Duration) -> Self {
        Self { store, deadline, write_fault: Mutex::new(None) }
    }

    async fn within<T>(
        &self,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.within_deadline(self.deadline, answer).await
    }

    async fn within_deadline<T>(
        &self,
        deadline: Duration,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let answered = timeout(deadline, answer).await;
        let answered = answered.unwrap_or(Err(StoreError::TimedOut { deadline }));
        if let Err(error) = &answered {
            self.observe(error);
        }
        answered
    }

    fn observe(&self, error: &StoreError) {
        match error {
            StoreError::Unwritable { .. } => *self.fault() = Some(error.to_string()),
            StoreError::Unavailable(_)
            | StoreError::TimedOut { .. }
            | StoreError::OutOfReach { .. }
            | StoreError::Corrupt { .. } => {}
        }
    }

    fn fault(&self) -> MutexGuard<'_, Option<String>> {
        self.write_fault.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Implements traits whose methods are all async and have the default deadline.
macro_rules! bounded {
    ($($port:ident {
        $(fn $name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*
    })*) => {$(
        #[async_trait]
        impl<S: $port> $port for Bounded<S> {
            $(async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                self.within(self.store.$name($($argument),*)).await
            })*
        }
    )*};
}

#[async_trait]
impl<S: EventLog> EventLog for Bounded<S> {
    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError> {
        let outcomes = self.within(self.store.append(batch)).await?;
        for outcome in &outcomes {
            match outcome {
                Err(AppendError::Unanswered(Unanswered(error))) => self.observe(error),
                Err(
                    AppendError::Conflict
                    | AppendError::ChildExists { .. }
                    | AppendError::KeyTaken(_),
                )
                | Ok(()) => {}
            }
        }
        Ok(outcomes)
    }

    async fn read(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.within(self.store.read(execution, after, limit)).await
    }

    fn admits(&self, execution: ExecutionId, key: &StartKey) -> bool {
        self.store.admits(execution, key)
    }

    async fn find(&self, event: EventId) -> Result<Option<(ExecutionId, Recorded)>, StoreError> {
        self.within(self.store.find(event)).await
    }
}

#[async_trait]
impl<S: StoreTime> StoreTime for Bounded<S> {
    fn clock(&self) -> Arc<dyn Clock> {
        self.store.clock()
    }

    async fn time(&self) -> Result<Timestamp, StoreError> {
        self.within(self.store.time()).await
    }
}

#[async_trait]
impl<S: Layout> Layout for Bounded<S> {
    async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError> {
        self.within(self.store.count(status, max)).await
    }

    async fn tables(&self) -> Result<Tables, StoreError> {
        self.within(self.store.tables()).await
    }

    async fn check_writable(&self) -> Result<(), StoreError> {
        // Takes the fault before the check, so that a write failing during the check stays
        // recorded.
        let before = self.fault().take();
        let checked = self.within(self.store.check_writable()).await;
        if checked.is_err() {
            let mut fault = self.fault();
            *fault = fault.take().or(before);
        }
        checked
    }

    fn write_fault(&self) -> Option<String> {
        self.fault().clone().or_else(|| self.store.write_fault())
    }

    fn shards(&self) -> usize {
        self.store.shards()
    }

    fn connections(&self) -> Option<Connections> {
        self.store.connections()
    }
}

#[async_trait]
impl<S: Cleanup> Cleanup for Bounded<S> {
    async fn collect(&self, horizon: &Horizon, limit: usize) -> Result<Collected, StoreError> {
        self.within_deadline(MAINTENANCE_MAX, self.store.collect(horizon, limit)).await
    }

    async fn expire(&self, before: Timestamp) -> Result<Vec<String>, StoreError> {
        self.within_deadline(MAINTENANCE_MAX, self.store.expire(before)).await
    }

    async fn collect_blobs(&self, first: u8, before: Timestamp) -> Result<u64, StoreError> {
        self.within_deadline(MAINTENANCE_MAX, self.store.collect_blobs(first, before)).await
    }
}

bounded! {
    CommandQueue {
        fn ready(pool: &Pool, after: Option<ExecutionId>, limit: usize) -> Vec<ReadyCommand>;
        fn extend(held: &[Held], lease: Duration) -> Vec<HeldAnswer>;
        fn renew(worker: &WorkerId, lease: Duration) -> u64;
        fn release(worker: &WorkerId) -> u64;
        fn exhausted(attempts: u32, limit: usize) -> Vec<Held>;
        fn ready_pools() -> Vec<Pool>;
        fn ready_count(pool: &Pool) -> u64;
        fn waiting_executions(pool: &Pool, count_max: u64) -> u64;
    }
    Timers {
        fn due(now: Timestamp, limit: usize) -> Vec<TimerRow>;
        fn next_due() -> Option<Timestamp>;
    }
    Outbox {
        fn take(take: Take) -> Vec<OutboxRow>;
        fn sent(ids: &[i64]) -> Sent;
        fn failed(failures: &[Failure]) -> Vec<Fate>;
        fn postpone(ids: &[i64], delay: Duration) -> ();
        fn owed() -> u64;
        fn pending() -> u64;
        fn letters(page: LetterPage) -> Vec<Letter>;
        fn revive(ids: &[i64]) -> u64;
        fn discard(ids: &[i64]) -> u64;
    }
    Payloads {
        fn payload(digest: &Digest) -> Option<Vec<u8>>;
    }
    Catalog {
        fn register(playbook: NewPlaybook) -> CatalogEntry;
        fn by_id(catalog_id: CatalogId) -> Option<CatalogEntry>;
        fn by_path(path: &str, version: Option<u32>) -> Option<CatalogEntry>;
        fn paths(after: Option<&str>, limit: usize) -> Vec<CatalogEntry>;
    }
    Snapshots {
        fn save(execution: ExecutionId, snapshot: &Snapshot) -> ();
        fn latest(execution: ExecutionId) -> Option<Snapshot>;
    }
    SavedReplays {
        fn save_replay(execution: ExecutionId, projection: &str, replay: &SavedReplay) -> ();
        fn furthest_replay(execution: ExecutionId, projection: &str, bound: ReplayBound)
            -> Option<SavedReplay>;
        fn saved_replays(execution: ExecutionId) -> Vec<ReplayMark>;
    }
    Executions {
        fn summary(execution: ExecutionId) -> Option<Summary>;
        fn list(filter: &ExecutionFilter, page: Page) -> Vec<Summary>;
        fn stalled(before: Timestamp, limit: usize) -> Vec<ExecutionId>;
        fn child_of(parent: ExecutionId, command: CommandId) -> Option<ExecutionId>;
    }
    OpenRows {
        fn open_work(execution: ExecutionId) -> OpenWork;
    }
    EventFeed {
        fn feed(after: &FeedCursor, limit: usize) -> FeedPage;
        fn feed_point(point: &FeedPoint) -> FeedCursor;
    }
    Feeds {
        fn add_feed(feed: &NamedFeed) -> bool;
        fn find_feed(name: &str) -> Option<NamedFeed>;
        fn list_feeds() -> Vec<NamedFeed>;
        fn move_feed(name: &str, from: &FeedCursor, to: &FeedCursor) -> bool;
        fn put_feed_delivery(name: &str, delivery: &FeedDelivery) -> bool;
        fn remove_feed(name: &str) -> bool;
    }
    Subscriptions {
        fn record(row: &SubscriptionRow, event: EventId) -> bool;
        fn subscription(id: ExecutionId) -> Option<SubscriptionRow>;
        fn subscription_at(path: &str) -> Option<SubscriptionRow>;
        fn subscriptions(before: Option<ExecutionId>) -> Vec<SubscriptionRow>;
        fn subscription_events(id: ExecutionId, after: Seq) -> Vec<SubscriptionRecord>;
    }
    Schedules {
        fn record_schedule(row: &ScheduleRow, event: &ScheduleEvent) -> bool;
        fn schedule(path: &str) -> Option<ScheduleRow>;
        fn list_schedules(after: Option<&str>) -> Vec<ScheduleRow>;
        fn due_schedules(now: Timestamp, limit: usize) -> Vec<ScheduleRow>;
        fn next_schedule() -> Option<Timestamp>;
        fn waiting_schedules(after: Option<&str>) -> Vec<ScheduleRow>;
        fn schedule_events(path: &str, before: Option<Seq>, limit: usize) -> Vec<ScheduleRecord>;
    }
}

bounded! {
    Credentials {
        fn put_credential(credential: &Credential) -> Option<Credential>;
        fn credential(key: &CredentialKey) -> Option<Credential>;
        fn credentials(filter: &CredentialFilter, limit: usize) -> Vec<Credential>;
        fn remove_credential(id: i64) -> bool;
        fn key_versions(table: SealedTable) -> Vec<(String, u64)>;
        fn sealed_otherwise(table: SealedTable, version: &str, after: &str, limit: usize)
            -> Vec<SealedRow>;
        fn rewrap(table: SealedTable, change: &Rewrap) -> bool;
    }
    Keychain {
        fn put_keychain_entry(entry: &KeychainEntry) -> ();
        fn keychain_entry(cache_key: &str, now: Timestamp) -> Option<KeychainEntry>;
        fn keychain_entries(catalog_id: CatalogId, limit: usize) -> Vec<KeychainEntry>;
        fn remove_keychain_entry(cache_key: &str) -> bool;
    }
    SecretAudit {
        fn note_access(entry: &AuditEntry) -> ();
        fn accesses(filter: &AuditFilter, limit: usize) -> Vec<AuditEntry>;
    }
    Variables {
        fn put_variables(execution: ExecutionId, variables: &[Variable]) -> ();
        fn variables(execution: ExecutionId) -> Vec<Variable>;
        fn variable(execution: ExecutionId, name: &str, now: Timestamp) -> Option<Variable>;
        fn remove_variables(execution: ExecutionId, name: Option<&str>) -> u64;
    }
    Runtimes {
        fn put_runtime(runtime: &Runtime) -> Runtime;
        fn heard_runtime(key: &RuntimeKey, now: Timestamp) -> bool;
        fn runtime(key: &RuntimeKey) -> Option<Runtime>;
        fn runtimes(kind: &str) -> Vec<Runtime>;
        fn remove_runtime(key: &RuntimeKey) -> bool;
    }
    Results {
        fn put_result(result: &NamedResult, body: &[u8]) -> NamedResult;
        fn result(reference: &ResultRef, now: Timestamp) -> Option<NamedResult>;
    }
    Objects {
        fn put_object(object: &Object) -> ();
        fn object(key: &ObjectKey, now: Timestamp) -> Option<Object>;
    }
    FailedMessages {
        fn put_failed_message(message: &FailedMessage) -> ();
        fn failed_among(subscription: ExecutionId, named: &[String], order_keys: &[String])
            -> Vec<FailedMark>;
        fn failed_message(subscription: ExecutionId, once: &str) -> Option<FailedMessage>;
        fn failed_messages(subscription: ExecutionId, after: &str, limit: usize)
            -> Vec<FailedMessage>;
        fn remove_failed_messages(subscription: ExecutionId, named: &[String]) -> u64;
    }
    Turns {
        fn take_turn(name: &str, holder: &str, lease: Duration) -> bool;
        fn end_turn(name: &str, holder: &str) -> ();
    }
    Projected {
        fn project(events: &[Envelope]) -> u64;
        fn projected(execution: i64, after: i64, limit: usize) -> Vec<Envelope>;
        fn forget_projected(before: Timestamp, limit: usize) -> u64;
    }
}

#[cfg(test)]
mod tests;
