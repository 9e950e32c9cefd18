//! The shared types of the system: ids, events, commands, statuses and payloads, with their stored
//! form.
//!
//! All other crates use these types. The transition rules are in `engine`; nothing here depends on
//! databases or wire formats.
//!
//! Invariant: the serialized form of an [`Event`] is stored for ever. The golden files in
//! `tests/golden/` pin its tags; Rust names are free to change.

mod actor;
mod added_value;
mod approval;
mod arrival;
mod audit_trail;
mod canonical;
mod chain;
mod command;
mod credential_policy;
mod cutoff;
mod envelope;
mod error;
mod event;
mod event_subject;
mod footprint;
mod id;
mod imported;
mod index;
mod label;
mod limit;
mod log_origin;
mod notice;
mod output_cache;
mod pause;
mod payload;
mod priority;
mod role;
mod schedule;
mod sealed;
mod search;
mod shard;
mod snowflake;
mod status;
mod step_log;
mod subscription;
mod summary;
mod time;
mod tool;
mod wait;
mod work_change;

pub use actor::{ACTOR_MAX, Actor, BadActor};
pub use added_value::{ADDED_KEYS, MESSAGE_KEYS, SCHEDULE_KEY};
pub use approval::{
    APPROVAL_DESCRIPTION_MAX, APPROVAL_TITLE_MAX, APPROVERS_MAX, ApprovalRequest, ApprovalTimeout,
    DECISION_COMMENT_MAX, RejectionEffect, Verdict,
};
pub use arrival::{Arrival, Bytes, MessageOutcome};
pub use audit_trail::{
    TrailEntry, TrailFact, TrailFault, TrailOutcome, TrailPlace, UnknownTrailOutcome,
};
pub use canonical::canonical;
pub use command::{
    CommandName, HeartbeatAnswer, Held, LOG_BYTES_MAX, Lease, LeaseScope, LeaseSecret, Logs,
    LostReason, Message, Outcome, Report, ReportAnswer, traceparent,
};
pub use credential_policy::{
    CredentialPolicy, CredentialUser, HOSTS_FIELD, HostPattern, InvalidHost, InvalidPolicy,
    POLICY_ENTRIES_MAX, POLICY_ENTRY_MAX,
};
pub use cutoff::{Cutoff, ParseCutoffError};
pub use envelope::{DEFAULT_OWNER, Envelope};
pub use error::{ErrorKind, ToolError};
pub use event::{
    ChildExecutions, Event, EventTag, ItemSource, LoopMode, Origin, Place, PlaybookRef, Recorded,
    ScopeTarget, SkipReason, StartPause, TaskAddress, TimerPurpose,
};
pub use event_subject::{EventSubject, EventTone};
pub use footprint::{
    Footprint, TooLarge, Unmeasured, VALUE_ELEMENTS_MAX, VALUE_MEMORY_MAX, ValueLimits,
};
pub use id::{
    Attempt, CatalogId, CommandId, EventId, ExecutionId, ParseIdError, Pool, RunId, Seq, StepName,
    TimerId, WorkerId,
};
pub use imported::{ImportedChange, StepChange};
pub use index::{INDEX_KEY_MAX, IndexChange, IndexEntry, IndexKey, IndexKind, UnknownIndexKind};
pub use label::{
    LABEL_KEY_MAX, LABEL_VALUE_MAX, LABELS_MAX, Label, LabelError, Labels, check_label_key,
};
pub use limit::{
    BadLimitName, GrantRule, LIMIT_NAME_MAX, LIMIT_RATE_MAX, LIMIT_SLOTS_MAX, LimitAmount,
    LimitDecision, LimitDefinition, LimitName, LimitState, OnConflict, SlotDecision,
    UnknownOnConflict,
};
pub use log_origin::LogOrigin;
pub use notice::{
    NOTICE_BYTES_MAX, NOTICE_DEPTH_MAX, NOTICES_MAX, NoticeKind, NoticeOrigin, NoticeReason,
    NoticeTarget, Webhook,
};
pub use output_cache::{CacheKey, CommandCache, ReusedOutput};
pub use pause::PauseScope;
pub use payload::{
    Bindings, Digest, NotADigest, PAYLOAD_DEPTH_MAX, PAYLOAD_INLINE_MAX, PAYLOAD_MAX, Payload,
    PayloadRef, is_shallow,
};
pub use priority::{BadPriority, Priority};
pub use role::{
    BadPathPattern, BadRoleGrant, GRANTS_MAX, PATH_PATTERN_MAX, PathPattern, Permission,
    PermittedPaths, Role, RoleGrant, UnknownRole,
};
pub use schedule::{Firing, InstantSkipReason, ScheduleEvent, ScheduleState, ScheduleStatus};
pub use sealed::{OpenedSecret, OpenedSecrets, SEALED, SealedMark, holds_sealed, replace_sealed};
pub use search::{
    BadSearchText, INDEXED_WORDS_MAX, SEARCH_WORDS_MAX, SearchText, WORD_CHARS_MAX, indexed_words,
    word_index_entry,
};
pub use shard::shard_of;
pub use snowflake::{IdGenerator, first_id_at, instant_of_id, machine_id_of};
pub use status::{CommandStatus, ErrorMode, ExecutionStatus, StepStatus, UnknownStatus};
pub use step_log::{
    LOG_CHUNK_MAX, LOG_TAIL_MAX, LogAnswer, LogBatch, LogChunk, LogSource, LogStream,
    OmittedOutput, StoredLog, UnknownLogStream,
};
pub use subscription::{SubscriptionEvent, SubscriptionState, UnknownSubscriptionEvent};
pub use summary::{ForkPoint, ItemCounts, Parent, ParentCommand, StepCounts, Summary};
pub use time::{ParseTimestampError, Timestamp};
pub use tool::{ToolKind, ToolRunner, UnknownTool};
pub use wait::{
    BadSignalKey, BadSignalName, SIGNAL_KEY_MAX, SIGNAL_NAME_MAX, SignalKey, SignalName,
    WaitCondition, WaitTimeout,
};
pub use work_change::{ItemWorkEnd, WorkChange, WorkEnd, WorkHolder};
