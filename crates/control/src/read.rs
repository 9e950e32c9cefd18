//! Readers of a log: following an execution as it runs, verifying it, and questions about a state.

pub(crate) mod ask;
pub(crate) mod end;
pub(crate) mod follow;
pub(crate) mod verify;
