//! Differences between two cutoffs of an execution, or between two executions.

use axum::Json;
use axum::extract::State;
use noetl_api::AnyId;
use noetl_model::{Cutoff, ExecutionId};
use noetl_replay::{Difference, Picture, Wanted, difference};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{cutoff_of, read_log};
use crate::request::extract::InQuery;
use crate::response::error::ApiError;
use crate::routes::executions::known;
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
struct Side {
    execution_id: i64,
    event_count: u64,
}

#[derive(Serialize)]
struct ComparisonAnswer {
    from: Side,
    to: Side,
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
) -> Result<Json<ComparisonAnswer>, ApiError> {
    let one = ExecutionId::from(query.execution_id);
    let other = query.other_execution_id.map_or(one, ExecutionId::from);
    let before = picture(&state, one, cutoff_of("from", query.from.as_deref())?).await?;
    let after = picture(&state, other, cutoff_of("to", query.to.as_deref())?).await?;
    let difference = difference(&before.document(), &after.document());
    let side = |execution: ExecutionId, picture: &Picture| Side {
        execution_id: execution.0,
        event_count: picture.event_count(),
    };
    Ok(Json(ComparisonAnswer {
        from: side(one, &before),
        to: side(other, &after),
        text: difference.changes.iter().map(|change| format!("{change}\n")).collect(),
        difference,
    }))
}

async fn picture(
    state: &AppState,
    execution: ExecutionId,
    cutoff: Cutoff,
) -> Result<Picture, ApiError> {
    known(state, execution).await?;
    let mut picture = Picture::new(execution);
    read_log(state, execution, |recorded| {
        if !cutoff.admits(recorded) {
            return Ok(Wanted::Enough);
        }
        picture.see(recorded).map_err(|error| ApiError::internal(&error))?;
        Ok(Wanted::More)
    })
    .await?;
    Ok(picture)
}
