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
        let payload = self.sealed_workload(execution, playbook, payload, source).await?;
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
