//! The shared types of the system: ids, events, commands, statuses and payloads, with their stored
//! form.
//!
//! All other crates use these types. The transition rules are in `engine`; nothing here depends on
//! databases or wire formats.
//!
//! Invariant: the serialized form of an [`Event`] is stored for ever. The golden files in
//! `tests/golden/` pin its tags; Rust names are free to change.

mod arrival;
mod canonical;
mod chain;
mod command;
mod cutoff;
mod envelope;
mod error;
mod event;
mod event_subject;
mod footprint;
mod id;
mod imported;
mod log_origin;
mod payload;
mod schedule;
mod shard;
mod snowflake;
mod status;
mod subscription;
mod summary;
mod time;
mod tool;
mod wait;

pub use arrival::{Arrival, Bytes, MessageOutcome};
pub use canonical::canonical;
pub use command::{
    CommandName, HeartbeatAnswer, Held, LOG_BYTES_MAX, Lease, LeaseScope, Logs, LostReason,
    Message, Outcome, Report, ReportAnswer, traceparent,
};
pub use cutoff::{Cutoff, ParseCutoffError};
pub use envelope::{DEFAULT_OWNER, Envelope};
pub use error::{ErrorKind, ToolError};
pub use event::{
    ChildExecutions, Event, EventTag, ItemSource, LoopMode, Origin, Place, PlaybookRef, Recorded,
    ScopeTarget, SkipReason, TaskAddress, TimerPurpose,
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
pub use log_origin::LogOrigin;
pub use payload::{
    Bindings, Digest, NotADigest, PAYLOAD_DEPTH_MAX, PAYLOAD_INLINE_MAX, PAYLOAD_MAX, Payload,
    PayloadRef, is_shallow,
};
pub use schedule::{Firing, InstantSkipReason, ScheduleEvent, ScheduleState, ScheduleStatus};
pub use shard::shard_of;
pub use snowflake::{IdGenerator, first_id_at, instant_of_id, machine_id_of};
pub use status::{CommandStatus, ErrorMode, ExecutionStatus, StepStatus, UnknownStatus};
pub use subscription::{SubscriptionEvent, SubscriptionState, UnknownSubscriptionEvent};
pub use summary::{ForkPoint, ItemCounts, Parent, ParentCommand, StepCounts, Summary};
pub use time::{ParseTimestampError, Timestamp};
pub use tool::{ToolKind, ToolRunner, UnknownTool};
pub use wait::{BadSignalName, SIGNAL_NAME_MAX, SignalName, WaitCondition, WaitTimeout};
