//! Why the control plane could not do what was asked.
//!
//! Sources are shared, because one failure may answer many callers.

use std::sync::Arc;

use noetl_engine::{Illegal, Refusal};
use noetl_model::{CatalogId, Digest, ExecutionId, Seq};
use noetl_playbook::Problems;
use noetl_store::{KeyHolder, StoreError};
use thiserror::Error;

/// Why the state of an execution cannot be had.
#[derive(Debug, Clone, Error)]
pub enum LoadError {
    #[error("there is no execution {0}")]
    NotFound(ExecutionId),
    /// The database was restored, or failed over to a standby that lagged behind.
    #[error(
        "the log of execution {execution} no longer has event {seq} as it was read: the database has \
         gone back in time. Read the log from the start"
    )]
    Rewound { execution: ExecutionId, seq: Seq },
    /// The same may work later.
    #[error("the store did not answer")]
    Unavailable(#[source] Arc<StoreError>),
    /// Somebody must look: what is stored, or what was about to be, makes no sense.
    #[error("execution {execution} cannot be read")]
    Corrupt {
        execution: ExecutionId,
        #[source]
        source: Arc<Damage>,
    },
}

/// What is wrong with stored data.
#[derive(Debug, Error)]
pub enum Damage {
    #[error("an event does not follow from those before it")]
    Illegal(#[source] Illegal),
    #[error("a row makes no sense")]
    Row(#[source] Arc<StoreError>),
    #[error("a large value cannot be had")]
    Payload(#[source] PayloadError),
    #[error("its playbook is not in the catalog: {0}")]
    PlaybookMissing(CatalogId),
    #[error("its playbook is no longer valid: {0}")]
    PlaybookInvalid(CatalogId, #[source] Problems),
    #[error("it does not begin with a start")]
    NoStart,
    #[error("its workload is not a map")]
    NoWorkload,
    #[error("a decision keeps asking for more than can be given")]
    Insatiable,
}

impl LoadError {
    pub(crate) fn of_store(execution: ExecutionId, error: StoreError) -> Self {
        Self::of_shared(execution, Arc::new(error))
    }

    /// The same for an error that answers many callers.
    pub(crate) fn of_shared(execution: ExecutionId, error: Arc<StoreError>) -> Self {
        match &*error {
            StoreError::Unavailable(_)
            | StoreError::TimedOut { .. }
            | StoreError::OutOfReach { .. }
            | StoreError::Unwritable { .. } => Self::Unavailable(error),
            StoreError::Corrupt { .. } => Self::damaged(execution, Damage::Row(error)),
        }
    }

    pub(crate) fn of_payload(execution: ExecutionId, error: PayloadError) -> Self {
        match error {
            PayloadError::Unavailable(source) => Self::Unavailable(source),
            PayloadError::Missing(_) | PayloadError::Damaged(_) => {
                Self::damaged(execution, Damage::Payload(error))
            }
        }
    }

    pub(crate) fn damaged(execution: ExecutionId, damage: Damage) -> Self {
        Self::Corrupt { execution, source: Arc::new(damage) }
    }
}

/// Why a large value cannot be had.
#[derive(Debug, Clone, Error)]
pub enum PayloadError {
    #[error("the store did not answer")]
    Unavailable(#[source] Arc<StoreError>),
    #[error("there is no payload {0}")]
    Missing(Digest),
    #[error("payload {0} is not what was stored")]
    Damaged(Digest),
}

/// Why an input got no answer. Whether it took effect is known unless it is `Unavailable`; every
/// input may be repeated.
#[derive(Debug, Clone, Error)]
pub enum SubmitError {
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Too much waits for this execution already.
    #[error("too many inputs wait for execution {0}")]
    Busy(ExecutionId),
    /// Others were faster, again and again.
    #[error("execution {0} keeps changing")]
    Contended(ExecutionId),
    /// This control plane has stopped.
    #[error("the control plane has stopped")]
    Stopped,
}

impl SubmitError {
    /// Whether the same input may be answered when it is tried again soon.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            SubmitError::Load(LoadError::Unavailable(_))
            | SubmitError::Busy(_)
            | SubmitError::Contended(_)
            | SubmitError::Stopped => true,
            SubmitError::Load(
                LoadError::NotFound(_) | LoadError::Rewound { .. } | LoadError::Corrupt { .. },
            ) => false,
        }
    }
}

/// Why an execution was not started.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("there is no playbook {0}")]
    UnknownPlaybook(String),
    #[error("an execution may stand at most {max} below the first, not {depth}", max = crate::CHILD_DEPTH_MAX)]
    TooDeep { depth: u32 },
    #[error("execution {0} was cancelled; nothing more is started below it")]
    ParentCancelled(ExecutionId),
    #[error("the payload has more than {max} bytes", max = noetl_model::PAYLOAD_MAX)]
    PayloadTooLarge,
    #[error("the payload is nested deeper than {max} levels", max = noetl_model::PAYLOAD_DEPTH_MAX)]
    PayloadTooNested,
    /// An execution was started under the same key.
    #[error("execution {} was started under this key", .0.execution)]
    KeyTaken(KeyHolder),
    #[error("the start was refused")]
    Refused(#[source] Refusal),
    /// Too many executions wait already; the same works once workers have caught up.
    #[error(
        "{} executions wait for a worker in pool `{}`, and {} is the limit; start it again later, add \
         workers for the pool, or raise `executions.backlog_max`", .0.waiting, .0.pool, .0.limit
    )]
    BacklogFull(crate::BacklogFull),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

impl StartError {
    /// Whether the same start may work when it is tried again soon.
    pub fn is_passing(&self) -> bool {
        match self {
            StartError::Submit(error) => error.is_passing(),
            StartError::BacklogFull(_) => true,
            StartError::UnknownPlaybook(_)
            | StartError::ParentCancelled(_)
            | StartError::TooDeep { .. }
            | StartError::PayloadTooLarge
            | StartError::PayloadTooNested
            | StartError::KeyTaken(_)
            | StartError::Refused(_) => false,
        }
    }
}

impl From<LoadError> for StartError {
    fn from(error: LoadError) -> Self {
        Self::Submit(SubmitError::Load(error))
    }
}

/// Why a playbook was not registered.
#[derive(Debug, Error)]
pub enum RegisterError {
    /// Nothing is wrong with us: the document has problems, all of them listed.
    #[error("the playbook is not valid")]
    Invalid(#[source] Problems),
    /// The document is kept, but messages cannot be taken for it yet; the same again may help.
    #[error("the subscription is not registered")]
    Subscription(#[source] crate::SubscriptionError),
    /// The document is kept, but its instants do not count yet; the same again may help.
    #[error("the schedule is not begun")]
    Schedule(#[source] crate::ScheduleError),
    #[error("the store did not answer")]
    Store(#[source] StoreError),
}
