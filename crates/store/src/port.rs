//! The ports: one small trait per thing that is kept.

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
    /// Writes many executions' decisions in one transaction, each whole or not at all, and answers
    /// for each in order. When this returns, what was accepted is durable. A store of several parts
    /// answers for those it reaches; it is an error only if none of them answers.
    async fn append(&self, batch: &[Append]) -> Result<Vec<Result<(), AppendError>>, StoreError>;

    /// The events after `after`, in order, at most `limit` (and at most `READ_EVENTS_MAX`). A page
    /// ends early with the event that brings it to `READ_BYTES_MAX`: only an empty one means that
    /// there are no more.
    async fn read(
        &self,
        execution: ExecutionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError>;

    /// Whether an execution of this id can be started under this key: those that cannot share a
    /// transaction with it are refused as a conflict.
    fn admits(&self, _execution: ExecutionId, _key: &StartKey) -> bool {
        true
    }

    /// The event with an id, and the execution it belongs to.
    async fn find(&self, event: EventId) -> Result<Option<(ExecutionId, Recorded)>, StoreError>;
}

#[async_trait]
pub trait CommandQueue: Send + Sync {
    /// Commands of a pool that may be leased now, by the store's clock, in rounds: one of every
    /// execution, then a second of every execution, and so on, so that no execution waits behind the
    /// many commands of another. A round goes through the executions by id, beginning with the first
    /// one after `after` and continuing with the lowest. Within an execution, commands whose lease ran
    /// out come first, the one that ran out first before the others, then new ones as they were added.
    async fn ready(
        &self,
        pool: &Pool,
        after: Option<ExecutionId>,
        limit: usize,
    ) -> Result<Vec<ReadyCommand>, StoreError>;

    /// Prolongs leases to `lease` from now, by the store's clock; an answer for each, in order.
    async fn extend(&self, held: &[Held], lease: Duration) -> Result<Vec<HeldAnswer>, StoreError>;

    /// Prolongs every lease of a worker to `lease` from now, by the store's clock, also those that
    /// ran out and were not taken over; the answer is how many there are.
    async fn renew(&self, worker: &WorkerId, lease: Duration) -> Result<u64, StoreError>;

    /// Ends all leases of a worker that is known to be gone; the answer is how many there were.
    async fn release(&self, worker: &WorkerId) -> Result<u64, StoreError>;

    /// Commands whose lease has run out and which have been leased `attempts` times or more.
    async fn exhausted(&self, attempts: u32, limit: usize) -> Result<Vec<Held>, StoreError>;

    /// The pools with a command that may be leased now, at most `PAGE_MAX` of them.
    async fn ready_pools(&self) -> Result<Vec<Pool>, StoreError>;

    /// How many commands of a pool may be leased now.
    async fn ready_count(&self, pool: &Pool) -> Result<u64, StoreError>;

    /// How many executions have a command in a pool that nobody has leased yet; not counted beyond
    /// `count_max`, which bounds the cost.
    async fn waiting_executions(&self, pool: &Pool, count_max: u64) -> Result<u64, StoreError>;
}

/// The one clock that stored instants are compared with.
#[async_trait]
pub trait StoreTime: Send + Sync {
    /// The store's clock, as far as this process knows it without asking.
    fn clock(&self) -> Arc<dyn Clock>;

    /// Asks the store for the time by its clock. The clock of a store elsewhere is known better after
    /// it.
    async fn time(&self) -> Result<Timestamp, StoreError>;
}

#[async_trait]
pub trait Timers: Send + Sync {
    /// Timers due at `now` or before, earliest first.
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<TimerRow>, StoreError>;

    /// When the earliest timer of all is due.
    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError>;
}

#[async_trait]
pub trait Outbox: Send + Sync {
    /// Takes messages that nobody else is sending, to be sent; one whose taker has not said a word for
    /// the length of its hold may be taken again, and one that was taken too often is dead.
    async fn take(&self, take: Take) -> Result<Vec<OutboxRow>, StoreError>;

    /// These have been sent, and are gone for good. Saying so twice is fine.
    async fn sent(&self, ids: &[i64]) -> Result<Sent, StoreError>;

    /// These could not be sent; an answer for each, in order.
    async fn failed(&self, failures: &[Failure]) -> Result<Vec<Fate>, StoreError>;

    /// These were taken in vain and not tried: they wait for so long, and the try does not count.
    async fn postpone(&self, ids: &[i64], delay: Duration) -> Result<(), StoreError>;

    /// How many messages are owed; the dead are not.
    async fn owed(&self) -> Result<u64, StoreError>;

    /// How many messages may be taken now.
    async fn pending(&self) -> Result<u64, StoreError>;

    /// Messages to look at, oldest first.
    async fn letters(&self, page: LetterPage) -> Result<Vec<Letter>, StoreError>;

    /// Has failed and dead messages tried again at once, with all their attempts; the answer is how
    /// many there were.
    async fn revive(&self, ids: &[i64]) -> Result<u64, StoreError>;

    /// Drops dead messages for good; the answer is how many there were.
    async fn discard(&self, ids: &[i64]) -> Result<u64, StoreError>;
}

#[async_trait]
pub trait Payloads: Send + Sync {
    /// The JSON bytes of a large value.
    async fn payload(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;
}

#[async_trait]
pub trait Catalog: Send + Sync {
    /// Keeps a playbook: as the path's next version, or, if its content is that of the newest
    /// version, not again.
    async fn register(&self, playbook: NewPlaybook) -> Result<CatalogEntry, StoreError>;

    async fn by_id(&self, catalog_id: CatalogId) -> Result<Option<CatalogEntry>, StoreError>;

    /// A version of a path; the newest if none is named.
    async fn by_path(
        &self,
        path: &str,
        version: Option<u32>,
    ) -> Result<Option<CatalogEntry>, StoreError>;

    /// Every path at its newest version, in order, without contents; only what comes after a path.
    async fn paths(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<CatalogEntry>, StoreError>;
}

#[async_trait]
pub trait Snapshots: Send + Sync {
    /// Saves a fold, unless a later one is there.
    async fn save(&self, execution: ExecutionId, snapshot: &Snapshot) -> Result<(), StoreError>;

    async fn latest(&self, execution: ExecutionId) -> Result<Option<Snapshot>, StoreError>;
}

#[async_trait]
pub trait SavedReplays: Send + Sync {
    /// Saves a replay of one projection, in place of one that goes as far.
    async fn save_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        replay: &SavedReplay,
    ) -> Result<(), StoreError>;

    /// The replay of a projection that goes furthest within a bound.
    async fn furthest_replay(
        &self,
        execution: ExecutionId,
        projection: &str,
        bound: ReplayBound,
    ) -> Result<Option<SavedReplay>, StoreError>;

    /// What replays of an execution are saved, in the order of projection and seq, at most `PAGE_MAX`.
    async fn saved_replays(&self, execution: ExecutionId) -> Result<Vec<ReplayMark>, StoreError>;
}

#[async_trait]
pub trait Executions: Send + Sync {
    async fn summary(&self, execution: ExecutionId) -> Result<Option<Summary>, StoreError>;

    /// Newest first.
    async fn list(&self, filter: &ExecutionFilter, page: Page) -> Result<Vec<Summary>, StoreError>;

    /// Running executions that have neither an open command nor a timer nor an owed message, and
    /// whose last event is older than `before`: nothing can move them.
    async fn stalled(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<ExecutionId>, StoreError>;

    /// The execution that was started for a command of another.
    async fn child_of(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Option<ExecutionId>, StoreError>;
}

#[async_trait]
pub trait OpenRows: Send + Sync {
    /// The rows of the queue and of the timers that are an execution's.
    async fn open_work(&self, execution: ExecutionId) -> Result<OpenWork, StoreError>;
}

/// Everything the control plane keeps.
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
