//! What storage promises: the ports, a store in memory, and the suite every store passes.
//!
//! A store keeps what it is given and answers questions; it decides nothing. All that one decision
//! changes (events, summary, queue, timers, outbox, payloads) arrives as one [`Append`] and is
//! written whole or not at all.
//!
//! Invariants: an execution's events are numbered 1, 2, 3, … without a gap; a second writer at the
//! same number is refused; what was answered survives the death of the process.

mod append;
mod blobs;
mod bounded;
mod clock;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod feed;
pub mod from_row;
mod key;
mod layout;
mod memory;
mod open_work;
mod outbox;
pub mod owner_only;
mod plan;
mod port;
mod queue;
mod records;
mod room;
mod row;
mod schedule;
mod shared;
mod subscription;

pub use append::{Append, AppendError, QueueChange, TimerChange, Unanswered};
pub use blobs::{Blobs, brought_back, put_away, remove_all_but};
pub use bounded::{Bounded, MAINTENANCE_MAX};
pub use clock::{Clock, Reading, RemoteClock, SteadyClock, SystemClock};
pub use error::{StoreError, WriteFault};
pub use feed::{
    EventFeed, FEED_READ_MAX, FeedCursor, FeedDelivery, FeedItem, FeedPage, FeedPlace, FeedPoint,
    Feeds, NamedFeed, NotACursor,
};
pub use key::{KEEP_MAX, KeptKey, KeyHolder, StartKey};
pub use layout::{Connections, Layout, Tables, WRITE_CHECK_LEN};
pub use memory::{MemoryBackup, MemoryStore};
pub use open_work::OpenWork;
pub use outbox::{
    Failure, Fate, Letter, LetterPage, MessageState, OUTBOX_ATTEMPTS_MAX, OUTBOX_ERROR_MAX,
    OUTBOX_TAKE_MAX, Sent, Take, Taker, UnknownMessageState, backoff, is_for_bus,
};
pub use plan::{CommandKey, ExecutionChange, KeyName, Known, LogEnd, Plan, TimerKey};
pub use port::{
    Catalog, CommandQueue, EventLog, Executions, OpenRows, Outbox, Payloads, SavedReplays,
    Snapshots, Store, StoreTime, Timers,
};
pub use queue::{Holder, OpenCommand, StagedCommands, stage};
pub use records::{
    AUDIT_PAGE_MAX, AuditEntry, AuditFilter, Cleanup, Collected, Credential, CredentialFilter,
    CredentialKey, Credentials, FailedMark, FailedMessage, FailedMessages, FailedStanding, Horizon,
    Keychain, KeychainEntry, NamedResult, NoResultRef, Object, ObjectKey, Objects, PROJECT_MAX,
    Projected, REASON_MAX, RUNTIMES_MAX, Records, ResultRef, Results, Rewrap, Runtime, RuntimeKey,
    Runtimes, Sealed, SealedRow, SealedTable, SecretAudit, Turns, VARIABLES_MAX, Variable,
    VariableType, Variables,
};
pub use room::{PageRoom, READ_BYTES_MAX, json_len};
pub use row::{
    CatalogEntry, ExecutionFilter, Held, HeldAnswer, Lookup, NewPlaybook, OutboxRow, Page,
    PathFilter, ReadyCommand, ReplayBound, ReplayMark, SavedReplay, Snapshot, TimerRow,
};
pub use schedule::{ScheduleRecord, ScheduleRow, Schedules};
pub use subscription::{SubscriptionRecord, SubscriptionRow, Subscriptions};

pub use shared::{FORKS_MAX, OwnEvents, read_shared};

/// How many events one read returns at most.
pub const READ_EVENTS_MAX: usize = 1000;
/// How many rows one listing returns at most.
pub const PAGE_MAX: usize = 500;
