//! Operations on the keys of a key-value bucket.

use async_nats::jetstream::Context;
use async_nats::jetstream::kv::Store;
use futures::TryStreamExt as _;
use noetl_model::{ErrorKind, ToolError};
use serde_json::{Value, json};

use super::operation::KeyWork;
use super::{failed, missing};
use crate::run::memory::CallMemory;

/// The maximum number of keys listed.
const KEYS_MAX: usize = 10_000;

pub(super) async fn work(
    stream: &Context,
    bucket: &str,
    work: KeyWork,
    memory: &CallMemory,
) -> Result<Value, ToolError> {
    let store = stream.get_key_value(bucket).await;
    let store = store.map_err(|_| missing("bucket", bucket, "make it with `nats kv add`"))?;
    let lost = |error: &dyn std::error::Error| {
        ToolError::new(ErrorKind::Connection, format!("nats: bucket `{bucket}`: {error}"))
    };
    match work {
        KeyWork::Get { key } => {
            let found = store.get(key.as_str()).await.map_err(|error| lost(&error))?;
            let status = if found.is_some() { "success" } else { "not_found" };
            let mut output =
                json!({ "status": status, "bucket": bucket, "key": key, "value": null });
            if let Some(bytes) = found {
                output["value"] = memory.json_or_text(&bytes).await?;
            }
            Ok(output)
        }
        KeyWork::Put { key, value } => {
            let revision = store.put(&key, value.into()).await.map_err(|error| {
                use async_nats::jetstream::kv::PutErrorKind;
                match error.kind() {
                    PutErrorKind::InvalidKey => failed(ErrorKind::Config, "`key`", &error),
                    _ => lost(&error),
                }
            })?;
            Ok(json!({ "status": "success", "bucket": bucket, "key": key, "revision": revision }))
        }
        KeyWork::Delete { key } => {
            store.delete(&key).await.map_err(|error| lost(&error))?;
            Ok(json!({ "status": "success", "bucket": bucket, "key": key }))
        }
        KeyWork::Purge { key } => {
            store.purge(&key).await.map_err(|error| lost(&error))?;
            Ok(json!({ "status": "success", "bucket": bucket, "key": key }))
        }
        KeyWork::List { pattern } => {
            let keys = list(&store, pattern.as_deref()).await?;
            let count = keys.len();
            Ok(json!({ "status": "success", "bucket": bucket, "keys": keys, "count": count }))
        }
    }
}

async fn list(store: &Store, pattern: Option<&str>) -> Result<Vec<String>, ToolError> {
    let broken = |error: &dyn std::error::Error| {
        ToolError::new(ErrorKind::Connection, format!("nats: cannot list the keys: {error}"))
    };
    let mut keys = store.keys().await.map_err(|error| broken(&error))?;
    let mut found = Vec::new();
    while let Some(key) = keys.try_next().await.map_err(|error| broken(&error))? {
        if pattern.is_none_or(|pattern| matches(pattern, &key)) {
            found.push(key);
        }
        if KEYS_MAX < found.len() {
            let message = format!("nats: there are more than {KEYS_MAX} keys; narrow `pattern`");
            return Err(ToolError::new(ErrorKind::StorageQuota, message));
        }
    }
    found.sort();
    Ok(found)
}

/// True if a key matches a NATS pattern: parts are separated by dots, `*` is one part and `>` the
/// rest. A `*` within a part matches any characters of that part.
fn matches(pattern: &str, key: &str) -> bool {
    let (part, rest) = pattern.split_once('.').unwrap_or((pattern, ""));
    if pattern == ">" || (part == "*" && rest.is_empty() && !pattern.contains('.')) {
        return pattern == ">" || !key.contains('.');
    }
    let (first, below) = key.split_once('.').unwrap_or((key, ""));
    let has_more = (pattern.contains('.'), key.contains('.'));
    within(part, first)
        && match has_more {
            (true, true) => matches(rest, below),
            (false, false) => true,
            (true, false) | (false, true) => false,
        }
}

fn within(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => {
            text.len() >= head.len() + tail.len() && text.starts_with(head) && text.ends_with(tail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_matched_part_by_part() {
        for (pattern, key, expected) in [
            (">", "a.b.c", true),
            ("*", "a", true),
            ("*", "a.b", false),
            ("a.*", "a.b", true),
            ("a.>", "a.b.c", true),
            ("a.*.c", "a.b.c", true),
            ("user_*", "user_7", true),
            ("user_*", "other", false),
            ("a", "a", true),
        ] {
            assert_eq!(matches(pattern, key), expected, "{pattern} {key}");
        }
    }
}
