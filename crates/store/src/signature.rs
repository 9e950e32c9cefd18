//! The types in the signatures of the ports, without the ports themselves.

pub use std::sync::Arc;
pub use std::time::Duration;

pub use noetl_model::{
    CatalogId, CommandId, Digest, Envelope, EventId, ExecutionId, ExecutionStatus, Message, Pool,
    Recorded, ScheduleEvent, Seq, Summary, Timestamp, WorkerId,
};

pub use crate::{
    Append, AppendError, AttemptOutcome, AuditEntry, AuditFilter, BulkItem, BulkItemPage, BulkJob,
    CatalogEntry, CatalogQuery, Clock, Collected, ConnectionFigures, Credential, CredentialFilter,
    CredentialKey, EventSpan, ExecutionFilter, FailedMark, FailedMessage, Failure, FeedCursor,
    FeedDelivery, FeedPage, FeedPoint, Held, HeldAnswer, HistogramBar, HistogramSpan, Horizon,
    ImportFold, ImportedExecution, KeychainEntry, ListedMessage, NamedFeed, NamedResult,
    NewPlaybook, Object, ObjectKey, OpenWork, OutboxListing, OutboxRow, Page, ProjectedEvent,
    ReadyCommand, RegisteredVersion, ReplayBound, ReplayMark, ResultRef, Rewrap, Runtime,
    RuntimeKey, SavedReplay, ScheduleRecord, ScheduleRow, SealedRow, SealedTable, Sent, Snapshot,
    StartKey, StoreError, SubscriptionRecord, SubscriptionRow, Tables, Take, TimerRow, Variable,
};
