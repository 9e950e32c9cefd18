//! Which shard keeps a start key.

use noetl_model::{Digest, ExecutionId, shard_of};
use noetl_store::StartKey;

/// The index of a start key's shard: that of the number its digest begins with. The length of the
/// scope keeps it apart from the name.
pub(super) fn shard_of_key(key: &StartKey, shards: usize) -> usize {
    let text = format!("{} {}{}", key.scope.len(), key.scope, key.name);
    let digest = Digest::of(text.as_bytes());
    let number = *digest.as_bytes().first_chunk().expect("a digest has eight bytes");
    shard_of(ExecutionId(i64::from_le_bytes(number)), shards)
}
