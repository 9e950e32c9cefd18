//! The parts of a response: errors as problem documents, security headers, large bodies.

pub(crate) mod error;
pub(crate) mod headers;
pub(crate) mod large;
