//! Two executions, or two positions of one, side by side.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_api::wire::ExecutionComparison;
use noetl_app::ExecutionPosition;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(compare_executions))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ComparisonQuery {
    /// The execution to compare with; the same one if left out.
    #[param(value_type = Option<String>)]
    to: Option<AnyId>,
    /// The position in the log of the execution; its last event if left out.
    at: Option<u64>,
    /// The position in the log of the other execution; its last event if left out.
    to_at: Option<u64>,
}

/// Compares two executions, or two positions of one: steps, variables, outputs, and the first event
/// at which their logs part. Values longer than 2 KB are left out.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/compare", tag = "executions",
    params(("execution_id" = String, Path), ComparisonQuery),
    responses(
        (status = 200, body = ExecutionComparison),
        (status = 404, description = "there is no such execution, or it has no such event"),
    )
)]
async fn compare_executions(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<ComparisonQuery>,
) -> Result<Json<ExecutionComparison>, ApiError> {
    let left = ExecutionPosition { execution: id.into(), position: query.at };
    let other = query.to.unwrap_or(id);
    let right = ExecutionPosition { execution: other.into(), position: query.to_at };
    Ok(Json(state.app().compare_executions(left, right).await?))
}
