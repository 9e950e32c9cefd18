//! What is kept beside the log, in memory.

mod cleanup;
mod objects;
mod runtimes;
mod secrets;
mod variables;

use std::collections::BTreeMap;

use noetl_model::ExecutionId;

use crate::{
    AuditEntry, Credential, KeychainEntry, NamedResult, Object, ObjectKey, ResultRef, Runtime,
    RuntimeKey, Variable,
};

#[derive(Default)]
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
}
