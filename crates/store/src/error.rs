//! Why a store could not answer.

use std::error::Error;

/// Why a store could not answer. What was asked may or may not have happened, unless it is said.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store cannot be reached or is busy; the same may work later.
    #[error("the store is unavailable")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// A stored row does not mean anything: somebody else has written it, or it is damaged.
    #[error("stored data cannot be read: {what}")]
    Corrupt {
        what: String,
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}
