//! Child processes: process groups, captured output, the source of a script.

pub(crate) mod capture;
pub(crate) mod group;
pub(crate) mod source;
