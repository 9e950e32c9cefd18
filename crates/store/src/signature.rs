//! The types in the signatures of the ports, without the ports themselves.

pub use std::sync::Arc;
pub use std::time::Duration;

pub use noetl_model::{
    CatalogId, CommandId, Digest, Envelope, EventId, ExecutionId, ExecutionStatus, GrantRule,
    IndexKey, IndexKind, LimitName, LogAnswer, LogBatch, Message, Pool, Recorded, ScheduleEvent,
    Seq, StoredLog, Summary, Timestamp, TrailEntry, TrailFact, WorkerId,
};

pub use crate::{
    Append, AppendError, AttemptOutcome, AuditEntry, AuditFilter, BulkItem, BulkItemPage, BulkJob,
    CatalogEntry, CatalogQuery, Clock, Collected, ConnectionFigures, Credential, CredentialFilter,
    CredentialKey, EntryState, EraseAnswer, EventSpan, ExecutionFilter, FailedMark, FailedMessage,
    Failure, FeedCursor, FeedDelivery, FeedPage, FeedPoint, Held, HeldAnswer, HistogramBar,
    HistogramSpan, Horizon, ImportFold, ImportedExecution, IndexPage, IndexRow, KeepMark,
    KeepReason, KeychainEntry, LeasedCommand, LimitChanges, LimitFigures, LimitOutcome,
    ListedMessage, LogLimits, LogRead, NamedFeed, NamedResult, NewPlaybook, Object, ObjectKey,
    OpenIndexPlace, OpenWork, OutboxListing, OutboxRow, Page, PauseRow, PausedKind, ProjectedEvent,
    ReadyCommand, ReadyCount, RegisteredVersion, ReplayBound, ReplayMark, ResultRef, Rewrap,
    Runtime, RuntimeKey, SavedReplay, ScheduleRecord, ScheduleRow, SealedRow, SealedTable, Sent,
    SignalTarget, SlotKey, SlotRow, Snapshot, StartKey, StoreError, StoredSignal, StoredToken,
    SubscriptionRecord, SubscriptionRow, Tables, Take, TimerRow, Tombstone, TrailSpan, Variable,
};
