//! The storage ports: one small trait for each kind of stored data.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{
    CatalogId, CommandId, Digest, EventId, ExecutionId, Pool, Recorded, Seq, Summary, Timestamp,
    WorkerId,
};

use crate::{
    Append, AppendError, CatalogEntry, Clock, EventFeed, ExecutionFilter, Failure, Fate, Feeds,
    Held, HeldAnswer, Layout, Letter, LetterPage, NewPlaybook, OpenWork, OutboxRow, Page,
    ReadyCommand, ReplayBound, ReplayMark, SavedReplay, Schedules, Sent, Snapshot, StartKey,
    StoreError, Subscriptions, Take, TimerRow,
};

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
    fn admits(&self, _execution: ExecutionId, _key: &StartKey) -> bool {
        true
    }

    /// Returns the event with an id, and its execution.
    async fn find(&self, event: EventId) -> Result<Option<(ExecutionId, Recorded)>, StoreError>;
}

#[async_trait]
pub trait CommandQueue: Send + Sync {
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
    async fn exhausted(&self, attempts: u32, limit: usize) -> Result<Vec<Held>, StoreError>;

    /// Returns the pools with a command that can be leased now, at most `PAGE_MAX`.
    async fn ready_pools(&self) -> Result<Vec<Pool>, StoreError>;

    /// Returns the number of commands of a pool that can be leased now.
    async fn ready_count(&self, pool: &Pool) -> Result<u64, StoreError>;

    /// Returns the number of executions with a never-leased command in a pool, counting at most
    /// `count_max`, which bounds the cost.
    async fn waiting_executions(&self, pool: &Pool, count_max: u64) -> Result<u64, StoreError>;
}

/// Access to the one clock that stored instants are compared with.
#[async_trait]
pub trait StoreTime: Send + Sync {
    /// Returns this process's estimate of the store's clock, without asking the store.
    fn clock(&self) -> Arc<dyn Clock>;

    /// Asks the store for its time, which also improves the estimate of a remote clock.
    async fn time(&self) -> Result<Timestamp, StoreError>;
}

#[async_trait]
pub trait Timers: Send + Sync {
    /// Returns the timers due at `now` or before, earliest first.
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<TimerRow>, StoreError>;

    /// Returns the due time of the earliest timer.
    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError>;
}

#[async_trait]
pub trait Outbox: Send + Sync {
    /// Takes messages for sending that no other taker holds. A message whose hold has passed may be
    /// taken again; a message that was taken too often becomes dead.
    async fn take(&self, take: Take) -> Result<Vec<OutboxRow>, StoreError>;

    /// Deletes sent messages. Deleting a message twice is allowed.
    async fn sent(&self, ids: &[i64]) -> Result<Sent, StoreError>;

    /// Records failed attempts. Returns an answer for each, in order.
    async fn failed(&self, failures: &[Failure]) -> Result<Vec<Fate>, StoreError>;

    /// Returns taken messages that were not tried: they wait for `delay`, and the attempt does not
    /// count.
    async fn postpone(&self, ids: &[i64], delay: Duration) -> Result<(), StoreError>;

    /// Returns the number of pending messages, without dead ones.
    async fn owed(&self) -> Result<u64, StoreError>;

    /// Returns the number of messages that can be taken now.
    async fn pending(&self) -> Result<u64, StoreError>;

    /// Lists messages for an operator, oldest first.
    async fn letters(&self, page: LetterPage) -> Result<Vec<Letter>, StoreError>;

    /// Makes failed and dead messages available at once, with all their attempts. Returns their
    /// number.
    async fn revive(&self, ids: &[i64]) -> Result<u64, StoreError>;

    /// Deletes dead messages. Returns their number.
    async fn discard(&self, ids: &[i64]) -> Result<u64, StoreError>;
}

#[async_trait]
pub trait Payloads: Send + Sync {
    /// Returns the JSON bytes of a large payload.
    async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;
}

#[async_trait]
pub trait Catalog: Send + Sync {
    /// Registers a playbook as the next version of its path. Returns the newest version instead if
    /// its content is the same.
    async fn register(&self, playbook: NewPlaybook) -> Result<CatalogEntry, StoreError>;

    async fn by_id(&self, catalog_id: CatalogId) -> Result<Option<CatalogEntry>, StoreError>;

    /// Returns a version of a path; the newest if `version` is `None`.
    async fn by_path(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StoreError>;

    /// Returns every path after `after` at its newest version, ordered by path, without contents.
    async fn paths(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CatalogEntry>, StoreError>;
}

#[async_trait]
pub trait Snapshots: Send + Sync {
    /// Saves a snapshot unless a later one exists.
    async fn save(&self, execution: ExecutionId, snapshot: &Snapshot) -> Result<(), StoreError>;

    async fn latest(&self, execution: ExecutionId) -> Result<Option<Snapshot>, StoreError>;
}

#[async_trait]
pub trait SavedReplays: Send + Sync {
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
}

#[async_trait]
pub trait OpenRows: Send + Sync {
    /// Returns the queue rows and timer rows of an execution.
    async fn open_work(&self, execution: ExecutionId) -> Result<OpenWork, StoreError>;
}

/// All ports that the control plane needs.
pub trait Store:
    EventLog
    + StoreTime
    + CommandQueue
    + Timers
    + Outbox
    + Payloads
    + Catalog
    + Snapshots
    + SavedReplays
    + Executions
    + Layout
    + EventFeed
    + Feeds
    + Subscriptions
    + Schedules
    + OpenRows
{
}

impl<T> Store for T where
    T: EventLog
        + StoreTime
        + CommandQueue
        + Timers
        + Outbox
        + Payloads
        + Catalog
        + Snapshots
        + SavedReplays
        + Executions
        + Layout
        + EventFeed
        + Feeds
        + Subscriptions
        + Schedules
        + OpenRows
{
}
