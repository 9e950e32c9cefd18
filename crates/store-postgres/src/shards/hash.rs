//! The shard of a start key.

use noetl_model::{Digest, ExecutionId, shard_of};
use noetl_store::StartKey;

/// Returns the index of a start key's shard, from the first bytes of its digest. The length of the
/// scope separates the scope from the name.
pub(super) fn shard_of_key(key: &StartKey, shards: usize) -> usize {
    let text = format!("{} {}{}", key.scope.len(), key.scope, key.name);
    let digest = Digest::of(text.as_bytes());
    let number = *digest.as_bytes().first_chunk().expect("a digest has eight bytes");
    shard_of(ExecutionId(i64::from_le_bytes(number)), shards)
}
