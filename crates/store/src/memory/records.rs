//! What is kept beside the log, in memory.

mod cleanup;
mod failed_messages;
mod objects;
mod projected;
mod runtimes;
mod secrets;
mod turns;
mod variables;

use std::collections::BTreeMap;

use noetl_model::{Envelope, ExecutionId, Timestamp};

use crate::{
    AuditEntry, Credential, FailedMessage, KeychainEntry, NamedResult, Object, ObjectKey,
    ResultRef, Runtime, RuntimeKey, Variable,
};

#[derive(Clone, Default)]
pub(super) struct RecordTables {
    /// By name.
    credentials: BTreeMap<String, Credential>,
    keychain: BTreeMap<String, KeychainEntry>,
    /// In the order of their ids.
    audit: BTreeMap<i64, AuditEntry>,
    variables: BTreeMap<(ExecutionId, String), Variable>,
    runtimes: BTreeMap<RuntimeKey, Runtime>,
    results: BTreeMap<ResultRef, NamedResult>,
    objects: BTreeMap<ObjectKey, Object>,
    failed_messages: BTreeMap<(ExecutionId, String), FailedMessage>,
    projected: BTreeMap<i64, Envelope>,
    /// Who has each, and until when.
    turns: BTreeMap<String, (String, Timestamp)>,
}
