//! The published projections of a log, with their checksums.
//!
//! A fold takes events one by one in log order, in the public format: by name and status, as other
//! programs know them.
//!
//! Invariant: the same events give the same bytes, on every machine and from every store.

mod canon;
mod commands;
mod convert;
mod event;
mod fold;
mod identity;
mod kind;
mod objects;
mod payload_lookup;
mod reference;
mod remote;
mod replayer;
mod state;

pub use canon::{Checksum, canonical};
pub use commands::{Commands, ProjectedCommand};
pub use event::{Aggregate, ReplayEvent};
pub use fold::Fold;
pub use kind::{Projection, UnknownProjection};
pub use payload_lookup::{
    PayloadLookup, PayloadMention, PayloadMentions, ResolvedPayload, ResolvedPayloads,
    distinct_payload_mentions,
};
pub use reference::{PayloadSummary, Reference};
pub use remote::replay_of_server;
pub use replayer::{
    DEFAULT_TENANT, REPLAY_EVENTS_MAX, ReplayRequest, Replayer, SavedFold, UnusableFold,
    digest_named,
};
pub use state::{
    BusinessObject, Checksums, Frame, ProjectedLoop, ReferredPayload, ReplayState,
    ReplayedExecution, Stage,
};

#[cfg(test)]
mod tests;
