//! Records outside the event log: secrets, variables, runtimes, named results, objects.
//!
//! Replay of an execution does not read them: records can be changed and deleted, and expired ones
//! are collected.

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

/// All ports for records outside the event log.
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
