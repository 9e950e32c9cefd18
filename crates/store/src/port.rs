//! The storage ports, one for each consumer of stored data.

mod access;
mod limits;
mod retention;

use async_trait::async_trait;

pub use access::{AuditTrail, Tokens};
pub use limits::{Pauses, SlotLimits};
pub use retention::Retention;

use crate::signature::*;

/// The event log of executions, with what is stored to load their state: large payloads, snapshots
/// and saved replays.
#[async_trait]
pub trait EventLog: Send + Sync {
    /// Writes the decisions of many executions in one transaction, each atomically, and returns an
    /// answer for each in order. Accepted appends are durable when this returns. A sharded store
    /// answers for the shards it reaches, and fails only if no shard answers.
    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError>;

    /// Returns the events after `after`, in order, at most `limit` (and at most `READ_EVENTS_MAX`).
    /// A page ends early with the event that brings it to `READ_BYTES_MAX`: only an empty page is
    /// the end.
    async fn read(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError>;

    /// True if an execution with this id can be started under this key. An append whose key and
    /// execution cannot share a transaction is rejected as a conflict.
    fn admits(&self, execution: ExecutionId, key: &StartKey) -> bool;

    /// Returns the event with an id, and its execution.
    async fn find(&self, event: EventId) -> Result<Option<(ExecutionId, Recorded)>, StoreError>;

    /// Returns the JSON bytes of a large payload.
    async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Saves a snapshot unless a later one exists.
    async fn save(&self, execution: ExecutionId, snapshot: &Snapshot) -> Result<(), StoreError>;

    async fn latest(&self, execution: ExecutionId) -> Result<Option<Snapshot>, StoreError>;

    /// Saves a replay of one projection, replacing one at the same seq.
    async fn save_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        replay: &SavedReplay,
    ) -> Result<(), StoreError>;

    /// Returns the replay of a projection with the highest seq within a bound.
    async fn furthest_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        bound: ReplayBound,
    ) -> Result<Option<SavedReplay>, StoreError>;

    /// Lists the saved replays of an execution, ordered by projection and seq, at most `PAGE_MAX`.
    async fn saved_replays(&self, execution: ExecutionId) -> Result<Vec<ReplayMark>, StoreError>;
}

/// Open work: commands, timers, and the one clock that leases and timers are compared with.
#[async_trait]
pub trait WorkQueue: Send + Sync {
    /// Returns the commands of a pool that can be leased now, by the store's clock, in rounds: one
    /// command of every execution, then a second of every execution, and so on, so that no
    /// execution waits behind the many commands of another. A round visits executions by id, from
    /// the first after `after`, and wraps around. Within an execution, commands with expired leases
    /// come first (earliest expiry first), then new ones in insertion order.
    async fn ready(
        &self,
        pool: &Pool,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<ReadyCommand>, StoreError>;

    /// Extends leases to `lease` from now, by the store's clock. Returns an answer for each, in
    /// order.
    async fn extend(&self, held: &[Held], lease: Duration) -> Result<Vec<HeldAnswer>, StoreError>;

    /// Extends all leases of a worker to `lease` from now, by the store's clock, including expired
    /// ones that were not taken over. Returns the number of leases.
    async fn renew(&self, worker: &WorkerId, lease: Duration) -> Result<u64, StoreError>;

    /// Ends all leases of a worker that is known to be gone. Returns the number of leases.
    async fn release(&self, worker: &WorkerId) -> Result<u64, StoreError>;

    /// Returns commands whose lease has expired and which were leased at least `attempts` times.
    async fn exhausted(
        &self,
        attempts: u32,
        skip: usize,
        limit: usize,
    ) -> Result<Vec<Held>, StoreError>;

    /// Returns the pools with a command that can be leased now, at most `PAGE_MAX`.
    async fn ready_pools(&self) -> Result<Vec<Pool>, StoreError>;

    /// Returns the number of commands of a pool that can be leased now.
    async fn ready_count(&self, pool: &Pool) -> Result<u64, StoreError>;

    /// Returns the numbers of commands of a pool that can be leased now, by priority, the lowest first.
    async fn ready_by_priority(&self, pool: &Pool) -> Result<Vec<ReadyCount>, StoreError>;

    /// Returns the time since which the oldest never-leased command of a pool waits.
    async fn oldest_ready(&self, pool: &Pool) -> Result<Option<Timestamp>, StoreError>;

    /// Returns commands that workers hold now, those with the latest end of the lease first.
    async fn leased(&self, limit: usize) -> Result<Vec<LeasedCommand>, StoreError>;

    /// Returns the number of executions with a never-leased command in a pool, counting at most
    /// `count_max`, which bounds the cost.
    async fn waiting_executions(&self, pool: &Pool, count_max: u64) -> Result<u64, StoreError>;

    /// Returns the timers due at `now` or before, earliest first.
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<TimerRow>, StoreError>;

    /// Returns the due time of the earliest timer.
    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Returns the queue rows and timer rows of an execution.
    async fn open_work(&self, execution: ExecutionId) -> Result<OpenWork, StoreError>;

    /// Returns this process's estimate of the store's clock, without asking the store.
    fn clock(&self) -> Arc<dyn Clock>;

    /// Asks the store for its time, which also improves the estimate of a remote clock.
    async fn time(&self) -> Result<Timestamp, StoreError>;
}

/// Queries about executions by their summaries.
#[async_trait]
pub trait Executions: Send + Sync {
    async fn summary(&self, execution: ExecutionId) -> Result<Option<Summary>, StoreError>;

    /// Lists executions, newest first.
    async fn list(&self, filter: &ExecutionFilter, page: Page) -> Result<Vec<Summary>, StoreError>;

    /// Returns running executions without open commands, timers and pending messages whose last
    /// event is older than `before`: nothing can move them.
    async fn stalled(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError>;

    /// Returns the child execution of a command.
    async fn child_of(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Option<ExecutionId>, StoreError>;

    /// Returns the index entries with a kind and a key, ordered by execution and command.
    async fn indexed(
        &self,
        kind: IndexKind,
        key: &IndexKey,
        page: IndexPage,
    ) -> Result<Vec<IndexRow>, StoreError>;

    /// Returns the index entries of a kind that are open waits, oldest first, at most `limit` (and at
    /// most `PAGE_MAX`): those with a command, and executions that wait for their own slot.
    async fn open_index(
        &self,
        kind: IndexKind,
        after: Option<&OpenIndexPlace>,
        limit: usize,
    ) -> Result<Vec<IndexRow>, StoreError>;

    /// Returns the number of executions with a status, counting at most `max`.
    async fn count(&self, status: ExecutionStatus, max: u64) -> Result<u64, StoreError>;

    /// Counts executions by bucket and status, ordered by both, without bars of zero. A bar counts
    /// at most `count_max`. If a filter by a part of the path or by a text finds more than all bars can
    /// count, at least one bar has that count, and the others may be too low.
    async fn histogram(
        &self,
        filter: &ExecutionFilter,
        span: &HistogramSpan,
        count_max: u64,
    ) -> Result<Vec<HistogramBar>, StoreError>;
}

/// The versions of playbooks.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// Registers a playbook as the next version of its path. Returns the newest version instead if
    /// its content is the same. An archived path is restored.
    async fn register(&self, playbook: NewPlaybook) -> Result<RegisteredVersion, StoreError>;

    /// Archives all versions of a path (`archived_at` is a time) or restores them (`None`). An
    /// archived path keeps the time at which it was first archived. Returns the newest version;
    /// `None` if the catalog has no such path.
    async fn set_archived(
        &self,
        path: &str,
        archived_at: Option<Timestamp>,
    ) -> Result<Option<CatalogEntry>, StoreError>;

    async fn by_id(&self, catalog_id: CatalogId) -> Result<Option<CatalogEntry>, StoreError>;

    /// Returns a version of a path; the newest if `version` is `None`.
    async fn by_path(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StoreError>;

    /// Returns the paths whose newest version is of a kind other than `Playbook`, ordered by path, with
    /// their contents, at most [`PAGE_MAX`](crate::PAGE_MAX).
    async fn entries_of_kind(
        &self,
        kind: &str,
        state: EntryState,
    ) -> Result<Vec<CatalogEntry>, StoreError>;

    /// Returns the newest versions that a query selects, ordered by path.
    async fn paths(&self, query: &CatalogQuery) -> Result<Vec<CatalogEntry>, StoreError>;
}

/// Pending messages to other systems.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Takes messages for sending that no other consumer holds. A message whose hold has passed may be
    /// taken again; a message that was taken too often becomes dead.
    async fn take(&self, take: Take) -> Result<Vec<OutboxRow>, StoreError>;

    /// Deletes sent messages. Deleting a message twice is allowed.
    async fn sent(&self, ids: &[i64]) -> Result<Sent, StoreError>;

    /// Records failed attempts. Returns an answer for each, in order.
    async fn failed(&self, failures: &[Failure]) -> Result<Vec<AttemptOutcome>, StoreError>;

    /// Returns taken messages that were not tried: they wait for `delay`, and the attempt does not
    /// count.
    async fn postpone(&self, ids: &[i64], delay: Duration) -> Result<(), StoreError>;

    /// Adds the notification of a command once more. Returns false and changes nothing if a
    /// notification of this command is still pending.
    async fn remind(
        &self,
        execution: ExecutionId,
        command: CommandId,
        notification: &Message,
    ) -> Result<bool, StoreError>;

    /// Returns the number of pending messages, without dead ones.
    async fn owed(&self) -> Result<u64, StoreError>;

    /// Returns the number of messages that can be taken now.
    async fn pending(&self) -> Result<u64, StoreError>;

    /// Lists messages for an operator, oldest first.
    async fn list_messages(&self, page: OutboxListing) -> Result<Vec<ListedMessage>, StoreError>;

    /// Makes failed and dead messages available at once, with all their attempts. Returns their
    /// number.
    async fn revive(&self, ids: &[i64]) -> Result<u64, StoreError>;

    /// Deletes dead messages. Returns their number.
    async fn discard(&self, ids: &[i64]) -> Result<u64, StoreError>;
}

/// The feed of all events, and the named readers that follow it.
#[async_trait]
pub trait Feeds: Send + Sync {
    /// Returns the events after a cursor, at most `limit` (and at most [`FEED_READ_MAX`]). The
    /// events of one execution come in the order of their seq.
    async fn feed(&self, after: &FeedCursor, limit: usize) -> Result<FeedPage, StoreError>;

    /// Returns the cursor from which a reader sees every event from a point on.
    async fn feed_point(&self, point: &FeedPoint) -> Result<FeedCursor, StoreError>;

    /// Adds a feed. Returns false and changes nothing if a feed with this name exists.
    async fn add_feed(&self, feed: &NamedFeed) -> Result<bool, StoreError>;

    async fn find_feed(&self, name: &str) -> Result<Option<NamedFeed>, StoreError>;

    /// Returns all feeds, ordered by name.
    async fn list_feeds(&self) -> Result<Vec<NamedFeed>, StoreError>;

    /// Moves the cursor of a feed from `from` to `to`. Returns false if the cursor is not at
    /// `from`.
    async fn move_feed(
        &self,
        name: &str,
        from: &FeedCursor,
        to: &FeedCursor,
    ) -> Result<bool, StoreError>;

    /// Stores the delivery state of a feed. Returns false if there is no such feed.
    async fn put_feed_delivery(
        &self,
        name: &str,
        delivery: &FeedDelivery,
    ) -> Result<bool, StoreError>;

    /// Deletes a feed. Returns false if there is no such feed.
    async fn remove_feed(&self, name: &str) -> Result<bool, StoreError>;
}

/// Schedules and subscriptions, which start executions: their events, the messages that could not be
/// dispatched, and the leases on work that only one of several processes does at a time.
#[async_trait]
pub trait Triggers: Send + Sync {
    /// Appends an event to a subscription and stores its row. Returns false and writes nothing
    /// unless the subscription is at `row.seq - 1`, or if its path has another subscription that is
    /// not deactivated.
    async fn record(&self, row: &SubscriptionRow, event: EventId) -> Result<bool, StoreError>;

    async fn subscription(&self, id: ExecutionId) -> Result<Option<SubscriptionRow>, StoreError>;

    /// Returns the active subscription of a path, else the newest.
    async fn subscription_at(&self, path: &str) -> Result<Option<SubscriptionRow>, StoreError>;

    /// Lists subscriptions older than `before`, newest first, at most `limit` (and `PAGE_MAX`).
    async fn subscriptions(
        &self,
        before: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<SubscriptionRow>, StoreError>;

    /// Returns the events of a subscription after `after`, oldest first, at most `READ_EVENTS_MAX`.
    async fn subscription_events(
        &self,
        id: ExecutionId,
        after: Seq,
    ) -> Result<Vec<SubscriptionRecord>, StoreError>;

    /// Appends an event to a schedule and stores its row. Returns false and writes nothing unless
    /// the schedule is at `row.seq - 1`.
    async fn record_schedule(
        &self,
        row: &ScheduleRow,
        event: &ScheduleEvent,
    ) -> Result<bool, StoreError>;

    async fn schedule(&self, path: &str) -> Result<Option<ScheduleRow>, StoreError>;

    /// Lists the schedules after a path, ordered by path, at most `PAGE_MAX`.
    async fn list_schedules(&self, after: Option<&str>) -> Result<Vec<ScheduleRow>, StoreError>;

    /// Returns the schedules that are due at `now`, longest due first, at most `limit` (and
    /// `PAGE_MAX`).
    async fn due_schedules(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<ScheduleRow>, StoreError>;

    /// Returns the earliest due time of all schedules.
    async fn next_schedule(&self) -> Result<Option<Timestamp>, StoreError>;

    /// Lists the schedules with instants that wait for an execution to end, after a path and
    /// ordered by path, at most `PAGE_MAX`.
    async fn waiting_schedules(&self, after: Option<&str>) -> Result<Vec<ScheduleRow>, StoreError>;

    /// Returns the events of a schedule before `before`, newest first, at most `limit` (and
    /// `READ_EVENTS_MAX`).
    async fn schedule_events(
        &self,
        path: &str,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<ScheduleRecord>, StoreError>;

    /// Stores a failed message, replacing an earlier record of it.
    async fn put_failed_message(&self, message: &FailedMessage) -> Result<(), StoreError>;

    /// Returns the failed messages of a subscription that are named, or that wait in one of the
    /// lines.
    async fn failed_among(
        &self,
        subscription: ExecutionId,
        named: &[String],
        order_keys: &[String],
    ) -> Result<Vec<FailedMark>, StoreError>;

    async fn failed_message(
        &self,
        subscription: ExecutionId,
        once: &str,
    ) -> Result<Option<FailedMessage>, StoreError>;

    /// Lists the failed messages of a subscription after one of them, ordered by `once`, at most
    /// `PAGE_MAX`.
    async fn failed_messages(
        &self,
        subscription: ExecutionId,
        after: &str,
        limit: usize,
    ) -> Result<Vec<FailedMessage>, StoreError>;

    /// Deletes failed messages. Returns their number.
    async fn remove_failed_messages(
        &self,
        subscription: ExecutionId,
        named: &[String],
    ) -> Result<u64, StoreError>;

    /// Acquires or extends a named lock for `lease` from now, by the store's clock. Returns false if another
    /// holder has the lock. A lock that is not extended expires.
    async fn acquire_lock(
        &self,
        name: &str,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, StoreError>;

    /// Releases a named lock if `holder` has it.
    async fn release_lock(&self, name: &str, holder: &str) -> Result<(), StoreError>;
}

/// Sealed secrets: credentials, the keychain, and the audit log of accesses.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// Stores a credential, replacing one with the same name and id except for its creation time.
    /// Returns `None` if the name belongs to another id: the secret is sealed for its id, so the
    /// caller has to look up the credential again.
    async fn put_credential(
        &self,
        credential: &Credential,
    ) -> Result<Option<Credential>, StoreError>;

    async fn credential(&self, key: &CredentialKey) -> Result<Option<Credential>, StoreError>;

    /// Lists credentials, newest first, at most `limit` (and at most `PAGE_MAX`).
    async fn credentials(
        &self,
        filter: &CredentialFilter,
        limit: usize,
    ) -> Result<Vec<Credential>, StoreError>;

    /// Returns false if there was no such credential.
    async fn remove_credential(&self, id: i64) -> Result<bool, StoreError>;

    /// Returns the number of sealed rows under each key version, ordered by version.
    async fn key_versions(&self, table: SealedTable) -> Result<Vec<(String, u64)>, StoreError>;

    /// Returns rows after a key, ordered by key, that are not sealed under `version`.
    async fn sealed_otherwise(
        &self,
        table: SealedTable,
        version: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<SealedRow>, StoreError>;

    /// Stores the rewrapped data key of a row. Returns false if the row has changed in the
    /// meantime.
    async fn rewrap(&self, table: SealedTable, change: &Rewrap) -> Result<bool, StoreError>;

    /// Stores an entry, replacing one with the same cache key.
    async fn put_keychain_entry(&self, entry: &KeychainEntry) -> Result<(), StoreError>;

    /// Returns the entry with a cache key and counts the access at `now`.
    async fn keychain_entry(
        &self,
        cache_key: &str,
        now: Timestamp,
    ) -> Result<Option<KeychainEntry>, StoreError>;

    /// Returns the entries of a playbook version, ordered by cache key.
    async fn keychain_entries(
        &self,
        catalog_id: CatalogId,
        limit: usize,
    ) -> Result<Vec<KeychainEntry>, StoreError>;

    /// Returns false if there was no such entry.
    async fn remove_keychain_entry(&self, cache_key: &str) -> Result<bool, StoreError>;

    async fn note_access(&self, entry: &AuditEntry) -> Result<(), StoreError>;

    /// Lists entries, newest first, at most `limit` (and at most [`AUDIT_PAGE_MAX`]).
    async fn accesses(
        &self,
        filter: &AuditFilter,
        limit: usize,
    ) -> Result<Vec<AuditEntry>, StoreError>;
}

/// Signals that are sent by a correlation key, kept until a wait takes them.
#[async_trait]
pub trait SentSignals: Send + Sync {
    /// Stores a signal, and returns it with its number: the given one, or a later one if a signal of
    /// the same index key that is not delivered has that or a later one. Returns the signal that was
    /// stored under the same deduplication key instead, if there is one.
    async fn add_signal(&self, signal: &StoredSignal) -> Result<StoredSignal, StoreError>;

    /// Finds a signal by its number.
    async fn find_signal(&self, id: i64) -> Result<Option<StoredSignal>, StoreError>;

    /// Lists the undelivered signals for an index key after a number, at most `limit` (and `PAGE_MAX`).
    async fn undelivered_signals(
        &self,
        index_key: &IndexKey,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredSignal>, StoreError>;

    /// Lists the undelivered signals after a number, by number, at most `limit` (and `PAGE_MAX`).
    async fn open_signals(&self, after: i64, limit: usize)
    -> Result<Vec<StoredSignal>, StoreError>;

    /// Assigns a signal that is kept to a wait. Returns false if it is not kept any more.
    async fn assign_signal(&self, id: i64, target: SignalTarget) -> Result<bool, StoreError>;

    /// Keeps a signal again that is assigned to this wait. Returns false if it is not.
    async fn release_signal(&self, id: i64, target: SignalTarget) -> Result<bool, StoreError>;

    /// Marks a signal as delivered that is assigned to this wait, and lets it expire at a time unless
    /// it expires before. Returns false if it is not assigned to the wait.
    async fn settle_signal(
        &self,
        id: i64,
        target: SignalTarget,
        expires_at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Deletes a signal that is kept. Returns false if it is not kept (any more).
    async fn drop_signal(&self, id: i64) -> Result<bool, StoreError>;

    /// Returns the number of undelivered signals, counting at most `max`.
    async fn count_signals(&self, max: u64) -> Result<u64, StoreError>;

    /// Returns the number of signals for an index key that are not delivered, counting at most `max`.
    async fn count_signals_of(&self, index_key: &IndexKey, max: u64) -> Result<u64, StoreError>;

    /// Deletes signals that expired before an instant, at most `limit`, except those that are being
    /// delivered. Returns their number.
    async fn forget_signals(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError>;
}

/// Jobs that act on many executions, and the results for each of them.
#[async_trait]
pub trait BulkJobs: Send + Sync {
    /// Stores a new job. Returns the job that was created under the same key instead, if there is
    /// one.
    async fn add_bulk_job(&self, job: &BulkJob) -> Result<BulkJob, StoreError>;

    async fn bulk_job(&self, id: i64) -> Result<Option<BulkJob>, StoreError>;

    /// Lists jobs older than `before`, newest first, at most `limit` (and `PAGE_MAX`).
    async fn bulk_jobs(
        &self,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Vec<BulkJob>, StoreError>;

    /// Lists the jobs that have not ended, oldest first, at most `PAGE_MAX`.
    async fn open_bulk_jobs(&self) -> Result<Vec<BulkJob>, StoreError>;

    /// Stores a changed job and results of executions atomically; an execution keeps its first
    /// result. Returns false and writes nothing unless the stored job is at `job.seq - 1`.
    async fn record_bulk(&self, job: &BulkJob, items: &[BulkItem]) -> Result<bool, StoreError>;

    /// Lists results of a job by descending execution id.
    async fn bulk_items(&self, job: i64, page: BulkItemPage) -> Result<Vec<BulkItem>, StoreError>;

    /// Deletes jobs that ended before an instant, with their results, at most `limit`. Returns the
    /// number of jobs.
    async fn forget_bulk_jobs(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError>;
}

/// The output that tools print while they run. It is not part of the event log: a power loss may
/// drop the last chunks, and it is deleted by age.
#[async_trait]
pub trait StepLogs: Send + Sync {
    /// Stores chunks within limits and returns an answer for each batch, in order. A chunk whose
    /// attempt has stored it or a later one is skipped, so a repeated call changes nothing. Positions
    /// of an execution become visible in order.
    async fn append_logs(
        &self,
        batches: &[LogBatch],
        limits: LogLimits,
    ) -> Result<Vec<LogAnswer>, StoreError>;

    /// Returns a page of the chunks of an execution.
    async fn read_logs(
        &self,
        execution: ExecutionId,
        page: &LogRead,
    ) -> Result<Vec<StoredLog>, StoreError>;

    /// Returns the attempts of some commands whose output is stored, in any order.
    async fn log_sources(
        &self,
        execution: ExecutionId,
        commands: &[CommandId],
    ) -> Result<Vec<Held>, StoreError>;

    /// Deletes the output of executions that have printed nothing since `before`, at most `limit`
    /// executions. Returns their number.
    async fn forget_logs(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError>;
}

/// Records outside the event log that can be changed and deleted.
#[async_trait]
pub trait Records: Secrets + Tokens + AuditTrail + Triggers + BulkJobs + StepLogs {
    /// Sets variables of an execution atomically, replacing existing ones including their counters.
    async fn put_variables(
        &self,
        execution: ExecutionId,
        variables: &[Variable],
    ) -> Result<(), StoreError>;

    /// Lists variables, ordered by name, at most [`VARIABLES_MAX`].
    async fn variables(&self, execution: ExecutionId) -> Result<Vec<Variable>, StoreError>;

    /// Returns a variable and counts the access at `now`.
    async fn variable(
        &self,
        execution: ExecutionId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<Variable>, StoreError>;

    /// Removes one variable or, without a name, all. Returns their number.
    async fn remove_variables(
        &self,
        execution: ExecutionId,
        name: Option<&str>,
    ) -> Result<u64, StoreError>;

    /// Registers a runtime, or updates it and keeps its id and creation time. Returns the stored
    /// row.
    async fn put_runtime(&self, runtime: &Runtime) -> Result<Runtime, StoreError>;

    /// Records a heartbeat of a runtime. Returns false if the runtime is unknown.
    async fn heard_runtime(&self, key: &RuntimeKey, now: Timestamp) -> Result<bool, StoreError>;

    async fn runtime(&self, key: &RuntimeKey) -> Result<Option<Runtime>, StoreError>;

    /// Lists the runtimes of a kind, ordered by name, at most [`RUNTIMES_MAX`].
    async fn runtimes(&self, kind: &str) -> Result<Vec<Runtime>, StoreError>;

    /// Returns false if there was no such runtime.
    async fn remove_runtime(&self, key: &RuntimeKey) -> Result<bool, StoreError>;

    /// Stores a value as JSON bytes, once for each execution, under a name. The same value under
    /// the same name keeps its reference, with the later of both expiries. Returns the stored row;
    /// `None` if the execution is deleted.
    async fn put_result(
        &self,
        result: &NamedResult,
        body: &[u8],
    ) -> Result<Option<NamedResult>, StoreError>;

    /// Returns a result unless it has expired at `now`.
    async fn result(
        &self,
        reference: &ResultRef,
        now: Timestamp,
    ) -> Result<Option<NamedResult>, StoreError>;

    /// Stores an object, replacing one with the same key.
    async fn put_object(&self, object: &Object) -> Result<(), StoreError>;

    /// Returns an object unless it has expired at `now`.
    async fn object(&self, key: &ObjectKey, now: Timestamp) -> Result<Option<Object>, StoreError>;

    /// Stores events atomically, skipping known ids, and updates the summaries of imported
    /// executions. Returns the number of stored events.
    async fn project(&self, events: &[ProjectedEvent]) -> Result<u64, StoreError>;

    /// Returns the events of an execution after `after`, ordered by id, at most `limit` (and
    /// `PROJECT_MAX`).
    async fn projected(
        &self,
        execution: i64,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError>;

    /// Returns the events of an execution ordered by id, without the first `skipped`, at most
    /// `limit` (and `PROJECT_MAX`).
    async fn projected_from(
        &self,
        execution: i64,
        skipped: u64,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError>;

    /// Returns the events of an execution in a span, ordered by time and id, at most `limit` (and
    /// `PROJECT_MAX`).
    async fn projected_within(
        &self,
        execution: i64,
        span: EventSpan,
        limit: usize,
    ) -> Result<Vec<Envelope>, StoreError>;

    /// Returns an execution that is known only from projected events.
    async fn imported(
        &self,
        execution: ExecutionId,
    ) -> Result<Option<ImportedExecution>, StoreError>;

    /// Lists the executions that are known only from projected events, newest first.
    async fn list_imported(
        &self,
        filter: &ExecutionFilter,
        page: Page,
    ) -> Result<Vec<ImportedExecution>, StoreError>;

    /// Lists at most `limit` executions with projected events that were stored before there were
    /// imported executions, and that [`Records::fold_import`] has not seen yet.
    async fn unfolded_imports(&self, limit: usize) -> Result<Vec<ExecutionId>, StoreError>;

    /// Folds all projected events of an execution of [`Records::unfolded_imports`] into its imported
    /// execution, and takes it off that list. Repeating it changes nothing.
    async fn fold_import(&self, execution: ExecutionId, fold: ImportFold)
    -> Result<(), StoreError>;

    /// Deletes events older than `before`, at most `limit`, and imported executions without later
    /// events. Returns the number of events.
    async fn forget_projected(&self, before: Timestamp, limit: usize) -> Result<u64, StoreError>;

    /// Deletes expired records, at most `limit` of each kind, and returns their numbers.
    async fn collect(&self, horizon: &Horizon, limit: usize) -> Result<Collected, StoreError>;

    /// Drops the partitions of months that ended at `before` or earlier and in which nothing that is
    /// kept has rows: no execution, and no large payload of one. Returns the months, such as
    /// `2026_01`. A month whose tables are in use is left for the next call. A store without monthly
    /// partitions drops none.
    async fn expire(&self, before: Timestamp) -> Result<Vec<String>, StoreError>;

    /// Deletes blobs that no row refers to, among the digests that start with byte `first` and were
    /// last stored before `before`. Returns their number; zero for a store without blob storage.
    async fn collect_blobs(&self, first: u8, before: Timestamp) -> Result<u64, StoreError>;
}

/// The operator's view of a store.
#[async_trait]
pub trait Layout: Send + Sync {
    /// Returns the existing and the missing tables; both are empty for a store without tables.
    async fn tables(&self) -> Result<Tables, StoreError>;

    /// Writes [`WRITE_CHECK_LEN`] bytes durably to every part of the store, to find a full or
    /// read-only disk before work is accepted.
    async fn check_writable(&self) -> Result<(), StoreError>;

    /// Returns the fault of the last write that failed since [`Layout::check_writable`] last
    /// succeeded.
    fn write_fault(&self) -> Option<String>;

    /// Returns the number of databases over which executions are sharded.
    fn shards(&self) -> usize;

    /// True if other processes may write to the store. A store that is not shared changes only by calls of
    /// this process.
    fn is_shared(&self) -> bool;

    /// Returns the state of the connection pool, if the store has one.
    fn connections(&self) -> Option<ConnectionFigures>;
}

/// All ports that the control plane needs.
pub trait Store:
    EventLog
    + WorkQueue
    + Executions
    + Catalog
    + Outbox
    + Feeds
    + Triggers
    + SentSignals
    + Pauses
    + SlotLimits
    + Retention
    + Layout
{
}

impl<T> Store for T where
    T: EventLog
        + WorkQueue
        + Executions
        + Catalog
        + Outbox
        + Feeds
        + Triggers
        + SentSignals
        + Pauses
        + SlotLimits
        + Retention
        + Layout
{
}
