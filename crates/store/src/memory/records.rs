//! In-memory tables of the records outside the event log.

mod bulk;
mod cleanup;
mod failed_messages;
mod locks;
mod objects;
mod projected;
mod runtimes;
mod secrets;
mod signals;
mod tokens;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use noetl_model::{Envelope, ExecutionId, Timestamp};

use crate::{
    AuditEntry, BulkItem, BulkJob, Credential, FailedMessage, ImportedExecution, KeychainEntry,
    NamedResult, Object, ObjectKey, ResultRef, Runtime, RuntimeKey, StoredSignal, StoredToken,
    Variable,
};

use tokens::TrailTable;

#[derive(Clone, Default)]
pub(super) struct RecordTables {
    /// Credentials by name.
    credentials: BTreeMap<String, Credential>,
    keychain: BTreeMap<String, KeychainEntry>,
    /// Audit entries by id.
    audit: BTreeMap<i64, AuditEntry>,
    variables: BTreeMap<(ExecutionId, String), Variable>,
    runtimes: BTreeMap<RuntimeKey, Runtime>,
    results: BTreeMap<ResultRef, NamedResult>,
    objects: BTreeMap<ObjectKey, Object>,
    failed_messages: BTreeMap<(ExecutionId, String), FailedMessage>,
    projected: BTreeMap<i64, Envelope>,
    imported: BTreeMap<ExecutionId, ImportedExecution>,
    signals: BTreeMap<i64, StoredSignal>,
    /// Tokens by name.
    tokens: BTreeMap<String, StoredToken>,
    trail: TrailTable,
    bulk_jobs: BTreeMap<i64, BulkJob>,
    /// The results of bulk jobs, by job and execution.
    bulk_items: BTreeMap<(i64, ExecutionId), BulkItem>,
    /// The holder and the end of each named lock.
    locks: BTreeMap<String, (String, Timestamp)>,
}

impl RecordTables {
    /// Deletes the failed messages of subscriptions.
    pub(super) fn forget_failed_messages(&mut self, subscriptions: &[ExecutionId]) {
        self.failed_messages.retain(|(subscription, _), _| !subscriptions.contains(subscription));
    }

    /// Deletes the variables and the named results of executions.
    pub(super) fn forget_executions(&mut self, executions: &BTreeSet<ExecutionId>) {
        self.variables.retain(|(execution, _), _| !executions.contains(execution));
        self.results.retain(|reference, _| !executions.contains(&reference.execution));
    }
}
