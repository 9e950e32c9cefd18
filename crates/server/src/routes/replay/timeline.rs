//! The timeline of an execution: when each step and command waited and ran.

use axum::extract::State;
use axum::response::Response;
use noetl_api::AnyId;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::InQuery;
use crate::response::error::ApiError;
use crate::response::large::large_json;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(replay_timeline))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct TimelineQuery {
    execution_id: AnyId,
}

/// Shows when each step and command waited and ran, the critical path, and the time spent.
#[utoipa::path(
    get, path = "/api/replay/timeline", tag = "replay", params(TimelineQuery),
    responses((status = 200, body = Object))
)]
async fn replay_timeline(
    State(state): State<AppState>,
    InQuery(query): InQuery<TimelineQuery>,
) -> Result<Response, ApiError> {
    let timeline = state.app().timeline(query.execution_id.into()).await?;
    Ok(large_json(timeline, ()))
}
