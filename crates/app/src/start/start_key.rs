//! The start key of a request: `dedup` in its body, or an idempotency key.
//!
//! A `dedup` key answers every later request with the first execution, whatever the request asks
//! for. An idempotency key repeats the first answer for the same request and refuses a different
//! one.

use std::time::Duration;

use noetl_api::wire::{Dedup, ExecuteRequest};
use noetl_model::{Digest, canonical};
use noetl_store::StartKey;

/// Maximum length of a key, in bytes.
const KEY_MAX: usize = 512;
/// Retention of an idempotency key.
const IDEMPOTENCY_KEEP: Duration = Duration::from_secs(24 * 60 * 60);

/// The reason why a request's start key is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartKeyError {
    #[error("say either `dedup` or `Idempotency-Key`, not both")]
    Both,
    #[error("a key has 1 to {KEY_MAX} bytes and no control characters")]
    Invalid,
}

/// Returns the start key of a request.
pub(super) fn key_of(
    request: &ExecuteRequest,
    idempotency_key: Option<&str>,
) -> Result<Option<StartKey>, StartKeyError> {
    match (&request.dedup, idempotency_key) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(StartKeyError::Both),
        (Some(Dedup { key, window_secs }), None) => {
            let scope = request.parent_execution_id.map_or(0, |id| id.0);
            Ok(Some(StartKey {
                scope: format!("dedup/{scope}"),
                name: checked_key(key)?,
                keep: Duration::from_secs(*window_secs),
                request: None,
            }))
        }
        (None, Some(key)) => Ok(Some(StartKey {
            scope: "request".to_owned(),
            name: checked_key(key)?,
            keep: IDEMPOTENCY_KEEP,
            request: Some(Digest::of(&canonical(request))),
        })),
    }
}

/// Checks the text of a key.
pub fn checked_key(key: &str) -> Result<String, StartKeyError> {
    if key.is_empty() || key.len() > KEY_MAX || key.chars().any(char::is_control) {
        return Err(StartKeyError::Invalid);
    }
    Ok(key.to_owned())
}
