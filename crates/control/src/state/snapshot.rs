//! Snapshots: saved folds, a cache that may be deleted and is ignored if damaged.
//!
//! A snapshot's body is the SHA-256 of the rest, then the state as JSON.

use noetl_engine::Execution;
use noetl_model::{Digest, ExecutionId};
use noetl_store::Snapshot;
use thiserror::Error;

/// The reason why a snapshot cannot be used.
#[derive(Debug, Error)]
pub(crate) enum Unusable {
    #[error("it was written by another version")]
    Shape,
    #[error("its checksum does not match")]
    Checksum,
    #[error("it is not a state")]
    Body(#[source] serde_json::Error),
    #[error("it is of another execution or moment")]
    Mismatch,
}

const CHECKSUM_LEN: usize = 32;

pub(crate) fn encode(state: &Execution) -> Result<Snapshot, serde_json::Error> {
    let json = serde_json::to_vec(state)?;
    let mut body = Vec::with_capacity(CHECKSUM_LEN + json.len());
    body.extend_from_slice(Digest::of(&json).as_bytes());
    body.extend_from_slice(&json);
    Ok(Snapshot { seq: state.seq(), shape: Execution::SHAPE, body })
}

/// Returns the saved state. Fails if it is damaged or belongs to another execution.
pub(crate) fn decode(execution: ExecutionId, snapshot: &Snapshot) -> Result<Execution, Unusable> {
    if snapshot.shape != Execution::SHAPE {
        return Err(Unusable::Shape);
    }
    let (checksum, json) =
        snapshot.body.split_first_chunk::<CHECKSUM_LEN>().ok_or(Unusable::Checksum)?;
    if Digest::of(json).as_bytes() != checksum {
        return Err(Unusable::Checksum);
    }
    let state: Execution = serde_json::from_slice(json).map_err(Unusable::Body)?;
    if state.id() != execution || state.seq() != snapshot.seq {
        return Err(Unusable::Mismatch);
    }
    Ok(state)
}
