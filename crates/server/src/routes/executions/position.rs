//! The state of an execution at a position: the state after one of its events.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_api::wire::{LoadedPositionValue, PositionState};
use noetl_app::{PositionError, PositionValueName};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(position_state)).routes(routes!(position_value))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct PositionQuery {
    /// The seq of the last event that is part of the state; the last event of the log if left out.
    at: Option<u64>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct PositionValueQuery {
    /// The seq of the last event that is part of the state; the last event of the log if left out.
    at: Option<u64>,
    /// `workload`, `ctx.NAME` or `steps.NAME`.
    name: String,
}

/// Shows steps, arcs, open work and variables after an event. Values longer than 2 KB are left out;
/// they are loaded by their name.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/position", tag = "executions",
    params(("execution_id" = String, Path), PositionQuery),
    responses(
        (status = 200, body = PositionState),
        (status = 404, description = "the execution has no such event"),
    )
)]
async fn position_state(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<PositionQuery>,
) -> Result<Json<PositionState>, ApiError> {
    Ok(Json(state.app().position_state(id.into(), query.at).await?))
}

/// Loads one value after an event, whatever its size.
#[utoipa::path(
    get, path = "/api/executions/{execution_id}/position/value", tag = "executions",
    params(("execution_id" = String, Path), PositionValueQuery),
    responses(
        (status = 200, body = LoadedPositionValue),
        (status = 404, description = "there is no such event or value"),
    )
)]
async fn position_value(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
    InQuery(query): InQuery<PositionValueQuery>,
) -> Result<Json<LoadedPositionValue>, ApiError> {
    let name: PositionValueName = query.name.parse().map_err(|error| {
        let detail = format!("`name`: {error}");
        ApiError::new(StatusCode::BAD_REQUEST, "invalid-value-name", detail)
    })?;
    Ok(Json(state.app().position_value(id.into(), query.at, &name).await?))
}

impl From<PositionError> for ApiError {
    fn from(error: PositionError) -> Self {
        match error {
            PositionError::NoSuchPosition { .. } => {
                Self::not_found("unknown-position", error.to_string())
            }
            PositionError::NoSuchValue { .. } => {
                Self::not_found("unknown-value", error.to_string())
            }
            PositionError::NoOpenRun { .. } => Self::conflict("no-open-run", error.to_string()),
            PositionError::InvalidTemplate(_) => {
                Self::invalid("invalid-template", error.to_string())
            }
            PositionError::TemplateTooLong { .. } => {
                Self::invalid("template-too-long", error.to_string())
            }
            PositionError::Buckets { .. } => Self::invalid("invalid-buckets", error.to_string()),
            PositionError::PartReversed { .. } => Self::invalid("invalid-part", error.to_string()),
            PositionError::TooManyExpanded { .. } => {
                Self::invalid("too-many-expanded", error.to_string())
            }
            PositionError::Load(error) => error.into(),
        }
    }
}
