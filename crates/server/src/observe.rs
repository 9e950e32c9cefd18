//! Observation of the server: metrics, request tracing, figures of the process, rate-limited warnings.

pub(crate) mod durations;
pub(crate) mod meters;
pub(crate) mod proc;
pub(crate) mod registration;
pub(crate) mod trace;
pub(crate) mod warnings;
