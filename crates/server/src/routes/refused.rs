//! Calls of existing clients that are not supported; each answer names an alternative.

use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(analyze_execution))
        .routes(routes!(analyze_by_ai))
        .routes(routes!(log_in))
        .routes(routes!(validate_session))
        .routes(routes!(check_access))
}

/// Always refused: the server writes no analyses.
#[utoipa::path(
    post, path = "/api/executions/{execution_id}/analyze", tag = "executions",
    params(("execution_id" = String, Path)),
    responses((status = 501, description = "not served"))
)]
async fn analyze_execution() -> ApiError {
    no_analyses()
}

/// Always refused: the server uses no language model.
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

/// Always refused: the server has tokens and no accounts.
#[utoipa::path(
    post, path = "/api/auth/login", tag = "system",
    responses((status = 501, description = "not served"))
)]
async fn log_in() -> ApiError {
    no_accounts()
}

/// Always refused: the server issues no session tokens to other programs.
#[utoipa::path(
    post, path = "/api/auth/validate", tag = "system",
    responses((status = 501, description = "not served"))
)]
async fn validate_session() -> ApiError {
    no_accounts()
}

/// Always refused: access is decided by the scopes of a token.
#[utoipa::path(
    post, path = "/api/auth/check-access", tag = "system",
    responses((status = 501, description = "not served"))
)]
async fn check_access() -> ApiError {
    no_accounts()
}

fn no_accounts() -> ApiError {
    let detail = "this server has no accounts; send a token of NOETL_API_TOKEN or \
                  NOETL_API_TOKENS as `Authorization: Bearer <token>`";
    ApiError::new(StatusCode::NOT_IMPLEMENTED, "no-accounts", detail)
}
