//! The start key of a request: `dedup` in its body, or the header `Idempotency-Key`.
//!
//! A `dedup` key answers every later request with the first execution, whatever the request asks
//! for. An idempotency key repeats the first answer for the same request and refuses a different
//! one.

use std::time::Duration;

use axum::http::HeaderMap;
use noetl_api::wire::{Dedup, ExecuteRequest};
use noetl_model::{Digest, canonical};
use noetl_store::StartKey;

use crate::error::ApiError;

/// Maximum length of a key, in bytes.
const KEY_MAX: usize = 512;
/// Retention of an idempotency key.
const IDEMPOTENCY_KEEP: Duration = Duration::from_secs(24 * 60 * 60);
/// Accepted spellings of the header.
const HEADERS: [&str; 2] = ["idempotency-key", "x-idempotency-key"];

/// Returns the value of the idempotency header.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = HEADERS.iter().find_map(|name| headers.get(*name)) else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| invalid("`Idempotency-Key` is not plain text"))?;
    // The IETF draft puts the key in quotes; most clients do not.
    let text = text.trim();
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    checked(quoted.unwrap_or(text)).map(Some)
}

/// Returns the start key of a request.
pub(super) fn key_of(
    request: &ExecuteRequest,
    idempotency_key: Option<&str>,
) -> Result<Option<StartKey>, ApiError> {
    match (&request.dedup, idempotency_key) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(invalid("say either `dedup` or `Idempotency-Key`, not both")),
        (Some(Dedup { key, window_secs }), None) => {
            let scope = request.parent_execution_id.map_or(0, |id| id.0);
            Ok(Some(StartKey {
                scope: format!("dedup/{scope}"),
                name: checked(key)?,
                keep: Duration::from_secs(*window_secs),
                request: None,
            }))
        }
        (None, Some(key)) => Ok(Some(StartKey {
            scope: "request".to_owned(),
            name: key.to_owned(),
            keep: IDEMPOTENCY_KEEP,
            request: Some(Digest::of(&canonical(request))),
        })),
    }
}

fn checked(key: &str) -> Result<String, ApiError> {
    if key.is_empty() || key.len() > KEY_MAX || key.chars().any(char::is_control) {
        return Err(invalid(format!("a key has 1 to {KEY_MAX} bytes and no control characters")));
    }
    Ok(key.to_owned())
}

fn invalid(detail: impl Into<String>) -> ApiError {
    ApiError::invalid("invalid-key", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str, expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        headers.insert("Idempotency-Key", header.parse().expect("a header"));
        assert_eq!(idempotency_key(&headers).ok().flatten().as_deref(), expected, "{header}");
    }

    #[test]
    fn a_key_is_read_with_and_without_quotes() {
        check("8e03978e", Some("8e03978e"));
        check("\"8e03978e\"", Some("8e03978e"));
        check("\"half", Some("\"half"));
        check("", None);
        check("\"\"", None);
        check(&"x".repeat(KEY_MAX + 1), None);
    }
}
