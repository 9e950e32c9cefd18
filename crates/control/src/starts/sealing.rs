//! Secret inputs: sealed before the first event of an execution is decided, so that no event, snapshot
//! or message contains them.
//!
//! A sealed value belongs to one execution. A child, a rerun and a fork get it sealed for themselves; a
//! sealed value in a request from outside is refused, because the sender may have read it from another
//! execution.

use std::borrow::Cow;
use std::sync::Arc;

use noetl_engine::StartInput;
use noetl_model::{ExecutionId, Origin, SealedMark, holds_sealed, replace_sealed};
use noetl_playbook::{InputProblem, InputProblems, Playbook};
use noetl_store::FORKS_MAX;
use serde_json::{Map, Value};

use crate::error::LoadError;
use crate::{Admission, Control, StartError};

/// Encrypts the values of secret inputs.
pub trait InputSealer: Send + Sync {
    /// Returns the value that stands for the sealed one.
    fn seal(&self, execution: ExecutionId, name: &str, value: &Value) -> Value;

    /// Opens a sealed value; fails with the reason.
    fn open(&self, mark: SealedMark<'_>) -> Result<Value, String>;
}

/// Returns the execution whose sealed values a start may carry.
pub(crate) fn sealed_source(origin: &Origin, admission: Admission) -> Option<ExecutionId> {
    match (origin, admission) {
        (Origin::Rerun { execution }, _) => Some(*execution),
        // A request from outside may name any execution as its parent.
        (
            Origin::Parent { execution, .. } | Origin::Linked { execution, .. },
            Admission::Internal,
        ) => Some(*execution),
        (
            Origin::Parent { .. }
            | Origin::Linked { .. }
            | Origin::Request
            | Origin::Schedule { .. },
            _,
        ) => None,
    }
}

impl Control {
    /// Sets the encryption of secret inputs; only the first call has an effect.
    pub fn seal_with(&self, sealer: Arc<dyn InputSealer>) {
        let _set_before = self.parts.sealer.set(sealer);
    }

    /// Returns a start whose secret inputs are sealed for the execution.
    pub(crate) async fn sealed_start<'a>(
        &self,
        execution: ExecutionId,
        playbook: &Playbook,
        input: &'a StartInput,
        source: Option<ExecutionId>,
    ) -> Result<Cow<'a, StartInput>, StartError> {
        let has_secrets = playbook.inputs.iter().any(|inputs| inputs.secrets().next().is_some());
        if !has_secrets && !input.payload.values().any(holds_sealed) {
            return Ok(Cow::Borrowed(input));
        }
        let payload = input.payload.clone();
        let mut payload = self.sealed_workload(execution, playbook, payload, source).await?;
        if !input.added.is_empty() {
            hide_in_message(playbook, input, &mut payload)?;
        }
        Ok(Cow::Owned(StartInput { payload, ..input.clone() }))
    }

    /// Seals the secret inputs of a workload, and seals again those that `source` has sealed.
    pub(crate) async fn sealed_workload(
        &self,
        execution: ExecutionId,
        playbook: &Playbook,
        mut workload: Map<String, Value>,
        source: Option<ExecutionId>,
    ) -> Result<Map<String, Value>, StartError> {
        let is_clear = |name: &str| {
            workload.get(name).is_some_and(|it| !it.is_null() && SealedMark::of(it).is_none())
        };
        let secrets = playbook.inputs.iter().flat_map(|inputs| inputs.secrets());
        let secrets: Vec<&str> =
            secrets.map(|input| input.name.as_str()).filter(|name| is_clear(name)).collect();
        let has_sealed = workload.values().any(holds_sealed);
        if secrets.is_empty() && !has_sealed {
            return Ok(workload);
        }
        let refused = |path: &str, message: String| {
            let problem = InputProblem { path: path.to_owned(), message, suggestion: None };
            StartError::InvalidInputs(InputProblems::from(problem))
        };
        let Some(sealer) = self.parts.sealer.get() else {
            let message = "the playbook has secret inputs, and there is no key to seal them";
            return Err(refused("", message.to_owned()));
        };
        let lineage = match source.filter(|_| has_sealed) {
            Some(source) => self.fork_lineage(source).await?,
            None => Vec::new(),
        };
        for value in workload.values_mut() {
            replace_sealed(value, &mut |mark| {
                if mark.execution == execution {
                    return Ok(mark.to_value());
                }
                if !lineage.contains(&mark.execution) {
                    let message = format!("`{}` is sealed for another execution", mark.name);
                    return Err(refused(mark.name, message));
                }
                let opened = sealer.open(mark).map_err(|reason| {
                    refused(mark.name, format!("`{}` cannot be opened: {reason}", mark.name))
                })?;
                Ok(sealer.seal(execution, mark.name, &opened))
            })?;
        }
        for name in secrets {
            if let Some(value) = workload.get_mut(name) {
                *value = sealer.seal(execution, name, value);
            }
        }
        Ok(workload)
    }

    /// Returns an execution and those that it was forked from, whose sealed values it shares.
    pub async fn fork_lineage(
        &self,
        execution: ExecutionId,
    ) -> Result<Vec<ExecutionId>, LoadError> {
        let mut lineage = vec![execution];
        let mut next = execution;
        for _ in 0..FORKS_MAX {
            let summary = self.parts.store.summary(next).await;
            let summary = summary.map_err(|error| LoadError::of_store(next, error))?;
            let Some(fork) = summary.and_then(|summary| summary.fork) else { break };
            next = fork.execution;
            lineage.push(next);
        }
        Ok(lineage)
    }
}

/// The text in place of a secret within a longer text.
const HIDDEN: &str = "[REDACTED]";

/// Hides the secret inputs of a start in the parts of its message, which contain them a second time. Fails
/// if a label of the message contains one.
fn hide_in_message(
    playbook: &Playbook,
    input: &StartInput,
    payload: &mut Map<String, Value>,
) -> Result<(), StartError> {
    for secret in playbook.inputs.iter().flat_map(|inputs| inputs.secrets()) {
        let Some(Value::String(clear)) = input.payload.get(&secret.name) else { continue };
        let Some(sealed) = payload.get(&secret.name).cloned() else { continue };
        if let Some(label) = input.labels.iter().find(|label| label.value().contains(clear)) {
            let label = label.key();
            let message = format!("the label `{label}` contains it, and labels are not secret");
            let (path, suggestion) = (secret.name.clone(), None);
            let problem = InputProblem { path, message, suggestion };
            return Err(StartError::InvalidInputs(InputProblems::from(problem)));
        }
        for part in input.added.iter().filter(|name| **name != secret.name) {
            if let Some(part) = payload.get_mut(*part) {
                hide(part, clear, &sealed);
            }
        }
    }
    Ok(())
}

/// Replaces a secret in a value: by its sealed form where it is a whole text, else by a mask.
fn hide(value: &mut Value, clear: &str, sealed: &Value) {
    if SealedMark::of(value).is_some() {
        return;
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) if text == clear => *value = sealed.clone(),
        Value::String(text) => {
            if let Some(hidden) = masked(text, clear) {
                *text = hidden;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, clear, sealed)),
        Value::Object(fields) => {
            let hidden = std::mem::take(fields).into_iter().map(|(name, mut field)| {
                hide(&mut field, clear, sealed);
                (masked(&name, clear).unwrap_or(name), field)
            });
            *fields = hidden.collect();
        }
    }
}

/// Returns a text with a secret masked, also where it is written as JSON; `None` if it is not in it.
fn masked(text: &str, clear: &str) -> Option<String> {
    let quoted = Value::from(clear).to_string();
    let quoted = quoted.trim_matches('"');
    let has_secret = text.contains(clear) || text.contains(quoted);
    has_secret.then(|| text.replace(clear, HIDDEN).replace(quoted, HIDDEN))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(mut value: Value, expected: &Value) {
        let mark = SealedMark { execution: ExecutionId(7), name: "token", envelope: "v1.AAAAAA" };
        hide(&mut value, "AAAAAA", &mark.to_value());
        let text = value.to_string().replace(&mark.to_value().to_string(), "\"sealed\"");
        assert_eq!(text, expected.to_string());
    }

    #[test]
    fn a_secret_is_sealed_where_it_is_a_value_and_masked_within_texts() {
        check(json!("AAAAAA"), &json!("sealed"));
        check(json!(["Bearer AAAAAA", 1, null]), &json!(["Bearer [REDACTED]", 1, null]));
        check(json!({ "AAAAAA": { "a": "AAAAAA" } }), &json!({ "[REDACTED]": { "a": "sealed" } }));
        check(json!("AAAAA"), &json!("AAAAA"));
        let mark = SealedMark { execution: ExecutionId(7), name: "token", envelope: "v1.AAAAAA" };
        check(mark.to_value(), &json!("sealed"));
    }

    #[test]
    fn a_secret_is_masked_in_json_that_is_a_text() {
        let clear = "pass\"word";
        let text = json!({ "a": clear }).to_string();
        assert_eq!(masked(&text, clear), Some(r#"{"a":"[REDACTED]"}"#.to_owned()));
        assert_eq!(masked("password", clear), None);
    }
}
