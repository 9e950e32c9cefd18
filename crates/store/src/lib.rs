//! The storage interface: the ports, an in-memory store, and the conformance suite of all stores.
//!
//! A store keeps rows and answers queries; it decides nothing. All changes of one decision (events,
//! summary, queue, timers, outbox, payloads) arrive as one [`Append`] and are written atomically.
//!
//! Invariants: an execution's events are numbered 1, 2, 3, … without a gap; a second writer at the
//! same number is rejected; an acknowledged write survives the death of the process.

mod append;
mod blobs;
mod bounded;
mod clock;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod feed;
mod forward;
pub mod from_row;
mod histogram;
mod index;
mod key;
mod layout;
mod limit;
mod memory;
mod open_work;
mod outbox;
mod pause;
mod plan;
mod port;
mod queue;
mod records;
mod retention;
mod room;
mod row;
mod schedule;
mod sent_signal;
mod shared;
#[doc(hidden)]
pub mod signature;
pub mod sql;
mod step_logs;
mod subscription;
pub mod to_row;
mod wrapper;

pub use append::{Append, AppendError, QueueChange, TimerChange, Unanswered};
pub use blobs::{Blobs, load_payloads, remove_all_but, row_body, store_payloads};
pub use bounded::{Bounded, MAINTENANCE_MAX};
pub use clock::{Clock, ClockReading, RemoteClock, SteadyClock, SystemClock};
pub use error::{StoreError, WriteFault};
pub use feed::{
    FEED_READ_MAX, FeedCursor, FeedDelivery, FeedItem, FeedPage, FeedPlace, FeedPoint, NamedFeed,
    NotACursor,
};
pub use histogram::{HISTOGRAM_ROWS_MAX, HistogramBar, HistogramSpan, merged_bars};
pub use index::{IndexOrder, IndexPage, IndexPlace, IndexRow, OpenIndexPlace};
pub use key::{KEEP_MAX, KeptKey, KeyHolder, StartKey};
pub use layout::{ConnectionFigures, Tables, WRITE_CHECK_LEN};
pub use limit::{
    LIMIT_QUEUE_MAX, LimitChange, LimitChanges, LimitFigures, LimitOutcome, SlotKey, SlotRequest,
    SlotRow,
};
pub use memory::{MemoryBackup, MemoryStore};
pub use noetl_model::Held;
pub use open_work::OpenWork;
pub use outbox::{
    AttemptOutcome, Failure, ListedMessage, MessageState, OUTBOX_ATTEMPTS_MAX, OUTBOX_ERROR_MAX,
    OUTBOX_TAKE_MAX, OutboxConsumer, OutboxListing, Sent, Take, UnknownMessageState,
    attempt_outcomes, backoff, is_execution_notice, missing_ids, ready_command,
};
pub use pause::{PauseProgress, PauseRow, PausedKind, UnknownPauseWord};
pub use plan::{CommandKey, ExecutionChange, KeyName, LogEnd, Plan, StoredRows, TimerKey};
pub use port::{
    AuditTrail, BulkJobs, Catalog, EventLog, Executions, Feeds, Layout, Outbox, Pauses, Records,
    Retention, Secrets, SentSignals, SlotLimits, StepLogs, Store, Tokens, Triggers, WorkQueue,
};
pub use queue::{Holder, OpenCommand, StagedCommands, stage};
pub use records::{
    AUDIT_PAGE_MAX, AuditEntry, AuditFilter, BULK_MESSAGE_MAX, BulkAction, BulkCounts, BulkFilter,
    BulkItem, BulkItemPage, BulkJob, BulkKey, BulkOutcome, BulkSelection, BulkState, Collected,
    Credential, CredentialFilter, CredentialKey, EventPlace, EventSpan, FailedMark, FailedMessage,
    FailedStanding, Horizon, ImportFold, ImportedExecution, KeychainEntry, NamedResult,
    NoResultRef, Object, ObjectKey, PROJECT_MAX, ProjectedEvent, ProjectedOnto, REASON_MAX,
    RUNTIMES_MAX, ResultRef, Rewrap, Runtime, RuntimeKey, SCHEDULE_EVENTS_KEPT, Sealed, SealedRow,
    SealedTable, StoredToken, TrailSpan, UnknownBulkOutcome, VARIABLES_MAX, Variable, VariableType,
};
pub use retention::{ERASE_MAX, EraseAnswer, KeepMark, KeepReason, Tombstone};
pub use room::{PageSpace, READ_BYTES_MAX, json_len};
pub use row::{
    CatalogEntry, CatalogQuery, EntryContents, EntryState, ExecutionFilter, HeldAnswer,
    LeasedCommand, Lookup, NewPlaybook, OutboxRow, Page, PathFilter, ReadyCommand, ReadyCount,
    RegisteredVersion, ReplayBound, ReplayMark, SavedReplay, Snapshot, TimerRow,
};
pub use schedule::{ScheduleRecord, ScheduleRow};
pub use sent_signal::{KeyedSignal, SignalState, SignalTarget, StoredSignal};
pub use step_logs::{
    LOG_COMMAND_BYTES_DEFAULT, LOG_EXECUTION_BYTES_DEFAULT, LOG_READ_MAX, LogLimits, LogOrder,
    LogPlan, LogProgress, LogRead, LogTotal, StoredLogTotals,
};
pub use subscription::{SubscriptionRecord, SubscriptionRow};
pub use wrapper::{Access, Wrapper};

#[doc(hidden)]
pub use async_trait::async_trait;

pub use shared::{FORKS_MAX, OwnEvents, read_shared};

/// The maximum number of events that one read returns.
pub const READ_EVENTS_MAX: usize = 1000;
/// The maximum number of rows that one listing returns.
pub const PAGE_MAX: usize = 500;
