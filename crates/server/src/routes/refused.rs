//! Calls of existing interfaces that are not served, each with the way out.

use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(analyze_execution)).routes(routes!(analyze_by_ai))
}

/// Refuses: nothing here writes analyses.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/analyze", tag = "executions",
    params(("execution_id" = String, Path)),
    responses((status = 501, description = "not served"))
)]
async fn analyze_execution() -> ApiError {
    no_analyses()
}

/// Refuses: nothing here asks a language model.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/analyze/ai", tag = "executions",
    params(("execution_id" = String, Path)),
    responses((status = 501, description = "not served"))
)]
async fn analyze_by_ai() -> ApiError {
    no_analyses()
}

fn no_analyses() -> ApiError {
    let detail = "this server writes no analyses; read /api/executions/{id} and its events";
    ApiError::new(StatusCode::NOT_IMPLEMENTED, "no-analyses", detail)
}
