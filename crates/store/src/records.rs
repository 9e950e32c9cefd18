//! Records outside the event log: secrets, variables, runtimes, named results, objects.
//!
//! Replay of an execution does not read them: records can be changed and deleted, and expired ones
//! are collected.

mod audit;
mod bulk;
mod cleanup;
mod credentials;
mod failed_messages;
mod keychain;
mod objects;
mod projected;
mod results;
mod runtimes;
mod sealed;
mod tokens;
mod trail;
mod variables;

pub use audit::{AUDIT_PAGE_MAX, AuditEntry, AuditFilter};
pub use bulk::{
    BULK_MESSAGE_MAX, BulkAction, BulkCounts, BulkFilter, BulkItem, BulkItemPage, BulkJob, BulkKey,
    BulkOutcome, BulkSelection, BulkState, UnknownBulkOutcome,
};
pub use cleanup::{Collected, Horizon, SCHEDULE_EVENTS_KEPT};
pub use credentials::{Credential, CredentialFilter, CredentialKey};
pub use failed_messages::{FailedMark, FailedMessage, FailedStanding, REASON_MAX};
pub use keychain::KeychainEntry;
pub use objects::{Object, ObjectKey};
pub use projected::{
    EventPlace, EventSpan, ImportFold, ImportedExecution, PROJECT_MAX, ProjectedEvent,
    ProjectedOnto,
};
pub use results::{NamedResult, NoResultRef, ResultRef};
pub use runtimes::{RUNTIMES_MAX, Runtime, RuntimeKey};
pub use sealed::{Rewrap, Sealed, SealedRow, SealedTable};
pub use tokens::StoredToken;
pub(crate) use trail::TRAIL_ROWS_MAX;
pub use trail::TrailSpan;
pub use variables::{VARIABLES_MAX, Variable, VariableType};
