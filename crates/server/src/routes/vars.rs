//! Variables of an execution: values that its playbook has set, and values that other programs
//! store.
//!
//! A playbook's values are part of the log and read-only here; a variable stored here is shown
//! instead of a playbook's value with the same name.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use noetl_api::{AnyId, value_or_reference};
use noetl_model::{Cutoff, Payload, is_shallow};
use noetl_store::{VARIABLES_MAX, Variable, VariableType};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, InPath};
use crate::state::AppState;

/// Maximum length of a variable's name, in bytes.
const NAME_MAX: usize = 500;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_variables, set_variables, remove_variables))
        .routes(routes!(show_variable, remove_variable))
}

/// A variable of an execution.
#[derive(Debug, Serialize, ToSchema)]
struct VariableShown {
    var_name: String,
    var_type: &'static str,
    #[schema(value_type = Object)]
    var_value: Value,
    source_step: Option<String>,
    created_at: Option<String>,
    accessed_at: Option<String>,
    access_count: u64,
}

impl VariableShown {
    /// Converts a value that the playbook has set.
    fn of_context(name: &str, value: Value) -> Self {
        Self {
            var_name: name.to_owned(),
            var_type: VariableType::UserDefined.as_str(),
            var_value: value,
            source_step: None,
            created_at: None,
            accessed_at: None,
            access_count: 0,
        }
    }
}

impl From<Variable> for VariableShown {
    fn from(variable: Variable) -> Self {
        Self {
            var_name: variable.name,
            var_type: variable.kind.as_str(),
            var_value: variable.value,
            source_step: variable.source_step,
            created_at: Some(variable.created_at.to_string()),
            accessed_at: variable.accessed_at.map(|at| at.to_string()),
            access_count: variable.access_count,
        }
    }
}

/// Lists the variables of an execution by name.
#[utoipa::path(
    get, path = "/api/vars/{execution_id}", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = Vec<VariableShown>))
)]
async fn list_variables(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<Vec<VariableShown>>, ApiError> {
    let execution = state.control().state(id.into(), Cutoff::Latest).await?;
    let mut shown: BTreeMap<String, VariableShown> = execution
        .context()
        .map(|(name, value)| {
            (name.clone(), VariableShown::of_context(name, value_or_reference(value)))
        })
        .collect();
    for variable in state.records().variables(id.into()).await? {
        shown.insert(variable.name.clone(), variable.into());
    }
    Ok(Json(shown.into_values().collect()))
}

/// Shows one variable of an execution.
#[utoipa::path(
    get, path = "/api/vars/{execution_id}/{name}", tag = "executions",
    params(("execution_id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = VariableShown))
)]
async fn show_variable(
    State(state): State<AppState>,
    InPath((id, name)): InPath<(AnyId, String)>,
) -> Result<Json<VariableShown>, ApiError> {
    if let Some(kept) = state.records().variable(id.into(), &name, state.now()).await? {
        return Ok(Json(kept.into()));
    }
    let execution = state.control().state(id.into(), Cutoff::Latest).await?;
    let found = execution.context().find(|(known, _)| **known == name);
    let (_, value) = found.ok_or_else(|| unknown(id, &name))?;
    let value = match value {
        Payload::Inline(value) => (**value).clone(),
        Payload::Ref(reference) => (*state.control().payload(reference.digest).await?).clone(),
    };
    Ok(Json(VariableShown::of_context(&name, value)))
}

/// Variables to set: a list with types, or a map of names to values.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
enum SetRequest {
    Typed {
        variables: Vec<NewVariable>,
    },
    #[schema(value_type = Object)]
    Bare(Map<String, Value>),
}

#[derive(Debug, Deserialize, ToSchema)]
struct NewVariable {
    var_name: String,
    #[schema(value_type = Object)]
    var_value: Value,
    #[serde(default)]
    var_type: Option<String>,
    #[serde(default)]
    source_step: Option<String>,
}

impl SetRequest {
    fn variables(self) -> Vec<NewVariable> {
        match self {
            SetRequest::Typed { variables } => variables,
            SetRequest::Bare(values) => values
                .into_iter()
                .map(|(var_name, var_value)| NewVariable {
                    var_name,
                    var_value,
                    var_type: None,
                    source_step: None,
                })
                .collect(),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct VariablesSet {
    execution_id: i64,
    variables_set: usize,
    status: &'static str,
}

/// Sets variables of an execution, all or none; of a name given twice, the last value counts.
#[utoipa::path(
    post, path = "/api/vars/{execution_id}", tag = "executions",
    params(("execution_id" = String, Path)), request_body = SetRequest,
    responses((status = 200, body = VariablesSet))
)]
async fn set_variables(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    Body(request): Body<SetRequest>,
) -> Result<Json<VariablesSet>, ApiError> {
    let mut variables = BTreeMap::new();
    for new in request.variables() {
        let variable = checked(&state, new)?;
        variables.insert(variable.name.clone(), variable);
    }
    if variables.len() > VARIABLES_MAX {
        let detail = format!("at most {VARIABLES_MAX} variables at a time");
        return Err(ApiError::invalid("batch-size", detail));
    }
    if state.control().summary(id.into()).await?.is_none() {
        let detail = format!("there is no execution {}", id.0);
        return Err(ApiError::not_found("unknown-execution", detail));
    }
    let variables: Vec<Variable> = variables.into_values().collect();
    state.records().put_variables(id.into(), &variables).await?;
    let variables_set = variables.len();
    Ok(Json(VariablesSet { execution_id: id.0, variables_set, status: "ok" }))
}

fn checked(state: &AppState, new: NewVariable) -> Result<Variable, ApiError> {
    let NewVariable { var_name: name, var_value: value, var_type, source_step } = new;
    if name.is_empty() || name.len() > NAME_MAX {
        let detail = format!("the name of a variable has 1 to {NAME_MAX} bytes");
        return Err(ApiError::invalid("variable-name", detail));
    }
    if !is_shallow(&value) {
        return Err(ApiError::invalid("payload-too-large", "the value is nested too deeply"));
    }
    let kind = var_type.as_deref().map_or(Ok(VariableType::UserDefined), str::parse);
    let kind = kind.map_err(|_| {
        let known = VariableType::ALL.map(VariableType::as_str).join(", ");
        ApiError::invalid("variable-type", format!("`var_type` is one of {known}"))
    })?;
    let created_at = state.now();
    Ok(Variable { name, kind, value, source_step, created_at, accessed_at: None, access_count: 0 })
}

#[derive(Debug, Serialize, ToSchema)]
struct VariablesRemoved {
    execution_id: i64,
    variables_deleted: u64,
    status: &'static str,
}

/// Deletes all stored variables of an execution.
#[utoipa::path(
    delete, path = "/api/vars/{execution_id}", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = VariablesRemoved))
)]
async fn remove_variables(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<VariablesRemoved>, ApiError> {
    let variables_deleted = state.records().remove_variables(id.into(), None).await?;
    Ok(Json(VariablesRemoved { execution_id: id.0, variables_deleted, status: "ok" }))
}

#[derive(Debug, Serialize, ToSchema)]
struct VariableRemoved {
    execution_id: i64,
    var_name: String,
    status: &'static str,
}

/// Deletes one stored variable of an execution.
#[utoipa::path(
    delete, path = "/api/vars/{execution_id}/{name}", tag = "executions",
    params(("execution_id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = VariableRemoved))
)]
async fn remove_variable(
    State(state): State<AppState>,
    InPath((id, var_name)): InPath<(AnyId, String)>,
) -> Result<Json<VariableRemoved>, ApiError> {
    if state.records().remove_variables(id.into(), Some(&var_name)).await? == 0 {
        return Err(unknown(id, &var_name));
    }
    Ok(Json(VariableRemoved { execution_id: id.0, var_name, status: "deleted" }))
}

fn unknown(id: AnyId, name: &str) -> ApiError {
    let detail = format!("execution {} has no variable {name}", id.0);
    ApiError::not_found("unknown-variable", detail)
}
