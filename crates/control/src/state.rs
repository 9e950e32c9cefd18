//! The state of an execution: loading, snapshots, large values, lost events.

pub(crate) mod load;
pub(crate) mod notices;
pub(crate) mod payloads;
pub(crate) mod positions;
pub(crate) mod projection;
pub(crate) mod rewind;
pub(crate) mod snapshot;
