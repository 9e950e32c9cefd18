//! The errors of the control plane.
//!
//! Sources are shared, because one failure may answer many callers.

use std::sync::Arc;

use noetl_engine::{Illegal, Refusal};
use noetl_model::{CatalogId, Digest, ExecutionId, LogOrigin, Seq, Timestamp};
use noetl_playbook::{InputProblems, Problems};
use noetl_store::{KeyHolder, StoreError};
use thiserror::Error;

/// The reason why the state of an execution cannot be loaded.
#[derive(Debug, Clone, Error)]
pub enum LoadError {
    #[error("there is no execution {0}")]
    NotFound(ExecutionId),
    /// The execution was deleted, on request or by the retention settings.
    #[error(
        "execution {execution} was deleted at {at}; its tombstone has the digest of its last event"
    )]
    Deleted { execution: ExecutionId, at: Timestamp },
    /// The engine does not run the execution.
    #[error(
        "execution {execution} is not run by this engine ({origin}): it can be read, replayed and \
         compared, but not continued, ended, retried, forked or deleted"
    )]
    NotNative { execution: ExecutionId, origin: LogOrigin },
    /// The database was restored, or failed over to a standby that lagged behind.
    #[error(
        "the log of execution {execution} no longer has event {seq} as it was read: the database has \
         gone back in time. Read the log from the start"
    )]
    Rewound { execution: ExecutionId, seq: Seq },
    /// A retry may succeed.
    #[error("the store did not answer")]
    Unavailable(#[source] Arc<StoreError>),
    /// Stored data, or data about to be stored, is inconsistent; an operator has to check it.
    #[error("execution {execution} cannot be read")]
    Corrupt {
        execution: ExecutionId,
        #[source]
        source: Arc<Damage>,
    },
}

/// The inconsistency found in stored data.
#[derive(Debug, Error)]
pub enum Damage {
    #[error("an event does not follow from those before it")]
    Illegal(#[source] Illegal),
    #[error("a stored row contradicts the log")]
    Row(#[source] Arc<StoreError>),
    #[error("a payload stored by reference cannot be loaded")]
    Payload(#[source] PayloadError),
    #[error("its playbook is not in the catalog: {0}")]
    PlaybookMissing(CatalogId),
    #[error("its playbook is no longer valid: {0}")]
    PlaybookInvalid(CatalogId, #[source] Problems),
    #[error("its first event is not `execution.started`")]
    NoStart,
    #[error("its workload is not a map")]
    NoWorkload,
    #[error("a decision requested stored data too many times")]
    Insatiable,
}

impl LoadError {
    /// Classifies an error of the store, for reads of one execution.
    pub fn of_store(execution: ExecutionId, error: StoreError) -> Self {
        Self::of_shared(execution, Arc::new(error))
    }

    /// Does the same as `of_store` for an error that answers many callers.
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

    pub fn damaged(execution: ExecutionId, damage: Damage) -> Self {
        Self::Corrupt { execution, source: Arc::new(damage) }
    }
}

/// The reason why a large value cannot be loaded.
#[derive(Debug, Clone, Error)]
pub enum PayloadError {
    #[error("the store did not answer")]
    Unavailable(#[source] Arc<StoreError>),
    #[error("there is no payload {0}")]
    Missing(Digest),
    #[error("payload {0} is not what was stored")]
    Damaged(Digest),
}

/// The reason why an input got no answer. Only for `Unavailable` it is unknown if the input took
/// effect; every input may be repeated.
#[derive(Debug, Clone, Error)]
pub enum SubmitError {
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The execution's mailbox is full.
    #[error("too many inputs wait for execution {0}")]
    Busy(ExecutionId),
    /// Other writers kept winning the race for the next event.
    #[error("execution {0} keeps changing")]
    Contended(ExecutionId),
    /// The control plane has stopped.
    #[error("the control plane has stopped")]
    Stopped,
}

impl SubmitError {
    /// True if the same input may succeed when it is retried soon.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            SubmitError::Load(LoadError::Unavailable(_))
            | SubmitError::Busy(_)
            | SubmitError::Contended(_)
            | SubmitError::Stopped => true,
            SubmitError::Load(
                LoadError::NotFound(_)
                | LoadError::Deleted { .. }
                | LoadError::NotNative { .. }
                | LoadError::Rewound { .. }
                | LoadError::Corrupt { .. },
            ) => false,
        }
    }
}

/// A name that several playbooks have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmbiguousName {
    pub name: String,
    /// The paths of these playbooks.
    pub paths: Vec<String>,
}

/// The code of an error for an archived playbook.
pub const PLAYBOOK_ARCHIVED: &str = "playbook-archived";

/// The reason why an execution was not started.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("there is no playbook {0}")]
    UnknownPlaybook(String),
    /// Restoring the playbook, or registering it again, makes it startable.
    #[error(
        "playbook {0} is archived and starts nothing ({PLAYBOOK_ARCHIVED}); restore it with \
         `noetl catalog restore {0}`"
    )]
    ArchivedPlaybook(String),
    #[error(
        "{} playbooks are named {}: {}; name one by its path", .0.paths.len(), .0.name,
        .0.paths.join(", ")
    )]
    AmbiguousName(AmbiguousName),
    #[error("child executions can be nested {max} levels deep, not {depth}", max = crate::CHILD_DEPTH_MAX)]
    TooDeep { depth: u32 },
    #[error("execution {0} was cancelled; it starts no more child executions")]
    ParentCancelled(ExecutionId),
    /// The payload does not fit the inputs that the playbook declares.
    #[error(transparent)]
    InvalidInputs(InputProblems),
    #[error("the payload has more than {max} bytes", max = noetl_model::PAYLOAD_MAX)]
    PayloadTooLarge,
    #[error("the payload is nested deeper than {max} levels", max = noetl_model::PAYLOAD_DEPTH_MAX)]
    PayloadTooNested,
    /// The policy of the credential does not include this playbook, its labels or who starts it.
    #[error("this execution may not use the credential `{0}`, which its playbook names")]
    CredentialNotPermitted(String),
    /// An execution was already started under the same key.
    #[error("execution {} was started under this key", .0.execution)]
    KeyTaken(KeyHolder),
    #[error("the start was refused")]
    Refused(#[source] Refusal),
    /// Too many executions wait; the start works once workers have caught up.
    #[error(
        "{} executions wait for a worker in pool `{}`, and {} is the limit; start it again later, add \
         workers for the pool, or raise `executions.backlog_max`", .0.waiting, .0.pool, .0.limit
    )]
    BacklogFull(crate::BacklogFull),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

impl StartError {
    /// True if the same start may succeed when it is retried soon.
    pub fn is_transient(&self) -> bool {
        match self {
            StartError::Submit(error) => error.is_transient(),
            StartError::BacklogFull(_) => true,
            StartError::UnknownPlaybook(_)
            | StartError::ArchivedPlaybook(_)
            | StartError::AmbiguousName(_)
            | StartError::ParentCancelled(_)
            | StartError::TooDeep { .. }
            | StartError::InvalidInputs(_)
            | StartError::PayloadTooLarge
            | StartError::PayloadTooNested
            | StartError::CredentialNotPermitted(_)
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

/// The reason why a document was not registered.
#[derive(Debug, Error)]
pub enum RegisterError {
    /// The document has problems, which are all listed.
    #[error("the playbook is not valid")]
    Invalid(#[source] Problems),
    /// The document is stored, but its subscription was not created; a retry may help.
    #[error("the subscription is not registered")]
    Subscription(#[source] crate::SubscriptionError),
    /// The document is stored, but its schedule was not activated; a retry may help.
    #[error("the schedule is not begun")]
    Schedule(#[source] crate::ScheduleError),
    /// The payload of a schedule has values of secret inputs, which would be stored in clear text.
    #[error(
        "`payload` gives {}, a secret input of {playbook}: a schedule is stored in clear text. Leave it out, \
         and let the playbook read a credential or an entry of its `keychain` instead of the input",
        .inputs.iter().map(|input| format!("`{input}`")).collect::<Vec<_>>().join(", ")
    )]
    SecretPayload { playbook: String, inputs: Vec<String> },
    #[error("the store did not answer")]
    Store(#[source] StoreError),
}
