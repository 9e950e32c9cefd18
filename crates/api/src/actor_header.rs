//! The header in which a client states its name.

use reqwest::header::{HeaderName, HeaderValue};

/// The name of the person or program that sends a request, in UTF-8. A server that knows the name of
/// the request's token uses that instead.
pub const ACTOR_HEADER: HeaderName = HeaderName::from_static("x-noetl-actor");

/// Returns the value of the header for a name; `None` if no header can hold it.
pub(crate) fn actor_header(name: &str) -> Option<HeaderValue> {
    HeaderValue::from_bytes(name.as_bytes()).ok()
}
