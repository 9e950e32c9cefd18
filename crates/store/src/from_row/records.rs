//! Rows of the records outside the event log.

use noetl_model::{CatalogId, ExecutionId};
use serde_json::Value;

use super::{Columns, named};
use crate::{
    AuditEntry, Credential, FailedMark, FailedMessage, FailedStanding, KeychainEntry, NamedResult,
    Object, ObjectKey, ResultRef, Runtime, RuntimeKey, Sealed, StoreError, Variable,
};

/// Returns an optional JSON value that noetl does not interpret.
fn maybe_value(row: &impl Columns, column: &str) -> Result<Option<Value>, StoreError> {
    row.maybe_json(column, || named(column))
}

pub fn sealed(row: &impl Columns) -> Result<Sealed, StoreError> {
    Ok(Sealed {
        key_version: row.string("key_version")?,
        wrapped_key: row.bytes("wrapped_key")?.to_owned(),
        ciphertext: row.bytes("data_encrypted")?.to_owned(),
    })
}

pub fn credential(row: &impl Columns) -> Result<Credential, StoreError> {
    Ok(Credential {
        id: row.integer("credential_id")?,
        name: row.string("name")?,
        kind: row.string("type")?,
        meta: maybe_value(row, "meta")?,
        tags: row.texts("tags")?,
        description: row.maybe_string("description")?,
        policy: row.maybe_json("policy", || named("policy"))?,
        sealed: sealed(row)?,
        created_at: row.instant("created_at")?,
        updated_at: row.instant("updated_at")?,
    })
}

pub fn keychain_entry(row: &impl Columns) -> Result<KeychainEntry, StoreError> {
    Ok(KeychainEntry {
        cache_key: row.string("cache_key")?,
        name: row.string("keychain_name")?,
        catalog_id: CatalogId(row.integer("catalog_id")?),
        scope: row.string("scope_type")?,
        execution: row.maybe_integer("execution_id")?.map(ExecutionId),
        sealed: sealed(row)?,
        expires_at: row.instant("expires_at")?,
        auto_renew: row.flag("auto_renew")?,
        renew_config: maybe_value(row, "renew_config")?,
        access_count: row.number("access_count")?,
        accessed_at: row.maybe_instant("accessed_at")?,
        created_at: row.instant("created_at")?,
    })
}

pub fn audit_entry(row: &impl Columns) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        id: row.integer("audit_id")?,
        at: row.instant("occurred_at")?,
        credential: row.string("credential")?,
        operation: row.string("operation")?,
        outcome: row.string("outcome")?,
        worker: row.maybe_string("worker_id")?,
        execution: row.maybe_integer("execution_id")?.map(ExecutionId),
        parent_execution: row.maybe_integer("parent_execution_id")?.map(ExecutionId),
        key_version: row.maybe_string("kek_version")?,
        notes: row.maybe_string("notes")?,
    })
}

pub fn named_result(row: &impl Columns) -> Result<NamedResult, StoreError> {
    Ok(NamedResult {
        reference: ResultRef {
            execution: ExecutionId(row.integer("execution_id")?),
            name: row.string("name")?,
            id: row.integer("result_id")?,
        },
        digest: row.digest("sha256")?,
        scope: row.string("scope")?,
        source_step: row.maybe_string("source_step")?,
        created_at: row.instant("created_at")?,
        expires_at: row.maybe_instant("expires_at")?,
    })
}

pub fn object(row: &impl Columns, key: &ObjectKey) -> Result<Object, StoreError> {
    Ok(Object {
        key: key.clone(),
        media_type: row.string("media_type")?,
        digest: row.digest("sha256")?,
        body: row.bytes("body")?.to_owned(),
        updated_at: row.instant("updated_at")?,
        expires_at: row.maybe_instant("expires_at")?,
    })
}

pub fn runtime(row: &impl Columns) -> Result<Runtime, StoreError> {
    Ok(Runtime {
        id: row.integer("runtime_id")?,
        key: RuntimeKey { kind: row.string("kind")?, name: row.string("name")? },
        uri: row.maybe_string("uri")?,
        status: row.string("status")?,
        labels: maybe_value(row, "labels")?,
        capabilities: maybe_value(row, "capabilities")?,
        capacity: row.maybe_integer("capacity")?,
        runtime: maybe_value(row, "runtime")?,
        heartbeat: row.instant("heartbeat")?,
        created_at: row.instant("created_at")?,
        updated_at: row.instant("updated_at")?,
    })
}

pub fn variable(row: &impl Columns) -> Result<Variable, StoreError> {
    let name = row.string("var_name")?;
    let what = || format!("variable {name}");
    Ok(Variable {
        kind: row.word("var_type", what)?,
        value: row.json("var_value", what)?,
        source_step: row.maybe_string("source_step")?,
        created_at: row.instant("created_at")?,
        accessed_at: row.maybe_instant("accessed_at")?,
        access_count: row.number("access_count")?,
        name,
    })
}

/// Converts a row to a failed message of a subscription.
pub fn failed_message(
    row: &impl Columns,
    subscription: ExecutionId,
) -> Result<FailedMessage, StoreError> {
    let what = || format!("a failed message of subscription {subscription}");
    Ok(FailedMessage {
        subscription,
        arrival: row.json("arrival", what)?,
        order_key: row.maybe_string("order_key")?,
        failures: row.number("failures")?,
        reason: row.string("reason")?,
        standing: FailedStanding::of(row.maybe_instant("retry_at")?),
        first_at: row.instant("first_at")?,
        last_at: row.instant("last_at")?,
    })
}

pub fn failed_mark(row: &impl Columns) -> Result<FailedMark, StoreError> {
    Ok(FailedMark {
        once: row.string("once")?,
        order_key: row.maybe_string("order_key")?,
        failures: row.number("failures")?,
        standing: FailedStanding::of(row.maybe_instant("retry_at")?),
        first_at: row.instant("first_at")?,
    })
}
