//! What is kept beside the log: secrets, variables, runtimes, named results, objects.
//!
//! No execution depends on it: it can be changed and deleted, and what has an end is collected.

mod audit;
mod cleanup;
mod credentials;
mod failed_messages;
mod keychain;
mod objects;
mod projected;
mod results;
mod runtimes;
mod sealed;
mod turns;
mod variables;

pub use audit::{AUDIT_PAGE_MAX, AuditEntry, AuditFilter, SecretAudit};
pub use cleanup::{Cleanup, Collected, Horizon};
pub use credentials::{Credential, CredentialFilter, CredentialKey, Credentials};
pub use failed_messages::{FailedMark, FailedMessage, FailedMessages, FailedStanding, REASON_MAX};
pub use keychain::{Keychain, KeychainEntry};
pub use objects::{Object, ObjectKey, Objects};
pub use projected::{PROJECT_MAX, Projected};
pub use results::{NamedResult, NoResultRef, ResultRef, Results};
pub use runtimes::{RUNTIMES_MAX, Runtime, RuntimeKey, Runtimes};
pub use sealed::{Rewrap, Sealed, SealedRow, SealedTable};
pub use turns::Turns;
pub use variables::{VARIABLES_MAX, Variable, VariableType, Variables};

/// Everything that is kept beside the log.
pub trait Records:
    Credentials
    + Keychain
    + SecretAudit
    + Variables
    + Runtimes
    + Results
    + Objects
    + Cleanup
    + FailedMessages
    + Turns
    + Projected
{
}

impl<T> Records for T where
    T: Credentials
        + Keychain
        + SecretAudit
        + Variables
        + Runtimes
        + Results
        + Objects
        + Cleanup
        + FailedMessages
        + Turns
        + Projected
{
}
