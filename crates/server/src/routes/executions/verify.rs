//! Verification of an execution against its digests.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_api::wire::{Verification, VerificationQuery};
use noetl_model::Digest;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(verify_execution))
}

/// Verifies an execution's log and the data derived from it.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/verify", tag = "executions",
    params(("execution_id" = String, Path), VerificationQuery),
    responses((status = 200, body = Verification))
)]
async fn verify_execution(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<VerificationQuery>,
) -> Result<Json<Verification>, ApiError> {
    let expected = query.expect.as_deref().map(str::parse::<Digest>).transpose();
    let expected =
        expected.map_err(|error| ApiError::invalid("invalid-digest", error.to_string()))?;
    Ok(Json(state.app().verify(id.into(), expected).await?))
}
