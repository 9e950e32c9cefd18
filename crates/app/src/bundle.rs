//! Bundles: executions in a file, with all that is needed to read, verify and replay them elsewhere.
//!
//! A bundle has events as they are stored, the values that they refer to, the playbook versions and
//! the digest of each log. Forks are preceded by their origins. Secret inputs are in a bundle as they
//! are in the log: encrypted with a key that is not part of it.

mod reader;
mod text;

use std::collections::BTreeMap;

use noetl_engine::LogFault;
use noetl_model::{CatalogId, Digest, ExecutionId, ForkPoint, Recorded, Timestamp};
use noetl_store::{AppendError, StoreError};

pub use text::is_bundle;

/// The number of the format.
pub(crate) const BUNDLE_FORMAT: u32 = 1;
/// The most events of a bundle, which is read into memory.
pub const BUNDLE_EVENTS_MAX: usize = 1_000_000;

/// The contents of a bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    pub exported_at: Timestamp,
    pub playbooks: Vec<BundledPlaybook>,
    /// The JSON text of each value that is stored by reference.
    pub payloads: BTreeMap<Digest, String>,
    /// The executions, origins of forks first.
    pub executions: Vec<BundledExecution>,
}

/// A playbook version in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BundledPlaybook {
    pub catalog_id: CatalogId,
    pub path: String,
    pub version: u32,
    pub content: String,
}

/// An execution in a bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct BundledExecution {
    pub execution: ExecutionId,
    /// For a fork, the last event shared with its origin, which is in the bundle before it.
    pub fork: Option<ForkPoint>,
    /// The digest of the last event.
    pub head: Option<Digest>,
    /// The events of the execution itself, without those shared with its origin.
    pub events: Vec<Recorded>,
}

/// The reason why a bundle cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("the file cannot be read")]
    Unreadable(#[from] std::io::Error),
    #[error("the file is not a bundle of `noetl export`")]
    NotABundle,
    #[error("the bundle has format {0}; this version of noetl reads format {BUNDLE_FORMAT}")]
    NewerFormat(u32),
    #[error("line {line} of the bundle cannot be read")]
    BadLine { line: usize, source: serde_json::Error },
    #[error("line {0} of the bundle is an event without its execution")]
    LooseEvent(usize),
    #[error("the bundle ends in the middle: its last line is missing")]
    CutOff,
    #[error("the bundle was changed: its digest is {found}, not {written}")]
    Changed { found: Digest, written: Digest },
    #[error("the bundle has more than {BUNDLE_EVENTS_MAX} events")]
    TooManyEvents,
    #[error("the value {0} of the bundle was changed")]
    ChangedValue(Digest),
    #[error("execution {execution} forks {origin}, which is not in the bundle before it")]
    NoOrigin { execution: ExecutionId, origin: ExecutionId },
    #[error("execution {execution} of the bundle is not as it was written: {fault}")]
    Log { execution: ExecutionId, fault: LogFault },
    #[error("execution {execution} is in the bundle twice, or has no events")]
    Append { execution: ExecutionId, source: AppendError },
    #[error(transparent)]
    Store(#[from] StoreError),
}
