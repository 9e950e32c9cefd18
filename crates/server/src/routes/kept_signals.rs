//! Signals that were sent by correlation key and that no step has taken.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_api::wire::{KeptSignalList, KeptSignalsQuery};
use noetl_app::{DropSignalError, KeptSignalFilter};
use noetl_model::{BadSignalKey, BadSignalName};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{InPath, InQuery};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_kept_signals)).routes(routes!(drop_kept_signal))
}

/// Lists the signals that were sent by correlation key and that no step has taken, in the order of their
/// numbers.
#[utoipa::path(
    get, path = "/api/kept-signals", tag = "executions", params(KeptSignalsQuery),
    responses((status = 200, body = KeptSignalList))
)]
async fn list_kept_signals(
    State(state): State<AppState>,
    InQuery(query): InQuery<KeptSignalsQuery>,
) -> Result<Json<KeptSignalList>, ApiError> {
    let KeptSignalsQuery { name, key, after, limit } = query;
    let invalid = |error: String| ApiError::invalid("invalid-signal", error);
    let name = name.map(|name| name.parse()).transpose();
    let key = key.map(|key| key.parse()).transpose();
    let filter = KeptSignalFilter {
        name: name.map_err(|error: BadSignalName| invalid(error.to_string()))?,
        key: key.map_err(|error: BadSignalKey| invalid(error.to_string()))?,
        after: after.map(|after| after.0),
        limit,
    };
    Ok(Json(state.app().kept_signals(&filter).await?))
}

/// Drops a signal that no step has taken. A signal that a step takes, or has taken, is refused with 409.
#[utoipa::path(
    delete, path = "/api/kept-signals/{signal_id}", tag = "executions",
    params(("signal_id" = String, Path)),
    responses((status = 204))
)]
async fn drop_kept_signal(
    State(state): State<AppState>,
    InPath(id): InPath<AnyId>,
) -> Result<StatusCode, ApiError> {
    state.app().drop_signal(id.0).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<DropSignalError> for ApiError {
    fn from(error: DropSignalError) -> Self {
        let detail = error.to_string();
        match error {
            DropSignalError::Unknown(_) => Self::not_found("unknown-signal", detail),
            DropSignalError::Taken(_) => Self::conflict("signal-taken", detail),
            DropSignalError::Store(error) => error.into(),
        }
    }
}
