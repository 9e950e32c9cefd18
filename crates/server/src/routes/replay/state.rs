//! The state of an execution at a cutoff.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use noetl_api::AnyId;
use noetl_app::{ReplayError, ReplayedProjections};
use noetl_compat::{
    DEFAULT_TENANT, Projection, REPLAY_EVENTS_MAX, ReplayRequest, ReplayState, ResolvedPayloads,
};
use noetl_model::{Cutoff, EventId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::InQuery;
use crate::response::error::ApiError;
use crate::response::large::large_json;
use crate::state::AppState;

/// Default number of events to fold.
const EVENTS: u64 = 10_000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(replay_state))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct StateQuery {
    execution_id: AnyId,
    tenant_id: Option<String>,
    organization_id: Option<String>,
    /// Replay up to this event. At most one of the three cutoffs may be given.
    as_of_event_id: Option<AnyId>,
    /// Replay up to this seq (1, 2, 3, …), or up to the event with this id.
    as_of_position: Option<AnyId>,
    /// Replay up to this time, in RFC 3339.
    as_of_time: Option<String>,
    /// `execution`, `stage`, `frame`, `command`, `business_object`, `loop` or `all`; projections
    /// that the chosen one refers to are included.
    projection: Option<String>,
    /// Maximum number of events to fold; if there are more, the answer has `truncated`.
    limit: Option<i64>,
    /// True to look up the referenced payloads and show their metadata.
    #[serde(default)]
    resolve_payloads: bool,
}

#[derive(Serialize)]
struct ResolvedReplay {
    #[serde(flatten)]
    state: ReplayState,
    #[serde(flatten)]
    resolved: ResolvedPayloads,
}

/// Replays an execution up to a cutoff and shows its projections with their checksums.
#[utoipa::path(
    get, path = "/api/replay/state", tag = "replay", params(StateQuery),
    responses(
        (status = 200, body = Object),
        (status = 400, description = "more than one cutoff"),
        (status = 503, description = "other large replays are being sent"),
    )
)]
async fn replay_state(
    State(state): State<AppState>,
    InQuery(query): InQuery<StateQuery>,
) -> Result<Response, ApiError> {
    let question = question_of(&query)?;
    let ReplayedProjections { state: replayed, permit } = state.app().replay(&question).await?;
    Ok(match query.resolve_payloads {
        // Flattening copies the whole answer, so it is avoided if nothing is added.
        false => large_json(replayed, permit),
        true => {
            let resolved = state.app().resolve_payloads(&replayed).await?;
            large_json(ResolvedReplay { state: replayed, resolved }, permit)
        }
    })
}

impl From<ReplayError> for ApiError {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Load(error) => error.into(),
            ReplayError::Busy { retry_after } => {
                let (status, detail) = (StatusCode::SERVICE_UNAVAILABLE, error.to_string());
                Self::later(status, "replays-busy", detail, retry_after)
            }
            ReplayError::Checksums(_) => Self::internal(&error),
        }
    }
}

fn question_of(query: &StateQuery) -> Result<ReplayRequest, ApiError> {
    let projection = query.projection.as_deref().map_or(Ok(Projection::All), str::parse);
    let projection =
        projection.map_err(|error| bad("unknown-projection", format!("`projection`: {error}")))?;
    let limit = u64::try_from(query.limit.unwrap_or(EVENTS.cast_signed())).unwrap_or(1);
    let named = |name: &Option<String>| name.as_deref().unwrap_or(DEFAULT_TENANT).to_owned();
    Ok(ReplayRequest {
        execution: query.execution_id.into(),
        tenant: named(&query.tenant_id),
        organization: named(&query.organization_id),
        cutoff: cutoff_of(query)?,
        projection,
        limit: limit.clamp(1, REPLAY_EVENTS_MAX),
    })
}

fn cutoff_of(query: &StateQuery) -> Result<Cutoff, ApiError> {
    match (query.as_of_event_id, query.as_of_position, query.as_of_time.as_deref()) {
        (None, None, None) => Ok(Cutoff::Latest),
        (Some(event), None, None) => Ok(Cutoff::Event(EventId(event.0))),
        (None, Some(position), None) => Ok(Cutoff::at_number(position.0)),
        (None, None, Some(time)) => time
            .parse::<Timestamp>()
            .map(Cutoff::Time)
            .map_err(|error| bad("invalid-cutoff", format!("`as_of_time`: {error}"))),
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => Err(bad(
            "several-cutoffs",
            "give one of `as_of_event_id`, `as_of_position` and `as_of_time`",
        )),
    }
}

fn bad(code: &'static str, detail: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, code, detail)
}
