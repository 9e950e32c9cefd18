//! Differences between two cutoffs of an execution, or between two executions.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_app::{CompareError, ComparedMoments, ExecutionMoment};
use noetl_model::ExecutionId;
use noetl_replay::Difference;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::cutoff_of;
use crate::request::extract::InQuery;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(replay_diff))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DiffQuery {
    execution_id: AnyId,
    /// The execution to compare with; the same one if absent.
    other_execution_id: Option<AnyId>,
    /// A seq, the id of an event, a time, or `latest` (the default).
    from: Option<String>,
    /// The second cutoff, in the same form; of the other execution if one is given.
    to: Option<String>,
}

#[derive(Serialize)]
struct DiffSide {
    execution_id: AnyId,
    event_count: u64,
}

#[derive(Serialize)]
struct DiffAnswer {
    from: DiffSide,
    to: DiffSide,
    /// The changes as text, one per line.
    text: String,
    #[serde(flatten)]
    difference: Difference,
}

/// Compares two cutoffs of an execution, or two executions: context, steps, commands and loops.
#[utoipa::path(
    get, path = "/api/replay/diff", tag = "replay", params(DiffQuery),
    responses((status = 200, description = "the changes, also as a JSON Patch", body = Object))
)]
async fn replay_diff(
    State(state): State<AppState>,
    InQuery(query): InQuery<DiffQuery>,
) -> Result<Json<DiffAnswer>, ApiError> {
    let one = ExecutionId::from(query.execution_id);
    let other = query.other_execution_id.map_or(one, ExecutionId::from);
    let from =
        ExecutionMoment { execution: one, cutoff: cutoff_of("from", query.from.as_deref())? };
    let to = ExecutionMoment { execution: other, cutoff: cutoff_of("to", query.to.as_deref())? };
    let ComparedMoments { from_events, to_events, difference } =
        state.app().compare(from, to).await?;
    Ok(Json(DiffAnswer {
        from: DiffSide { execution_id: one.into(), event_count: from_events },
        to: DiffSide { execution_id: other.into(), event_count: to_events },
        text: difference.changes.iter().map(|change| format!("{change}\n")).collect(),
        difference,
    }))
}

impl From<CompareError> for ApiError {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Load(error) => error.into(),
            CompareError::Illegal(_) => Self::internal(&error),
        }
    }
}
