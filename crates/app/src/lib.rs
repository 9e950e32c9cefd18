//! The application layer: every operation that a client can ask for, as a typed function.
//!
//! [`App`] has one method per operation: values in, values out, an enum of errors. HTTP routes, the
//! embedded command line and tests call the same methods; they parse requests and render answers.
//!
//! Invariants: no type of HTTP and no JSON text passes this boundary; storage is not visible beyond
//! it, except to the code that builds [`Services`].

mod app;
mod approvals;
mod audit;
mod bulk;
mod bundle;
mod busy_pools;
mod catalog;
mod credential_policies;
mod credentials;
mod dashboard;
mod document_editing;
mod executed_call;
mod executions;
mod existing_worker;
mod feeds;
mod holds;
mod keychain;
mod keyed_codes;
mod lease_secrets;
mod listeners;
mod message_intake;
mod named_credentials;
mod named_values;
mod notifications;
mod objects;
mod outbox;
mod permitted;
mod pool_queues;
mod positions;
mod projected_events;
mod public_events;
mod record_cleanup;
mod refreshed;
mod replay;
mod results;
mod retention;
mod round_times;
mod schedules;
mod sealed_inputs;
mod secret_lookup;
mod start;
mod step_logs;
mod store_condition;
mod store_reader;
mod subscriptions;
mod tokens;
mod unserved_pools;
mod variables;
mod verification;
mod worker_protocol;
mod worker_tokens;
mod workers;

pub use app::{App, AppSettings, Services, SettingInForce, SettingSource, StepProtection};
pub use approvals::{
    APPROVALS_MAX, ApprovalError, ApprovalQuery, ApprovalTicket, DecideError, LINK_VALID_MAX,
    LinkError, LinkMaker, OpenApprovals, StatedNames,
};
pub use audit::AuditLogQuery;
pub(crate) use bulk::path_matches;
pub use bulk::{BulkChoice, BulkError, BulkRequest, run_bulk_jobs};
pub use bundle::{
    BUNDLE_EVENTS_MAX, Bundle, BundleError, BundledExecution, BundledPlaybook, is_bundle,
};
pub use busy_pools::BusyWait;
pub use catalog::{
    CatalogEntries, CatalogError, EntryChoice, EntryPath, InvalidVersion, check_document,
    version_of,
};
pub use credential_policies::DefaultPolicy;
pub use credentials::CredentialError;
pub use dashboard::{DashboardCounts, NewestExecutions};
pub use document_editing::{
    ANALYZED_BYTES_MAX, DocumentTooLong, analyze_document, complete_document, document_findings,
};
pub use executed_call::{IssuedTask, without_secrets};
pub use executions::{
    DropSignalError, EndError, EndedExecution, EventOrder, EventQuery, ExecutionList,
    ExecutionNode, ExecutionOverview, ExecutionProgress, ExecutionQuery, ExecutionTree,
    ForkPlaybook, HINTS_MAX, HistogramError, HistogramQuery, Initiator, KeptSignalFilter,
    KeyedSignalResult, KnownExecution, ListError, OldExecutions, OpenSignalWait, OpenSignalWaits,
    SignalError,
};
pub use existing_worker::{CallbackError, IssuedCommandError, PostEventError, SecretInputs};
pub use feeds::{BadSubject, FeedError, FeedLag, FeedReader, SubjectPrefix, deliver_feeds};
pub use holds::PauseError;
pub use keychain::{KeychainError, KeychainExpiry, KeychainName, KeychainPut, KeychainScope};
pub use lease_secrets::{LeaseRefusal, LeaseVerification};
pub use listeners::Listener;
pub use message_intake::{BrokerUrl, Intake, IntakeError, PostedError, TakenMessage};
pub use named_values::UnnamedValueError;
pub use notifications::{
    ListedNotification, NoticeCall, NoticeCounts, NoticeFailure, NoticeFailureKind, NoticeMail,
    NoticeTransport, NotificationError, TestedTarget, send_notifications,
};
pub use objects::{ObjectError, ObjectName};
pub use outbox::{AfterFailure, ClaimedNotification, FailedSend, MarkedSent, OutboxError};
pub use pool_queues::PoolQueue;
pub use positions::{
    ExecutionPosition, LiveUpdates, LogPartQuery, PositionError, PositionValueName,
    TimelineWindowQuery, UnknownValueName,
};
pub use projected_events::{EnvelopePage, ProjectError, PurgeAges, PurgedData, StoredEnvelopes};
pub use replay::{
    CompareError, ComparedMoments, ExecutionMoment, LargeReplayPermit, ReplayError,
    ReplayedProjections,
};
pub use results::{NewResult, ResultError};
pub use retention::{
    BadRetentionRule, DeleteError, LastRetention, RetentionPeriod, RetentionProgress,
    RetentionRound, RetentionRule, RetentionRules,
};
pub use round_times::ROUND_TIMES;
pub use schedules::BackfillMode;
pub use secret_lookup::{FoundSecret, SecretError, SecretLookup, SenderSecretError};
pub use start::{
    ExecuteError, PoolNameError, StartKeyError, StartOptions, StartedExecution, checked_key,
    pool_of,
};
pub use step_logs::{
    FollowedLogs, LOG_ENTRIES_MAX, LogCounts, LogFilter, LogLine, LogLines, LogPosition,
    LogSettings, LogTail, LogTailQuery, NotALogPosition, StepLogReader, log_name, omitted_note,
};
pub use store_condition::{
    MessageBacklog, OPEN_WAITS_MAX, OpenWaits, PoolBacklog, PriorityBacklog,
};
pub use store_reader::{ReadValueError, StoreReader};
pub use tokens::{IssuedToken, NewToken, StoredTokenError, TokensUnavailable};
pub use unserved_pools::{DeclaredWait, Ordinal, UnservedWait, WaitHint};
pub use variables::{ExecutionVariable, NewVariable, VariableError};
pub use worker_tokens::{WORKER_TOKEN_MARK, WORKER_TOKEN_VALID, WorkerClaims};
pub use workers::{WorkerError, WorkerFilter};

/// Values that operations take and return, and the errors of the storage.
pub use noetl_store::{
    AuditEntry, AuditFilter, BulkAction, BulkFilter, BulkOutcome, CatalogEntry, CatalogQuery,
    ConnectionFigures, Credential, CredentialFilter, EntryContents, EntryState, ExecutionFilter,
    FEED_READ_MAX, FORKS_MAX, KeepMark, KeepReason, KeychainEntry, LeasedCommand, LogLimits,
    NamedResult, NoResultRef, Object, PAGE_MAX, Page, PathFilter, READ_EVENTS_MAX, ResultRef,
    ScheduleRow, SealedTable, Sent, StoreError, StoredToken, SubscriptionRow, Tables, Tombstone,
    Variable, WriteFault,
};

/// A run of a step on the critical path.
pub use noetl_replay::CriticalRun;
