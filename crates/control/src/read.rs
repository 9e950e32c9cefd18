//! Readers of a log: following an execution as it runs, and verifying it.

pub(crate) mod follow;
pub(crate) mod verify;
