//! Storage of large payloads outside the database.
//!
//! With such storage, the payload row has an empty body: the row records that the value exists, and
//! the blob storage has the bytes.

use async_trait::async_trait;
use noetl_model::{Digest, Timestamp};

use crate::{Append, StoreError};

/// Blob storage: bytes addressed by their digest.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Stores bytes durably. Storing existing bytes again resets their age.
    async fn put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError>;

    /// Returns the bytes, or `None` if there are none. Fails if the bytes do not match their
    /// digest.
    async fn get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Returns the digests that start with byte `first` and were last stored before `before`.
    async fn aged(&self, first: u8, before: Timestamp) -> Result<Vec<Digest>, StoreError>;

    /// Deletes the bytes unless they were stored again since `before`. Returns true if this call
    /// deleted them; missing bytes are not an error.
    async fn remove(&self, digest: &Digest, before: Timestamp) -> Result<bool, StoreError>;

    /// Writes [`WRITE_CHECK_LEN`](crate::WRITE_CHECK_LEN) bytes durably and removes them, to check
    /// that the storage is writable.
    async fn check_writable(&self) -> Result<(), StoreError>;
}

/// Stores the payloads of a batch, before any event that refers to them is written.
pub async fn store_payloads(blobs: &dyn Blobs, batch: &[&Append]) -> Result<(), StoreError> {
    for append in batch {
        for (digest, bytes) in &append.payloads {
            blobs.put(digest, bytes).await?;
        }
    }
    Ok(())
}

/// Stores a payload in blob storage, if there is one. Returns the body of its row.
pub async fn row_body<'a>(
    blobs: Option<&dyn Blobs>,
    digest: &Digest,
    bytes: &'a [u8],
) -> Result<&'a [u8], StoreError> {
    match blobs {
        Some(blobs) => {
            blobs.put(digest, bytes).await?;
            Ok(&[])
        }
        None => Ok(bytes),
    }
}

/// Returns the bytes of a payload: the body of its row or, if the body is empty, the stored blob.
pub async fn load_payloads(
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

/// Deletes the given blobs except the `kept` ones, and returns how many are gone.
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
