//! The parts of a request: extractors, limits on bodies, strict JSON.

pub(crate) mod actor;
pub(crate) mod body;
pub(crate) mod command_holder;
pub(crate) mod extract;
pub(crate) mod prefer;
pub(crate) mod shown_path;
pub(crate) mod strict;
pub(crate) mod worker_sender;
