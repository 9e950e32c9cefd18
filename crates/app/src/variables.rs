//! Variables of an execution: values that its playbook has set, and values that other programs
//! store.
//!
//! A playbook's values are part of the log and read-only here; a variable stored here is returned
//! instead of a playbook's value with the same name.

use std::collections::BTreeMap;

use noetl_api::value_or_reference;
use noetl_control::{LoadError, PayloadError};
use noetl_model::{Cutoff, ExecutionId, Payload, is_shallow};
use noetl_store::{StoreError, VARIABLES_MAX, Variable, VariableType};
use serde_json::Value;

use crate::app::App;

/// Maximum length of a variable's name, in bytes.
const NAME_MAX: usize = 500;

/// A variable to set.
#[derive(Debug, Clone)]
pub struct NewVariable {
    pub name: String,
    pub value: Value,
    /// The variable's type; user-defined if left out.
    pub kind: Option<String>,
    pub source_step: Option<String>,
}

/// A variable of an execution.
#[derive(Debug, Clone)]
pub enum ExecutionVariable {
    /// A value that the playbook has set.
    Context {
        name: String,
        value: Value,
    },
    Stored(Variable),
}

impl ExecutionVariable {
    /// Returns the type of the variable.
    pub fn kind(&self) -> &'static str {
        match self {
            ExecutionVariable::Context { .. } => VariableType::UserDefined.as_str(),
            ExecutionVariable::Stored(variable) => variable.kind.as_str(),
        }
    }
}

/// The reason why an operation on a variable fails.
#[derive(Debug, thiserror::Error)]
pub enum VariableError {
    #[error("the name of a variable has 1 to {NAME_MAX} bytes")]
    InvalidName,
    #[error("`var_type` is one of {}", VariableType::ALL.map(VariableType::as_str).join(", "))]
    InvalidType,
    #[error("the value is nested too deeply")]
    TooNested,
    #[error("at most {VARIABLES_MAX} variables at a time")]
    TooMany,
    #[error("execution {execution} has no variable {name}")]
    Unknown { execution: ExecutionId, name: String },
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Payload(#[from] PayloadError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl App {
    /// Lists the variables of an execution by name; large values of the playbook as references.
    pub async fn list_variables(
        &self,
        execution: ExecutionId,
    ) -> Result<Vec<ExecutionVariable>, VariableError> {
        let state = self.control().state(execution, Cutoff::Latest).await?;
        let mut found: BTreeMap<String, ExecutionVariable> = state
            .context()
            .map(|(name, value)| {
                let value = value_or_reference(value);
                (name.clone(), ExecutionVariable::Context { name: name.clone(), value })
            })
            .collect();
        for variable in self.records().variables(execution).await? {
            found.insert(variable.name.clone(), ExecutionVariable::Stored(variable));
        }
        Ok(found.into_values().collect())
    }

    /// Loads one variable of an execution.
    pub async fn variable(
        &self,
        execution: ExecutionId,
        name: &str,
    ) -> Result<ExecutionVariable, VariableError> {
        if let Some(kept) = self.records().variable(execution, name, self.now()).await? {
            return Ok(ExecutionVariable::Stored(kept));
        }
        let state = self.control().state(execution, Cutoff::Latest).await?;
        let found = state.context().find(|(known, _)| **known == name);
        let (_, value) = found.ok_or_else(|| unknown(execution, name))?;
        let value = match value {
            Payload::Inline(value) => (**value).clone(),
            Payload::Ref(reference) => (*self.control().payload(reference.digest).await?).clone(),
        };
        Ok(ExecutionVariable::Context { name: name.to_owned(), value })
    }

    /// Sets variables of an execution, all or none; of a name given twice, the last value counts.
    /// Returns the number of variables.
    pub async fn set_variables(
        &self,
        execution: ExecutionId,
        new: Vec<NewVariable>,
    ) -> Result<usize, VariableError> {
        let mut variables = BTreeMap::new();
        for new in new {
            let variable = self.checked_variable(new)?;
            variables.insert(variable.name.clone(), variable);
        }
        if variables.len() > VARIABLES_MAX {
            return Err(VariableError::TooMany);
        }
        self.execution(execution).await?;
        let variables: Vec<Variable> = variables.into_values().collect();
        self.records().put_variables(execution, &variables).await?;
        Ok(variables.len())
    }

    /// Deletes all stored variables of an execution; returns their number.
    pub async fn remove_variables(&self, execution: ExecutionId) -> Result<u64, StoreError> {
        self.records().remove_variables(execution, None).await
    }

    /// Deletes one stored variable of an execution.
    pub async fn remove_variable(
        &self,
        execution: ExecutionId,
        name: &str,
    ) -> Result<(), VariableError> {
        if self.records().remove_variables(execution, Some(name)).await? == 0 {
            return Err(unknown(execution, name));
        }
        Ok(())
    }

    fn checked_variable(&self, new: NewVariable) -> Result<Variable, VariableError> {
        let NewVariable { name, value, kind, source_step } = new;
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(VariableError::InvalidName);
        }
        if !is_shallow(&value) {
            return Err(VariableError::TooNested);
        }
        let kind = kind.as_deref().map_or(Ok(VariableType::UserDefined), str::parse);
        let kind = kind.map_err(|_| VariableError::InvalidType)?;
        let (created_at, accessed_at) = (self.now(), None);
        Ok(Variable { name, kind, value, source_step, created_at, accessed_at, access_count: 0 })
    }
}

fn unknown(execution: ExecutionId, name: &str) -> VariableError {
    VariableError::Unknown { execution, name: name.to_owned() }
}
