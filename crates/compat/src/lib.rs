//! Everything that exists because another program does, as functions from values to values.
//!
//! * names: the public names and statuses of events, and the meaning of events that others post;
//! * events: public events, and events in the format of other programs;
//! * projections: the published replay states with their checksums;
//! * the protocol of existing workers: claims, results and callbacks.
//!
//! Invariant: foreign spellings are translated here, once, and are never stored; a status that is
//! not known is an error.

mod catalog_payload;
mod derived;
mod duration;
mod envelope;
mod feed;
mod imported;
mod names;
mod projection;
mod projector;
mod public_event;
mod time;
mod worker;

pub use catalog_payload::catalog_payload;
pub use derived::with_derived;
pub use duration::duration_text;
pub use envelope::{BadEnvelope, envelope_of, posted_envelope_of, value_of};
pub use feed::shows;
pub use imported::{LifecycleEvent, imported_change, public_envelope, subscription_status};
pub use names::{EventMeaning, log_name, name_of, public_name};
pub use projection::{
    Aggregate, BusinessObject, Checksum, Checksums, Commands, DEFAULT_TENANT, Fold, Frame,
    PayloadLookup, PayloadMention, PayloadMentions, PayloadSummary, ProjectedCommand,
    ProjectedLoop, Projection, REPLAY_EVENTS_MAX, Reference, ReferredPayload, ReplayEvent,
    ReplayRequest, ReplayState, ReplayedExecution, Replayer, ResolvedPayload, ResolvedPayloads,
    SavedFold, Stage, UnknownProjection, UnusableFold, canonical, digest_named,
    distinct_payload_mentions, replay_of_server,
};
pub use projector::{
    AdvanceCall, AdvanceReply, AdvancedExecution, MaterializeReply, ProjectCall, ProjectReply,
    ProjectedEvents, PurgeCall, PurgeReply, UnadvancedExecution,
};
pub use public_event::{EventConverter, command_id};
pub use time::time_with_offset;
pub use worker::{
    AttemptSource, BadFact, Callback, CallbackAnswer, ClaimRequest, ClaimedCommand, EventAccepted,
    EventBatch, EventBatchAccepted, Issued, JobState, LatestClaim, NAME_MAX, PostedEvent,
    PostedItem, RecentEvents, Returned, ToolStatus, UnknownToolStatus, WorkerCommand,
    check_fetched, claimed_command, command_named, completed, fact_of, failed, issued_by,
    reference, returned, with_stored, without_stored, worker_command,
};
