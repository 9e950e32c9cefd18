//! Request and response bodies of the public API.
//!
//! Invariant: ids are accepted as text and as numbers, and written in the form each client expects.

mod approvals;
mod audit;
mod bulk;
mod catalog;
mod change;
mod comparison;
mod editing;
mod execute;
mod executions;
mod feeds;
mod fork;
mod histogram;
mod hold;
mod ingress;
mod intake;
mod native;
mod notification;
mod outbox;
mod position;
mod problem;
mod schedules;
mod signal;
mod step_logs;
mod stored;
mod subscriptions;
mod tokens;
mod verification;
mod window;
mod worker_tokens;
mod workers;

pub use approvals::{
    ApprovalDecisionView, ApprovalLink, ApprovalLinkBody, ApprovalList, ApprovalView,
    ApprovalsQuery, DecisionBody, VerdictWord,
};
pub use audit::{AuditEntryView, AuditLogPage, AuditVerification};
pub use bulk::{
    BulkBody, BulkFilterBody, BulkItemList, BulkItemView, BulkJobList, BulkJobView, BulkPreview,
    BulkProgress,
};
pub use catalog::{
    ArchiveAnswer, ArchiveRequest, BatchItem, CatalogEntry, CatalogList, CatalogPage,
    RegisterBatch, RegisterBatchAnswer, RegisterRequest, RegisteredPlaybook, ResourceRequest,
    UiField, UiSchema,
};
pub use change::{
    ArcChange, EvaluateAnswer, EvaluateRequest, EventLinks, EventMark, GuardResultView,
    GuardSubjectView, GuardView, GuardsAnswer, PositionChange, PositionStepChange, TemplateRead,
    TemplateResult, ValueChange,
};
pub use comparison::{ComparedSide, ComparedStep, ComparedValue, ExecutionComparison, LogParting};
pub use editing::{
    AnalyzeRequest, CompleteRequest, CompletionItem, DocumentAnalysis, DocumentCompletions,
    DocumentFinding,
};
pub use execute::{
    Dedup, EndedAnswer, ExecuteAnswer, ExecuteBatch, ExecuteBatchAnswer, ExecuteBatchItem,
    ExecuteRequest, StartAnswer, StartStatus,
};
pub use executions::{
    CancelAnswer, CancelRequest, CancellationCheck, CleanupAnswer, CleanupRequest, EventPage,
    ExecutionDetail, ExecutionItem, ExecutionState, FinalizeAnswer, FinalizeRequest, KeepAnswer,
    KeepRequest, Pagination, Progress, TombstoneView,
};
pub use feeds::{
    FeedAck, FeedDeliveryView, FeedEvent, FeedEvents, FeedFilter, FeedList, FeedSeek, FeedView,
    NewFeed,
};
pub use fork::{ForkAnswer, ForkBody};
pub use histogram::{ExecutionHistogram, HistogramBucket};
pub use hold::{
    LimitDetail, LimitList, LimitView, PauseAnswer, PauseBody, PauseList, PausePlaybookBody,
    PauseView, SlotView,
};
pub use ingress::{IngressAccepted, IngressConfig, IngressDispatch, IngressVerify};
pub use intake::{
    AttendCall, DeadChoice, DeadDropped, DeadFailure, DeadRetried, FailedMessageView,
    FailedMessagesView, LeaveCall, MessagesCall, MessagesReply,
};
pub use native::{
    HeartbeatCall, HeartbeatReply, LeaseCall, LeaseReply, LogsCall, LogsReply, ReleaseCall,
    ReleaseReply, ReportCall, ReportReply,
};
pub use notification::{
    NotificationChoice, NotificationItem, NotificationList, NotificationTest,
    NotificationTestResult,
};
pub use outbox::{
    ClaimedMessage, MarkFailed, MarkPublished, MarkedFailed, MarkedPublished, OutboxChanged,
    OutboxClaim, OutboxClaimed, OutboxIds, OutboxMessage, OutboxPage, OutboxPending, PayloadCodec,
};
pub use position::{
    LoadedPositionValue, NamedPositionValue, OpenWait, OpenWorkGroup, OpenWorkPart, PositionArc,
    PositionItems, PositionOpen, PositionRun, PositionState, PositionStep, PositionValue,
    TimeLimitScope,
};
pub use problem::Problem;
pub use schedules::{
    Backfill, Backfilled, BackfilledInstant, ScheduleChoice, ScheduleEventView, ScheduleEvents,
    ScheduleInstants, ScheduleList, ScheduleView,
};
pub use signal::{
    KeptSignalList, KeptSignalView, KeptSignalsQuery, KeyedSignalAnswer, KeyedSignalQuery,
    SignalAnswer, SignalQuery,
};
pub use step_logs::{LogEntry, LogPage, StepLogQuery};
pub use stored::{LogQuery, LogReply, SummariesQuery, SummariesReply, SummaryReply};
pub use subscriptions::{
    SubscribeRequest, SubscriptionEventView, SubscriptionEvents, SubscriptionList, SubscriptionView,
};
pub use tokens::{CreateToken, CreatedToken, StoredTokenList, TokenView};
pub use verification::{Verification, VerificationQuery};
pub use window::{
    LiveUpdate, LogAxis, LogBucket, LogDensity, LogMark, LogMarkKind, TimelineActivity,
    TimelineAttempt, TimelineItemGroup, TimelineRow, TimelineSegment, TimelineWindow,
};
pub use worker_tokens::{WorkerTokenCall, WorkerTokenReply};
pub use workers::{PoolAnswer, PoolName, PoolRegistration, PoolRow, WORKER_KIND};
