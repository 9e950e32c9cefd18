//! Commands and workers: leases, fairness, pauses, reports.

pub(crate) mod approval;
pub(crate) mod claim;
pub(crate) mod durations;
pub(crate) mod holder;
pub(crate) mod idle_workers;
pub(crate) mod keyed_signal;
pub(crate) mod lease;
pub(crate) mod outcomes;
pub(crate) mod pauses;
pub(crate) mod ready_poll;
pub(crate) mod release;
pub(crate) mod report;
pub(crate) mod reservations;
pub(crate) mod round_robin;
pub(crate) mod signal;
