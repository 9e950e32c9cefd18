//! The bytes of large values, kept outside of a database.
//!
//! A store that has such a place keeps there what would be the body of a payload, and an empty body
//! in its own row; the row says that the value exists, the place has it.

use async_trait::async_trait;
use noetl_model::{Digest, Timestamp};

use crate::{Append, StoreError};

/// A place for bytes, by their digest.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Keeps some bytes: they are durable when this returns. Those that are there already are young
    /// again.
    async fn put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError>;

    /// The bytes, if they are there; an error if they are not what they were.
    async fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Those whose digest begins with this byte and which were last put before an instant.
    async fn aged(&self, first: u8, before: Timestamp) -> Result<Vec<Digest>, StoreError>;

    /// Forgets some bytes, unless they were put again since that instant. Forgetting what is not
    /// there is fine. Says whether they are gone.
    async fn remove(&self, digest: &Digest, before: Timestamp) -> Result<bool, StoreError>;

    /// Writes [`WRITE_CHECK_LEN`](crate::WRITE_CHECK_LEN) bytes, waits until they are durable, and
    /// removes them.
    async fn check_writable(&self) -> Result<(), StoreError>;
}

/// Puts away the large values of a batch, before any event that refers to them is written.
pub async fn put_away(blobs: &dyn Blobs, batch: &[&Append]) -> Result<(), StoreError> {
    for append in batch {
        for (digest, bytes) in &append.payloads {
            blobs.put(digest, bytes).await?;
        }
    }
    Ok(())
}

/// The bytes of a payload whose row has this body: itself, or if it is empty what the place has.
pub async fn brought_back(
    blobs: Option<&dyn Blobs>,
    digest: &Digest,
    body: Vec<u8>,
) -> Result<Option<Vec<u8>>, StoreError> {
    match (body.is_empty(), blobs) {
        (false, _) => Ok(Some(body)),
        (true, Some(blobs)) => blobs.get(digest).await,
        (true, None) => Err(StoreError::Unavailable(
            "large values of this database are in a directory; name it with NOETL_PAYLOAD_DIR"
                .into(),
        )),
    }
}

/// Forgets some bytes, without those that are kept; how many are gone.
pub async fn remove_all_but(
    kept: &[Digest],
    digests: &[Digest],
    blobs: &dyn Blobs,
    before: Timestamp,
) -> Result<u64, StoreError> {
    let mut gone = 0;
    for digest in digests.iter().filter(|digest| !kept.contains(digest)) {
        gone += u64::from(blobs.remove(digest, before).await?);
    }
    Ok(gone)
}
