//! Large values: moved out of events before they are stored, loaded when a decision needs them.
//!
//! Values are addressed by their content, so a cached value is never stale.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

use lru::LruCache;
use noetl_model::{Digest, Footprint, PayloadRef};
use noetl_store::StoreError;
use serde::Serialize;
use serde_json::Value;

use crate::{Control, PayloadError};

/// The longest JSON of a binding that is inlined in a command, so that the size of a command does
/// not grow with the values its templates mention.
pub(crate) const BINDING_INLINE_MAX: usize = 4 * 1024;

/// The size of JSON from which parsing is slow enough to block others.
const SLOW_JSON_BYTES: usize = 512 * 1024;

/// A value to be stored by reference, as JSON.
#[derive(Debug)]
pub(crate) struct Large {
    pub(crate) reference: PayloadRef,
    /// The JSON, shared with the append that stores it.
    pub(crate) bytes: Arc<Vec<u8>>,
    /// The JSON as a value, if it was parsed.
    pub(crate) parsed: Option<Arc<Value>>,
}

impl Large {
    pub(crate) fn of(value: Arc<Value>) -> Self {
        let bytes = serde_json::to_vec(&*value).expect("a JSON value has a JSON text");
        Self { parsed: Some(value), ..Self::of_bytes(bytes) }
    }

    /// Serializes a value; `None` as soon as its JSON exceeds `len_max`.
    pub(crate) fn within(value: Arc<Value>, len_max: usize) -> Option<Self> {
        let mut bytes = BoundedBytes { bytes: Vec::new(), len_max };
        serde_json::to_writer(&mut bytes, &*value).ok()?;
        Some(Self { parsed: Some(value), ..Self::of_bytes(bytes.bytes) })
    }

    /// Creates a large value from serialized JSON.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        let size = u64::try_from(bytes.len()).expect("a length in memory fits");
        let reference = PayloadRef { digest: Digest::of(&bytes), size };
        Self { reference, bytes: Arc::new(bytes), parsed: None }
    }

    pub(crate) fn value(&self) -> Result<Arc<Value>, PayloadError> {
        match &self.parsed {
            Some(value) => Ok(Arc::clone(value)),
            None => serde_json::from_slice(&self.bytes)
                .map(Arc::new)
                .map_err(|_| PayloadError::Damaged(self.reference.digest)),
        }
    }
}

/// Returns the length of a value's JSON; `None` as soon as it exceeds `max`.
pub(crate) fn json_len_within(value: &impl Serialize, max: usize) -> Option<usize> {
    let mut counter = Counter { left: max };
    serde_json::to_writer(&mut counter, value).is_ok().then(|| max - counter.left)
}

/// Bytes up to a length.
struct BoundedBytes {
    bytes: Vec<u8>,
    len_max: usize,
}

impl Write for BoundedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.len_max - self.bytes.len() < bytes.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Counter {
    left: usize,
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The cache of large values, bounded by their memory.
#[derive(Debug)]
pub(crate) struct PayloadCache {
    kept: Mutex<CachedValues>,
    bytes_max: usize,
}

#[derive(Debug)]
struct CachedValues {
    values: LruCache<Digest, (Arc<Value>, usize)>,
    bytes: usize,
}

impl PayloadCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let kept = CachedValues { values: LruCache::unbounded(), bytes: 0 };
        Self { kept: Mutex::new(kept), bytes_max }
    }

    pub(crate) fn get(&self, digest: &Digest) -> Option<Arc<Value>> {
        self.kept().values.get(digest).map(|(value, _)| value.clone())
    }

    pub(crate) fn put(&self, reference: PayloadRef, value: &Arc<Value>) {
        let digest = reference.digest;
        // A value takes more memory than its JSON, so too long JSON is not measured.
        if usize::try_from(reference.size).is_ok_and(|length| length > self.bytes_max) {
            return;
        }
        let len = Footprint::of(value).memory;
        if len > self.bytes_max {
            return;
        }
        let value = Arc::clone(value);
        let mut kept = self.kept();
        kept.bytes += len;
        if let Some((_, replaced)) = kept.values.put(digest, (value, len)) {
            kept.bytes -= replaced;
        }
        while kept.bytes > self.bytes_max {
            let Some((_, (_, oldest))) = kept.values.pop_lru() else { break };
            kept.bytes -= oldest;
        }
    }

    fn kept(&self) -> MutexGuard<'_, CachedValues> {
        self.kept.lock().expect("nothing panics while it holds the values")
    }
}

impl Control {
    /// Loads a value that an event or a lease refers to.
    pub async fn payload(&self, digest: Digest) -> Result<Arc<Value>, PayloadError> {
        if let Some(value) = self.parts.payloads.get(&digest) {
            return Ok(value);
        }
        let bytes = self.payload_bytes(digest).await?;
        let parsed = if bytes.len() < SLOW_JSON_BYTES {
            serde_json::from_slice(&bytes)
        } else {
            self.run_blocking(|| serde_json::from_slice(&bytes)).await
        };
        let value = Arc::new(parsed.map_err(|_| PayloadError::Damaged(digest))?);
        let size = u64::try_from(bytes.len()).expect("a length in memory fits");
        self.parts.payloads.put(PayloadRef { digest, size }, &value);
        Ok(value)
    }

    /// Loads the JSON of such a value without parsing it.
    pub async fn payload_bytes(&self, digest: Digest) -> Result<Vec<u8>, PayloadError> {
        let bytes = match self.parts.store.payload(&digest).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(PayloadError::Missing(digest)),
            Err(
                error @ (StoreError::Unavailable(_)
                | StoreError::TimedOut { .. }
                | StoreError::OutOfReach { .. }
                | StoreError::Unwritable { .. }),
            ) => {
                return Err(PayloadError::Unavailable(Arc::new(error)));
            }
            Err(StoreError::Corrupt { .. }) => return Err(PayloadError::Damaged(digest)),
        };
        if Digest::of(&bytes) != digest {
            return Err(PayloadError::Damaged(digest));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_json_length_is_counted_up_to_the_limit() {
        let value = json!({ "a": [1, 2, "é"] });
        let len = value.to_string().len();
        assert_eq!(json_len_within(&value, len), Some(len));
        assert_eq!(json_len_within(&value, len + 1), Some(len));
        assert_eq!(json_len_within(&value, len - 1), None);
    }

    #[test]
    fn the_cache_forgets_what_was_used_longest_ago() {
        let cache = PayloadCache::new(2 * Footprint::of(&json!(0)).memory);
        let references =
            [b"a", b"b", b"c"].map(|bytes| PayloadRef { digest: Digest::of(bytes), size: 1 });
        cache.put(references[0], &Arc::new(json!(0)));
        cache.put(references[1], &Arc::new(json!(1)));
        cache.put(references[1], &Arc::new(json!(1)));
        assert!(cache.get(&references[0].digest).is_some());
        cache.put(references[2], &Arc::new(json!(2)));
        let left = references.map(|reference| cache.get(&reference.digest).is_some());
        assert_eq!(left, [true, false, true]);
    }

    #[test]
    fn a_value_larger_than_the_cache_is_not_kept() {
        let cache = PayloadCache::new(1000);
        let [small, large] =
            [b"a", b"b"].map(|bytes| PayloadRef { digest: Digest::of(bytes), size: 200 });
        cache.put(small, &Arc::new(json!(0)));
        // 200 bytes of JSON, seven times as much as a value.
        cache.put(large, &Arc::new(json!(vec![0; 100])));
        assert!(cache.get(&large.digest).is_none());
        assert!(cache.get(&small.digest).is_some(), "and drives nothing else out");
    }
}
