//! Projected events of other systems, stored once each and read by execution.

/// The maximum number of events that one call stores or reads.
pub const PROJECT_MAX: usize = 1000;
