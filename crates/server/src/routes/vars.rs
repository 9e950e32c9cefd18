//! Routes for the variables of an execution.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_app::{ExecutionVariable, VariableError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{Body, InPath};
use crate::response::error::ApiError;
use crate::state::AppState;

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

impl From<ExecutionVariable> for VariableShown {
    fn from(variable: ExecutionVariable) -> Self {
        let var_type = variable.kind();
        match variable {
            ExecutionVariable::Context { name, value } => Self {
                var_name: name,
                var_type,
                var_value: value,
                source_step: None,
                created_at: None,
                accessed_at: None,
                access_count: 0,
            },
            ExecutionVariable::Stored(variable) => Self {
                var_name: variable.name,
                var_type,
                var_value: variable.value,
                source_step: variable.source_step,
                created_at: Some(variable.created_at.to_string()),
                accessed_at: variable.accessed_at.map(|at| at.to_string()),
                access_count: variable.access_count,
            },
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
    let variables = state.app().list_variables(id.into()).await?;
    Ok(Json(variables.into_iter().map(Into::into).collect()))
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
    Ok(Json(state.app().variable(id.into(), &name).await?.into()))
}

/// Variables to set: a list with types, or a map of names to values.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
enum SetRequest {
    Typed {
        variables: Vec<VariableBody>,
    },
    #[schema(value_type = Object)]
    Bare(Map<String, Value>),
}

#[derive(Debug, Deserialize, ToSchema)]
struct VariableBody {
    var_name: String,
    #[schema(value_type = Object)]
    var_value: Value,
    #[serde(default)]
    var_type: Option<String>,
    #[serde(default)]
    source_step: Option<String>,
}

impl From<VariableBody> for noetl_app::NewVariable {
    fn from(new: VariableBody) -> Self {
        let VariableBody { var_name: name, var_value: value, var_type: kind, source_step } = new;
        Self { name, value, kind, source_step }
    }
}

impl SetRequest {
    fn variables(self) -> Vec<noetl_app::NewVariable> {
        match self {
            SetRequest::Typed { variables } => variables.into_iter().map(Into::into).collect(),
            SetRequest::Bare(values) => values
                .into_iter()
                .map(|(name, value)| noetl_app::NewVariable {
                    name,
                    value,
                    kind: None,
                    source_step: None,
                })
                .collect(),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct VariablesSet {
    execution_id: AnyId,
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
    let variables_set = state.app().set_variables(id.into(), request.variables()).await?;
    Ok(Json(VariablesSet { execution_id: id, variables_set, status: "ok" }))
}

#[derive(Debug, Serialize, ToSchema)]
struct VariablesRemoved {
    execution_id: AnyId,
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
    let variables_deleted = state.app().remove_variables(id.into()).await?;
    Ok(Json(VariablesRemoved { execution_id: id, variables_deleted, status: "ok" }))
}

#[derive(Debug, Serialize, ToSchema)]
struct VariableRemoved {
    execution_id: AnyId,
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
    state.app().remove_variable(id.into(), &var_name).await?;
    Ok(Json(VariableRemoved { execution_id: id, var_name, status: "deleted" }))
}

impl From<VariableError> for ApiError {
    fn from(error: VariableError) -> Self {
        let detail = error.to_string();
        match error {
            VariableError::InvalidName => Self::invalid("variable-name", detail),
            VariableError::InvalidType => Self::invalid("variable-type", detail),
            VariableError::TooNested => Self::invalid("payload-too-large", detail),
            VariableError::TooMany => Self::invalid("batch-size", detail),
            VariableError::Unknown { .. } => Self::not_found("unknown-variable", detail),
            VariableError::Load(error) => error.into(),
            VariableError::Payload(error) => error.into(),
            VariableError::Store(error) => error.into(),
        }
    }
}
