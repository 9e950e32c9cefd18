//! The context of an execution, to be read.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_model::Cutoff;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::InPath;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_variables)).routes(routes!(show_variable))
}

/// A value that an execution has set.
#[derive(Debug, Serialize, ToSchema)]
struct Variable {
    var_name: String,
    var_type: &'static str,
    #[schema(value_type = Object)]
    var_value: Value,
}

/// Lists what an execution has set, by name.
#[utoipa::path(
    get, path = "/api/vars/{execution_id}", tag = "executions",
    params(("execution_id" = String, Path)), responses((status = 200, body = Vec<Variable>))
)]
async fn list_variables(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<Json<Vec<Variable>>, ApiError> {
    variables(&state, id).await.map(Json)
}

/// Shows one value that an execution has set.
#[utoipa::path(
    get, path = "/api/vars/{execution_id}/{name}", tag = "executions",
    params(("execution_id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = Variable))
)]
async fn show_variable(
    State(state): State<AppState>,
    InPath((id, name)): InPath<(AnyId, String)>,
) -> Result<Json<Variable>, ApiError> {
    let found = variables(&state, id).await?.into_iter().find(|it| it.var_name == name);
    found.map(Json).ok_or_else(|| {
        ApiError::not_found("unknown-variable", format!("execution {} has not set {name}", id.0))
    })
}

async fn variables(state: &AppState, id: AnyId) -> Result<Vec<Variable>, ApiError> {
    let execution = state.control().state(id.into(), Cutoff::Latest).await?;
    let variables = execution.context().map(|(name, value)| Variable {
        var_name: name.clone(),
        var_type: "user_defined",
        var_value: value.clone(),
    });
    Ok(variables.collect())
}
