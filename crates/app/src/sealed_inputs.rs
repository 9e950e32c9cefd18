//! Secret inputs: sealed with the vault's key, and opened for the leases of workers.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use noetl_control::{Control, InputSealer, LoadError};
use noetl_model::{
    Bindings, ExecutionId, Lease, OpenedSecret, OpenedSecrets, Payload, SealedMark, holds_sealed,
    replace_sealed,
};
use noetl_secrets::Vault;
use serde_json::Value;

use crate::app::App;

/// Seals inputs with the key of the vault.
pub(crate) struct VaultSealer(pub(crate) Arc<Vault>);

impl InputSealer for VaultSealer {
    fn seal(&self, execution: ExecutionId, name: &str, value: &Value) -> Value {
        self.0.seal_input(execution, name, value)
    }

    fn open(&self, mark: SealedMark<'_>) -> Result<Value, String> {
        self.0.open_input(mark).map_err(|error| error.to_string())
    }
}

impl App {
    /// Opens the sealed values that a lease refers to.
    pub(crate) async fn with_secrets(&self, mut lease: Lease) -> Lease {
        let sealed = sealed_in(&lease.bindings);
        if !sealed.is_empty() {
            lease.secrets = opened(self.control(), self.vault(), lease.execution, sealed).await;
        }
        lease
    }
}

/// The text in place of a sealed value, for readers of a rendered command.
const MASK: &str = "[REDACTED]";

/// Returns a value with its sealed values masked.
pub(crate) fn masked_value(value: &Value) -> Value {
    let mut masked = value.clone();
    let done: Result<(), Infallible> =
        replace_sealed(&mut masked, &mut |_| Ok(Value::String(MASK.to_owned())));
    match done {
        Ok(()) => masked,
    }
}

/// Returns a value with its sealed values opened, for use on the server.
pub(crate) async fn opened_value(
    control: &Control,
    vault: &Vault,
    execution: ExecutionId,
    value: &Value,
) -> Result<Value, String> {
    let mut opened_value = value.clone();
    let secrets = opened(control, vault, execution, marks_of(value)).await;
    fill(&mut opened_value, &secrets)?;
    Ok(opened_value)
}

/// Replaces the sealed values in a value by the opened ones; fails with the reason of the first that
/// could not be opened.
pub(crate) fn fill(value: &mut Value, secrets: &OpenedSecrets) -> Result<(), String> {
    replace_sealed(value, &mut |mark| match secrets.0.get(mark.envelope) {
        Some(OpenedSecret::Value(value)) => Ok(value.clone()),
        Some(OpenedSecret::Unreadable(reason)) => {
            Err(format!("the secret input `{}` cannot be opened: {reason}", mark.name))
        }
        None => Err(format!("the secret input `{}` is not for this command", mark.name)),
    })
}

/// A sealed value, with the data of its mark.
struct SealedBinding {
    execution: ExecutionId,
    name: String,
    envelope: String,
}

fn sealed_in(bindings: &Bindings) -> Vec<SealedBinding> {
    let inline = bindings.0.values().filter_map(|payload| match payload {
        Payload::Inline(value) => Some(value),
        Payload::Ref(_) => None,
    });
    inline.filter(|value| holds_sealed(value)).flat_map(|value| marks_of(value)).collect()
}

fn marks_of(value: &Value) -> Vec<SealedBinding> {
    if let Some(mark) = SealedMark::of(value) {
        let (name, envelope) = (mark.name.to_owned(), mark.envelope.to_owned());
        return vec![SealedBinding { execution: mark.execution, name, envelope }];
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        Value::Array(items) => items.iter().flat_map(marks_of).collect(),
        Value::Object(fields) => fields.values().flat_map(marks_of).collect(),
    }
}

/// Opens sealed values for an execution: its own, and those of the executions it was forked from.
async fn opened(
    control: &Control,
    vault: &Vault,
    execution: ExecutionId,
    sealed: Vec<SealedBinding>,
) -> OpenedSecrets {
    let is_own = sealed.iter().all(|it| it.execution == execution);
    let lineage: Result<Vec<ExecutionId>, LoadError> =
        if is_own { Ok(vec![execution]) } else { control.fork_lineage(execution).await };
    let open = |it: &SealedBinding| match &lineage {
        Err(error) => OpenedSecret::Unreadable(error.to_string()),
        Ok(lineage) if !lineage.contains(&it.execution) => {
            OpenedSecret::Unreadable("it is sealed for another execution".to_owned())
        }
        Ok(_) => {
            let (name, envelope) = (it.name.as_str(), it.envelope.as_str());
            match vault.open_input(SealedMark { execution: it.execution, name, envelope }) {
                Ok(value) => OpenedSecret::Value(value),
                Err(error) => OpenedSecret::Unreadable(error.to_string()),
            }
        }
    };
    let opened = sealed.iter().map(|it| (it.envelope.clone(), open(it)));
    OpenedSecrets(opened.collect::<BTreeMap<_, _>>())
}
