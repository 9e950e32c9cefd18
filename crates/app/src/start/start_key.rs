//! The start key of a request: `dedup` in its body, or an idempotency key.
//!
//! A `dedup` key answers every later request with the first execution, whatever the request asks
//! for. An idempotency key repeats the first answer for the same request and refuses a different
//! one.

use std::ops::Deref;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use noetl_api::wire::{Dedup, ExecuteRequest};
use noetl_model::{Digest, PermittedPaths, canonical};
use noetl_store::StartKey;
use sha2::Sha256;

/// Maximum length of a key, in bytes.
const KEY_MAX: usize = 512;
/// The purpose of the key for digests of requests among all keys that are derived from the operator's.
pub(super) const DIGEST_KEY_PURPOSE: &str = "noetl start request v1";
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

/// Returns the start key of a request. Keys of callers with other permitted paths are other keys: one team
/// neither finds nor takes those of another.
pub(super) fn key_of<K: Deref<Target = [u8; 32]>>(
    request: &ExecuteRequest,
    idempotency_key: Option<&str>,
    paths: &PermittedPaths,
    mac_key: impl FnOnce() -> K,
) -> Result<Option<StartKey>, StartKeyError> {
    match (&request.dedup, idempotency_key) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(StartKeyError::Both),
        (Some(Dedup { key, window_secs }), None) => {
            let scope = request.parent_execution_id.map_or(0, |id| id.0);
            Ok(Some(StartKey {
                scope: format!("dedup/{scope}{}", suffix(paths)),
                name: checked_key(key)?,
                keep: Duration::from_secs(*window_secs),
                request: None,
            }))
        }
        (None, Some(key)) => Ok(Some(StartKey {
            scope: format!("request{}", suffix(paths)),
            name: checked_key(key)?,
            keep: IDEMPOTENCY_KEEP,
            request: Some(mac_of(request, &mac_key())),
        })),
    }
}

/// Returns a digest of a request that does not reveal its secret inputs to someone who can guess them:
/// it is keyed. A repeated request has the same digest as long as the operator's key stays the same.
fn mac_of(request: &ExecuteRequest, key: &[u8; 32]) -> Digest {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length is a key");
    mac.update(&canonical(request));
    Digest::of(&mac.finalize().into_bytes())
}

/// Returns the part of a scope for a caller's paths; none for all paths.
fn suffix(paths: &PermittedPaths) -> String {
    match paths {
        PermittedPaths::All => String::new(),
        PermittedPaths::None => "/none".to_owned(),
        PermittedPaths::Some(patterns) => {
            let mut texts: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            texts.sort();
            let digest = Digest::of(texts.join("\n").as_bytes()).to_string();
            format!("/paths-{}", &digest[..32])
        }
    }
}

/// Checks the text of a key.
pub fn checked_key(key: &str) -> Result<String, StartKeyError> {
    if key.is_empty() || key.len() > KEY_MAX || key.chars().any(char::is_control) {
        return Err(StartKeyError::Invalid);
    }
    Ok(key.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(payload: serde_json::Value, key: u8) -> Option<Digest> {
        let request = json!({ "path": "a/b", "payload": payload });
        let request: ExecuteRequest = serde_json::from_value(request).expect("a request");
        let found = key_of(&request, Some("once"), &PermittedPaths::All, || Box::new([key; 32]));
        found.expect("a key").expect("a key").request
    }

    #[test]
    fn the_digest_of_a_request_depends_on_the_request_and_on_the_operators_key() {
        let pin = || json!({ "pin": "123456" });
        assert_eq!(digest(pin(), 1), digest(pin(), 1));
        assert_ne!(digest(pin(), 1), digest(json!({ "pin": "123457" }), 1));
        assert_ne!(digest(pin(), 1), digest(pin(), 2));
        let request = json!({ "path": "a/b", "payload": pin() });
        let request: ExecuteRequest = serde_json::from_value(request).expect("a request");
        assert_ne!(digest(pin(), 1), Some(Digest::of(&canonical(&request))), "it can be guessed");
    }

    #[test]
    fn callers_with_other_paths_have_other_keys() {
        let paths = |text: &str| PermittedPaths::Some(vec![text.parse().expect("a pattern")]);
        let dedup = Some(Dedup { key: "k".to_owned(), window_secs: 60 });
        let request = ExecuteRequest { dedup, ..ExecuteRequest::default() };
        let scope = |paths: &PermittedPaths| {
            key_of(&request, None, paths, || Box::new([1; 32]))
                .expect("a key")
                .expect("it is there")
                .scope
        };
        assert_eq!(scope(&PermittedPaths::All), "dedup/0");
        assert_eq!(scope(&paths("team-a/*")), scope(&paths("team-a/*")));
        assert_ne!(scope(&paths("team-a/*")), scope(&paths("team-b/*")));
        assert_ne!(scope(&paths("team-a/*")), scope(&PermittedPaths::All));
        let plain = ExecuteRequest::default();
        let keyed = |paths: &PermittedPaths| {
            key_of(&plain, Some("k"), paths, || Box::new([1; 32]))
                .expect("a key")
                .expect("it is there")
                .scope
        };
        assert_ne!(keyed(&paths("team-a/*")), keyed(&paths("team-b/*")));
    }
}
