//! The table of all port methods, from which implementations of the ports are generated.

/// Calls a macro with a type, if there is one, and every method of every port.
///
/// An async method has an [`Access`](crate::Access) (`Hook` for methods that a
/// [`Wrapper`](crate::Wrapper) may replace) and the location of its rows in a sharded store: `shard`
/// is the shard of the first argument's execution, `cluster` is the database that the shards share,
/// and `across` needs several of them.
#[macro_export]
macro_rules! each_port {
    ($generate:ident $($type:ident)?) => { $generate! {
        $($type)?;
        EventLog {
            async {
                Hook across append(batch: &[Append]) -> Vec<Result<(), AppendError>>;
                Read across read(execution: ExecutionId, after: Seq, limit: usize) -> Vec<Recorded>;
                Read across find(event: EventId) -> Option<(ExecutionId, Recorded)>;
                Read across payload(digest: &Digest) -> Option<Vec<u8>>;
                Hook shard save(execution: ExecutionId, snapshot: &Snapshot) -> ();
                Read shard latest(execution: ExecutionId) -> Option<Snapshot>;
                Write shard save_replay(
                    execution: ExecutionId,
                    projection: &str,
                    replay: &SavedReplay
                ) -> ();
                Read shard furthest_replay(
                    execution: ExecutionId,
                    projection: &str,
                    bound: ReplayBound
                ) -> Option<SavedReplay>;
                Read shard saved_replays(execution: ExecutionId) -> Vec<ReplayMark>;
            }
            sync {
                Inner admits(execution: ExecutionId, key: &StartKey) -> bool;
            }
        }
        WorkQueue {
            async {
                Read across ready(
                    pool: &Pool,
                    after: Option<ExecutionId>,
                    limit: usize
                ) -> Vec<ReadyCommand>;
                Write across extend(held: &[Held], lease: Duration) -> Vec<HeldAnswer>;
                Write across renew(worker: &WorkerId, lease: Duration) -> u64;
                Write across release(worker: &WorkerId) -> u64;
                Read across exhausted(attempts: u32, limit: usize) -> Vec<Held>;
                Read across ready_pools() -> Vec<Pool>;
                Read across ready_count(pool: &Pool) -> u64;
                Read across waiting_executions(pool: &Pool, count_max: u64) -> u64;
                Read across due(now: Timestamp, limit: usize) -> Vec<TimerRow>;
                Read across next_due() -> Option<Timestamp>;
                Read shard open_work(execution: ExecutionId) -> OpenWork;
                Hook cluster time() -> Timestamp;
            }
            sync {
                Hook clock() -> Arc<dyn Clock>;
            }
        }
        Executions {
            async {
                Read shard summary(execution: ExecutionId) -> Option<Summary>;
                Read across list(filter: &ExecutionFilter, page: Page) -> Vec<Summary>;
                Read across count(status: ExecutionStatus, max: u64) -> u64;
                Read across stalled(before: Timestamp, limit: usize) -> Vec<ExecutionId>;
                Read across child_of(
                    parent: ExecutionId,
                    command: CommandId
                ) -> Option<ExecutionId>;
            }
            sync {}
        }
        Catalog {
            async {
                Write cluster register(playbook: NewPlaybook) -> CatalogEntry;
                Read cluster by_id(catalog_id: CatalogId) -> Option<CatalogEntry>;
                Read cluster by_path(path: &str, version: Option<u32>) -> Option<CatalogEntry>;
                Read cluster paths(after: Option<&str>, limit: usize) -> Vec<CatalogEntry>;
            }
            sync {}
        }
        Outbox {
            async {
                Write across take(take: Take) -> Vec<OutboxRow>;
                Write across sent(ids: &[i64]) -> Sent;
                Write across failed(failures: &[Failure]) -> Vec<Fate>;
                Write across postpone(ids: &[i64], delay: Duration) -> ();
                Read across owed() -> u64;
                Read across pending() -> u64;
                Read across letters(page: LetterPage) -> Vec<Letter>;
                Write across revive(ids: &[i64]) -> u64;
                Write across discard(ids: &[i64]) -> u64;
            }
            sync {}
        }
        Feeds {
            async {
                Read across feed(after: &FeedCursor, limit: usize) -> FeedPage;
                Read across feed_point(point: &FeedPoint) -> FeedCursor;
                Write cluster add_feed(feed: &NamedFeed) -> bool;
                Read cluster find_feed(name: &str) -> Option<NamedFeed>;
                Read cluster list_feeds() -> Vec<NamedFeed>;
                Write cluster move_feed(name: &str, from: &FeedCursor, to: &FeedCursor) -> bool;
                Write cluster put_feed_delivery(name: &str, delivery: &FeedDelivery) -> bool;
                Write cluster remove_feed(name: &str) -> bool;
            }
            sync {}
        }
        Triggers {
            async {
                Write cluster record(row: &SubscriptionRow, event: EventId) -> bool;
                Read cluster subscription(id: ExecutionId) -> Option<SubscriptionRow>;
                Read cluster subscription_at(path: &str) -> Option<SubscriptionRow>;
                Read cluster subscriptions(
                    before: Option<ExecutionId>,
                    limit: usize
                ) -> Vec<SubscriptionRow>;
                Read cluster subscription_events(
                    id: ExecutionId,
                    after: Seq
                ) -> Vec<SubscriptionRecord>;
                Write cluster record_schedule(row: &ScheduleRow, event: &ScheduleEvent) -> bool;
                Read cluster schedule(path: &str) -> Option<ScheduleRow>;
                Read cluster list_schedules(after: Option<&str>) -> Vec<ScheduleRow>;
                Read cluster due_schedules(now: Timestamp, limit: usize) -> Vec<ScheduleRow>;
                Read cluster next_schedule() -> Option<Timestamp>;
                Read cluster waiting_schedules(after: Option<&str>) -> Vec<ScheduleRow>;
                Read cluster schedule_events(
                    path: &str,
                    before: Option<Seq>,
                    limit: usize
                ) -> Vec<ScheduleRecord>;
                Write cluster put_failed_message(message: &FailedMessage) -> ();
                Read cluster failed_among(
                    subscription: ExecutionId,
                    named: &[String],
                    order_keys: &[String]
                ) -> Vec<FailedMark>;
                Read cluster failed_message(
                    subscription: ExecutionId,
                    once: &str
                ) -> Option<FailedMessage>;
                Read cluster failed_messages(
                    subscription: ExecutionId,
                    after: &str,
                    limit: usize
                ) -> Vec<FailedMessage>;
                Write cluster remove_failed_messages(
                    subscription: ExecutionId,
                    named: &[String]
                ) -> u64;
                Write cluster take_turn(name: &str, holder: &str, lease: Duration) -> bool;
                Write cluster end_turn(name: &str, holder: &str) -> ();
            }
            sync {}
        }
        Secrets {
            async {
                Write cluster put_credential(credential: &Credential) -> Option<Credential>;
                Read cluster credential(key: &CredentialKey) -> Option<Credential>;
                Read cluster credentials(
                    filter: &CredentialFilter,
                    limit: usize
                ) -> Vec<Credential>;
                Write cluster remove_credential(id: i64) -> bool;
                Read cluster key_versions(table: SealedTable) -> Vec<(String, u64)>;
                Read cluster sealed_otherwise(
                    table: SealedTable,
                    version: &str,
                    after: &str,
                    limit: usize
                ) -> Vec<SealedRow>;
                Write cluster rewrap(table: SealedTable, change: &Rewrap) -> bool;
                Write cluster put_keychain_entry(entry: &KeychainEntry) -> ();
                Write cluster keychain_entry(
                    cache_key: &str,
                    now: Timestamp
                ) -> Option<KeychainEntry>;
                Read cluster keychain_entries(
                    catalog_id: CatalogId,
                    limit: usize
                ) -> Vec<KeychainEntry>;
                Write cluster remove_keychain_entry(cache_key: &str) -> bool;
                Write cluster note_access(entry: &AuditEntry) -> ();
                Read cluster accesses(filter: &AuditFilter, limit: usize) -> Vec<AuditEntry>;
            }
            sync {}
        }
        Records {
            async {
                Write shard put_variables(execution: ExecutionId, variables: &[Variable]) -> ();
                Read shard variables(execution: ExecutionId) -> Vec<Variable>;
                Write shard variable(
                    execution: ExecutionId,
                    name: &str,
                    now: Timestamp
                ) -> Option<Variable>;
                Write shard remove_variables(execution: ExecutionId, name: Option<&str>) -> u64;
                Write cluster put_runtime(runtime: &Runtime) -> Runtime;
                Write cluster heard_runtime(key: &RuntimeKey, now: Timestamp) -> bool;
                Read cluster runtime(key: &RuntimeKey) -> Option<Runtime>;
                Read cluster runtimes(kind: &str) -> Vec<Runtime>;
                Write cluster remove_runtime(key: &RuntimeKey) -> bool;
                Write across put_result(result: &NamedResult, body: &[u8]) -> NamedResult;
                Read across result(reference: &ResultRef, now: Timestamp) -> Option<NamedResult>;
                Write cluster put_object(object: &Object) -> ();
                Read cluster object(key: &ObjectKey, now: Timestamp) -> Option<Object>;
                Write cluster project(events: &[ProjectedEvent]) -> u64;
                Read cluster projected(execution: i64, after: i64, limit: usize) -> Vec<Envelope>;
                Read cluster projected_from(
                    execution: i64,
                    skipped: u64,
                    limit: usize
                ) -> Vec<Envelope>;
                Read cluster projected_within(
                    execution: i64,
                    span: EventSpan,
                    limit: usize
                ) -> Vec<Envelope>;
                Read cluster imported(execution: ExecutionId) -> Option<ImportedExecution>;
                Read cluster list_imported(
                    filter: &ExecutionFilter,
                    page: Page
                ) -> Vec<ImportedExecution>;
                Write cluster forget_projected(before: Timestamp, limit: usize) -> u64;
                Maintenance across collect(horizon: &Horizon, limit: usize) -> Collected;
                Maintenance across expire(before: Timestamp) -> Vec<String>;
                Maintenance across collect_blobs(first: u8, before: Timestamp) -> u64;
            }
            sync {}
        }
        Layout {
            async {
                Read across tables() -> Tables;
                Hook across check_writable() -> ();
            }
            sync {
                Hook write_fault() -> Option<String>;
                Inner shards() -> usize;
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
            $($access:ident $place:ident $name:ident($($argument:ident: $type:ty),*)
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
