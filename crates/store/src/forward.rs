//! The table of all port methods, from which implementations of the ports are generated.

/// Calls a macro with a type, if there is one, and every method of every port.
///
/// An async method has an [`Access`](crate::Access) (`Hook` for methods that a
/// [`Wrapper`](crate::Wrapper) may replace) and the location of its rows in a sharded store: `shard`
/// is the shard of the first argument's execution, `cluster` is the database that the shards share,
/// and `across` needs several of them. The method is implemented by the function of the same name in
/// [`sql`](crate::sql) for every SQL database (`shared`), or by each of them (`own`).
#[macro_export]
macro_rules! each_port {
    ($generate:ident $($type:ident)?) => { $generate! {
        $($type)?;
        EventLog {
            async {
                Hook across own append(batch: &[Append]) -> Vec<Result<(), AppendError>>;
                Read across shared read(execution: ExecutionId, after: Seq, limit: usize) -> Vec<Recorded>;
                Read across shared find(event: EventId) -> Option<(ExecutionId, Recorded)>;
                Read across shared payload(digest: &Digest) -> Option<Vec<u8>>;
                Hook shard shared save(execution: ExecutionId, snapshot: &Snapshot) -> ();
                Read shard shared latest(execution: ExecutionId) -> Option<Snapshot>;
                Write shard shared save_replay(
                    execution: ExecutionId,
                    projection: &str,
                    replay: &SavedReplay
                ) -> ();
                Read shard shared furthest_replay(
                    execution: ExecutionId,
                    projection: &str,
                    bound: ReplayBound
                ) -> Option<SavedReplay>;
                Read shard shared saved_replays(execution: ExecutionId) -> Vec<ReplayMark>;
            }
            sync {
                Inner admits(execution: ExecutionId, key: &StartKey) -> bool;
            }
        }
        WorkQueue {
            async {
                Read across shared ready(
                    pool: &Pool,
                    after: Option<ExecutionId>,
                    limit: usize
                ) -> Vec<ReadyCommand>;
                Write across shared extend(held: &[Held], lease: Duration) -> Vec<HeldAnswer>;
                Write across shared renew(worker: &WorkerId, lease: Duration) -> u64;
                Write across shared release(worker: &WorkerId) -> u64;
                Read across shared exhausted(attempts: u32, skip: usize, limit: usize) -> Vec<Held>;
                Read across shared ready_pools() -> Vec<Pool>;
                Read across shared ready_count(pool: &Pool) -> u64;
                Read across shared ready_by_priority(pool: &Pool) -> Vec<ReadyCount>;
                Read across shared oldest_ready(pool: &Pool) -> Option<Timestamp>;
                Read across shared leased(limit: usize) -> Vec<LeasedCommand>;
                Read across shared waiting_executions(pool: &Pool, count_max: u64) -> u64;
                Read across shared due(now: Timestamp, limit: usize) -> Vec<TimerRow>;
                Read across shared next_due() -> Option<Timestamp>;
                Read shard shared open_work(execution: ExecutionId) -> OpenWork;
                Hook cluster own time() -> Timestamp;
            }
            sync {
                Hook clock() -> Arc<dyn Clock>;
            }
        }
        Executions {
            async {
                Read shard shared summary(execution: ExecutionId) -> Option<Summary>;
                Read across shared list(filter: &ExecutionFilter, page: Page) -> Vec<Summary>;
                Read across shared count(status: ExecutionStatus, max: u64) -> u64;
                Read across shared histogram(
                    filter: &ExecutionFilter,
                    span: &HistogramSpan,
                    count_max: u64
                ) -> Vec<HistogramBar>;
                Read across shared stalled(before: Timestamp, limit: usize) -> Vec<ExecutionId>;
                Read across shared child_of(
                    parent: ExecutionId,
                    command: CommandId
                ) -> Option<ExecutionId>;
                Read across shared indexed(
                    kind: IndexKind,
                    key: &IndexKey,
                    page: IndexPage
                ) -> Vec<IndexRow>;
                Read across shared open_index(
                    kind: IndexKind,
                    after: Option<&OpenIndexPlace>,
                    limit: usize
                ) -> Vec<IndexRow>;
            }
            sync {}
        }
        Catalog {
            async {
                Write cluster shared register(playbook: NewPlaybook) -> RegisteredVersion;
                Write cluster shared set_archived(
                    path: &str,
                    archived_at: Option<Timestamp>
                ) -> Option<CatalogEntry>;
                Read cluster shared by_id(catalog_id: CatalogId) -> Option<CatalogEntry>;
                Read cluster shared by_path(path: &str, version: Option<u32>) -> Option<CatalogEntry>;
                Read cluster shared entries_of_kind(kind: &str, state: EntryState) -> Vec<CatalogEntry>;
                Read cluster shared paths(query: &CatalogQuery) -> Vec<CatalogEntry>;
            }
            sync {}
        }
        Outbox {
            async {
                Write across shared take(take: Take) -> Vec<OutboxRow>;
                Write across shared sent(ids: &[i64]) -> Sent;
                Write across shared failed(failures: &[Failure]) -> Vec<AttemptOutcome>;
                Write across shared postpone(ids: &[i64], delay: Duration) -> ();
                Write shard shared remind(
                    execution: ExecutionId,
                    command: CommandId,
                    notification: &Message
                ) -> bool;
                Read across shared owed() -> u64;
                Read across shared pending() -> u64;
                Read across shared list_messages(page: OutboxListing) -> Vec<ListedMessage>;
                Write across shared revive(ids: &[i64]) -> u64;
                Write across shared discard(ids: &[i64]) -> u64;
            }
            sync {}
        }
        Feeds {
            async {
                Read across shared feed(after: &FeedCursor, limit: usize) -> FeedPage;
                Read across shared feed_point(point: &FeedPoint) -> FeedCursor;
                Write cluster shared add_feed(feed: &NamedFeed) -> bool;
                Read cluster shared find_feed(name: &str) -> Option<NamedFeed>;
                Read cluster shared list_feeds() -> Vec<NamedFeed>;
                Write cluster shared move_feed(name: &str, from: &FeedCursor, to: &FeedCursor) -> bool;
                Write cluster shared put_feed_delivery(name: &str, delivery: &FeedDelivery) -> bool;
                Write cluster shared remove_feed(name: &str) -> bool;
            }
            sync {}
        }
        Triggers {
            async {
                Write cluster own record(row: &SubscriptionRow, event: EventId) -> bool;
                Read cluster shared subscription(id: ExecutionId) -> Option<SubscriptionRow>;
                Read cluster shared subscription_at(path: &str) -> Option<SubscriptionRow>;
                Read cluster shared subscriptions(
                    before: Option<ExecutionId>,
                    limit: usize
                ) -> Vec<SubscriptionRow>;
                Read cluster shared subscription_events(
                    id: ExecutionId,
                    after: Seq
                ) -> Vec<SubscriptionRecord>;
                Write cluster own record_schedule(row: &ScheduleRow, event: &ScheduleEvent) -> bool;
                Read cluster shared schedule(path: &str) -> Option<ScheduleRow>;
                Read cluster shared list_schedules(after: Option<&str>) -> Vec<ScheduleRow>;
                Read cluster shared due_schedules(now: Timestamp, limit: usize) -> Vec<ScheduleRow>;
                Read cluster shared next_schedule() -> Option<Timestamp>;
                Read cluster shared waiting_schedules(after: Option<&str>) -> Vec<ScheduleRow>;
                Read cluster shared schedule_events(
                    path: &str,
                    before: Option<Seq>,
                    limit: usize
                ) -> Vec<ScheduleRecord>;
                Write cluster shared put_failed_message(message: &FailedMessage) -> ();
                Read cluster shared failed_among(
                    subscription: ExecutionId,
                    named: &[String],
                    order_keys: &[String]
                ) -> Vec<FailedMark>;
                Read cluster shared failed_message(
                    subscription: ExecutionId,
                    once: &str
                ) -> Option<FailedMessage>;
                Read cluster shared failed_messages(
                    subscription: ExecutionId,
                    after: &str,
                    limit: usize
                ) -> Vec<FailedMessage>;
                Write cluster shared remove_failed_messages(
                    subscription: ExecutionId,
                    named: &[String]
                ) -> u64;
                Write cluster shared acquire_lock(name: &str, holder: &str, lease: Duration) -> bool;
                Write cluster shared release_lock(name: &str, holder: &str) -> ();
            }
            sync {}
        }
        SentSignals {
            async {
                Write cluster shared add_signal(signal: &StoredSignal) -> StoredSignal;
                Read cluster shared find_signal(id: i64) -> Option<StoredSignal>;
                Read cluster shared undelivered_signals(
                    index_key: &IndexKey,
                    after: i64,
                    limit: usize
                ) -> Vec<StoredSignal>;
                Read cluster shared open_signals(after: i64, limit: usize) -> Vec<StoredSignal>;
                Hook cluster shared assign_signal(id: i64, target: SignalTarget) -> bool;
                Write cluster shared release_signal(id: i64, target: SignalTarget) -> bool;
                Hook cluster shared settle_signal(
                    id: i64,
                    target: SignalTarget,
                    expires_at: Timestamp
                ) -> bool;
                Write cluster shared drop_signal(id: i64) -> bool;
                Read cluster shared count_signals(max: u64) -> u64;
                Read cluster shared count_signals_of(index_key: &IndexKey, max: u64) -> u64;
                Maintenance cluster shared forget_signals(before: Timestamp, limit: usize) -> u64;
            }
            sync {}
        }
        Pauses {
            async {
                Write cluster shared put_pause(pause: &PauseRow) -> PauseRow;
                Write cluster shared settle_pause(pause: &PauseRow) -> bool;
                Write cluster shared remove_pause(kind: PausedKind, name: &str) -> bool;
                Hook cluster shared pauses(after: Option<&PauseRow>, limit: usize) -> Vec<PauseRow>;
            }
            sync {}
        }
        SlotLimits {
            async {
                Hook cluster shared change_limit(changes: &LimitChanges, rule: GrantRule) -> LimitOutcome;
                Write cluster shared acknowledge_slots(slots: &[SlotKey]) -> ();
                Read cluster shared due_limits(limit: usize) -> Vec<LimitName>;
                Read cluster shared next_limit() -> Option<Timestamp>;
                Read cluster shared unanswered_slots(before: Timestamp, limit: usize) -> Vec<SlotRow>;
                Read cluster shared held_slots(after: Option<&SlotKey>, limit: usize) -> Vec<SlotRow>;
                Read cluster shared limits(after: Option<&LimitName>, limit: usize) -> Vec<LimitFigures>;
                Read cluster shared limit(name: &LimitName) -> Option<LimitFigures>;
                Read cluster shared slot_holders(name: &LimitName, limit: usize) -> Vec<SlotRow>;
                Read cluster shared slot_queue(name: &LimitName, limit: usize) -> Vec<SlotRow>;
                Read cluster shared known_slots(slots: &[SlotKey]) -> Vec<SlotKey>;
                Read cluster shared slot_place(key: &SlotKey) -> Option<u64>;
            }
            sync {}
        }
        Secrets {
            async {
                Write cluster shared put_credential(credential: &Credential) -> Option<Credential>;
                Read cluster shared credential(key: &CredentialKey) -> Option<Credential>;
                Read cluster shared credentials(
                    filter: &CredentialFilter,
                    limit: usize
                ) -> Vec<Credential>;
                Write cluster shared remove_credential(id: i64) -> bool;
                Read cluster shared key_versions(table: SealedTable) -> Vec<(String, u64)>;
                Read cluster shared sealed_otherwise(
                    table: SealedTable,
                    version: &str,
                    after: &str,
                    limit: usize
                ) -> Vec<SealedRow>;
                Write cluster shared rewrap(table: SealedTable, change: &Rewrap) -> bool;
                Write cluster shared put_keychain_entry(entry: &KeychainEntry) -> ();
                Write cluster shared keychain_entry(
                    cache_key: &str,
                    now: Timestamp
                ) -> Option<KeychainEntry>;
                Read cluster shared keychain_entries(
                    catalog_id: CatalogId,
                    limit: usize
                ) -> Vec<KeychainEntry>;
                Write cluster shared remove_keychain_entry(cache_key: &str) -> bool;
                Write cluster shared note_access(entry: &AuditEntry) -> ();
                Read cluster shared accesses(filter: &AuditFilter, limit: usize) -> Vec<AuditEntry>;
            }
            sync {}
        }
        Tokens {
            async {
                Write cluster shared add_token(token: &StoredToken) -> bool;
                Read cluster shared tokens(after: &str, limit: usize) -> Vec<StoredToken>;
                Write cluster shared touch_token(id: i64, at: Timestamp) -> ();
                Write cluster shared remove_token(name: &str) -> bool;
            }
            sync {}
        }
        AuditTrail {
            async {
                Write cluster shared append_trail(facts: &[TrailFact]) -> ();
                Read cluster shared trail(after: u64, limit: usize) -> Vec<TrailEntry>;
                Read cluster shared trail_span() -> TrailSpan;
                Maintenance cluster shared forget_trail(before: Timestamp, limit: usize) -> u64;
            }
            sync {}
        }
        BulkJobs {
            async {
                Write cluster shared add_bulk_job(job: &BulkJob) -> BulkJob;
                Read cluster shared bulk_job(id: i64) -> Option<BulkJob>;
                Read cluster shared bulk_jobs(before: Option<i64>, limit: usize) -> Vec<BulkJob>;
                Read cluster shared open_bulk_jobs() -> Vec<BulkJob>;
                Write cluster shared record_bulk(job: &BulkJob, items: &[BulkItem]) -> bool;
                Read cluster shared bulk_items(job: i64, page: BulkItemPage) -> Vec<BulkItem>;
                Maintenance cluster shared forget_bulk_jobs(before: Timestamp, limit: usize) -> u64;
            }
            sync {}
        }
        StepLogs {
            async {
                Write across shared append_logs(
                    batches: &[LogBatch],
                    limits: LogLimits
                ) -> Vec<LogAnswer>;
                Read shard shared read_logs(execution: ExecutionId, page: &LogRead) -> Vec<StoredLog>;
                Read shard shared log_sources(
                    execution: ExecutionId,
                    commands: &[CommandId]
                ) -> Vec<Held>;
                Maintenance across shared forget_logs(before: Timestamp, limit: usize) -> u64;
            }
            sync {}
        }
        Records {
            async {
                Write shard shared put_variables(execution: ExecutionId, variables: &[Variable]) -> ();
                Read shard shared variables(execution: ExecutionId) -> Vec<Variable>;
                Write shard shared variable(
                    execution: ExecutionId,
                    name: &str,
                    now: Timestamp
                ) -> Option<Variable>;
                Write shard shared remove_variables(execution: ExecutionId, name: Option<&str>) -> u64;
                Write cluster shared put_runtime(runtime: &Runtime) -> Runtime;
                Write cluster shared heard_runtime(key: &RuntimeKey, now: Timestamp) -> bool;
                Read cluster shared runtime(key: &RuntimeKey) -> Option<Runtime>;
                Read cluster shared runtimes(kind: &str) -> Vec<Runtime>;
                Write cluster shared remove_runtime(key: &RuntimeKey) -> bool;
                Write across own put_result(result: &NamedResult, body: &[u8]) -> Option<NamedResult>;
                Read across shared result(reference: &ResultRef, now: Timestamp) -> Option<NamedResult>;
                Write cluster shared put_object(object: &Object) -> ();
                Read cluster shared object(key: &ObjectKey, now: Timestamp) -> Option<Object>;
                Write cluster shared project(events: &[ProjectedEvent]) -> u64;
                Read cluster shared projected(execution: i64, after: i64, limit: usize) -> Vec<Envelope>;
                Read cluster shared projected_from(
                    execution: i64,
                    skipped: u64,
                    limit: usize
                ) -> Vec<Envelope>;
                Read cluster shared projected_within(
                    execution: i64,
                    span: EventSpan,
                    limit: usize
                ) -> Vec<Envelope>;
                Read cluster shared imported(execution: ExecutionId) -> Option<ImportedExecution>;
                Read cluster shared list_imported(
                    filter: &ExecutionFilter,
                    page: Page
                ) -> Vec<ImportedExecution>;
                Read cluster shared unfolded_imports(limit: usize) -> Vec<ExecutionId>;
                Maintenance cluster shared fold_import(
                    execution: ExecutionId,
                    fold: ImportFold
                ) -> ();
                Write cluster shared forget_projected(before: Timestamp, limit: usize) -> u64;
                Maintenance across shared collect(horizon: &Horizon, limit: usize) -> Collected;
                Maintenance across own expire(before: Timestamp) -> Vec<String>;
                Maintenance across shared collect_blobs(first: u8, before: Timestamp) -> u64;
            }
            sync {}
        }
        Retention {
            async {
                Write across shared erase(execution: ExecutionId, tombstone: &Tombstone) -> EraseAnswer;
                Read across shared keep_reason(execution: ExecutionId) -> Option<KeepReason>;
                Read shard shared tombstone(execution: ExecutionId) -> Option<Tombstone>;
                Maintenance across shared erase_payloads(limit: usize) -> u64;
                Maintenance across shared erase_rows(limit: usize) -> u64;
                Maintenance across own return_space(limit: usize) -> u64;
                Write shard shared put_keep_mark(execution: ExecutionId, mark: &KeepMark) -> bool;
                Write shard shared remove_keep_mark(execution: ExecutionId) -> bool;
                Read shard shared keep_mark(execution: ExecutionId) -> Option<KeepMark>;
            }
            sync {}
        }
        Layout {
            async {
                Read across shared tables() -> Tables;
                Hook across shared check_writable() -> ();
            }
            sync {
                Hook write_fault() -> Option<String>;
                Inner shards() -> usize;
                Inner is_shared() -> bool;
                Inner connections() -> Option<ConnectionFigures>;
            }
        }
    } };
}

/// Implements all ports for a store by its own methods of the same names:
/// `each_port!(implemented MyStore)`. Used in a module that imports no port, where a missing method
/// is a compile error.
#[macro_export]
macro_rules! implemented {
    ($store:ident; $($port:ident {
        async {
            $($access:ident $place:ident $home:ident $name:ident($($argument:ident: $type:ty),*)
                -> $answer:ty;)*
        }
        sync {
            $($kind:ident $sync_name:ident($($sync_argument:ident: $sync_type:ty),*)
                -> $sync_answer:ty;)*
        }
    })*) => {
        const _: () = {
            use $crate::signature::*;

            $(
                #[$crate::async_trait]
                impl $crate::$port for $store {
                    $(async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                        $store::$name(self, $($argument),*).await
                    })*

                    $(fn $sync_name(&self, $($sync_argument: $sync_type),*) -> $sync_answer {
                        $store::$sync_name(self, $($sync_argument),*)
                    })*
                }
            )*
        };
    };
}

/// Implements all ports for an [`SqlDatabase`](crate::sql::SqlDatabase), by the functions of
/// [`sql`](crate::sql) and by its own methods: `each_port!(implemented_by_sql MyStore)`. Used in a
/// module that imports no port, where a missing method is a compile error.
#[macro_export]
macro_rules! implemented_by_sql {
    (shared, $store:ident, $self:ident, $name:ident($($argument:ident),*)) => {
        $crate::sql::$name($self, $($argument),*).await
    };
    (own, $store:ident, $self:ident, $name:ident($($argument:ident),*)) => {
        $store::$name($self, $($argument),*).await
    };
    ($store:ident; $($port:ident {
        async {
            $($access:ident $place:ident $home:ident $name:ident($($argument:ident: $type:ty),*)
                -> $answer:ty;)*
        }
        sync {
            $($kind:ident $sync_name:ident($($sync_argument:ident: $sync_type:ty),*)
                -> $sync_answer:ty;)*
        }
    })*) => {
        const _: () = {
            use $crate::signature::*;

            $(
                #[$crate::async_trait]
                impl $crate::$port for $store {
                    $(async fn $name(&self, $($argument: $type),*) -> Result<$answer, StoreError> {
                        $crate::implemented_by_sql!($home, $store, self, $name($($argument),*))
                    })*

                    $(fn $sync_name(&self, $($sync_argument: $sync_type),*) -> $sync_answer {
                        $store::$sync_name(self, $($sync_argument),*)
                    })*
                }
            )*
        };
    };
}
