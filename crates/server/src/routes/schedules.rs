//! Schedules: show, pause, resume and backfill.

use axum::Json;
use axum::extract::State;
use noetl_api::wire::{
    Backfill, Backfilled, ScheduleChoice, ScheduleEvents, ScheduleInstants, ScheduleList,
    ScheduleView,
};
use noetl_app::BackfillMode;
use noetl_control::{ScheduleAction, ScheduleError};
use noetl_model::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::InQuery;
use crate::request::strict::StrictBody;
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_schedules))
        .routes(routes!(show_schedule))
        .routes(routes!(schedule_events))
        .routes(routes!(next_instants))
        .routes(routes!(pause_schedule))
        .routes(routes!(resume_schedule))
        .routes(routes!(backfill_schedule))
}

/// Lists all schedules by path.
#[utoipa::path(
    get, path = "/api/schedules", tag = "schedules", responses((status = 200, body = ScheduleList))
)]
async fn list_schedules(State(state): State<AppState>) -> Result<Json<ScheduleList>, ApiError> {
    Ok(Json(state.app().list_schedules().await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct PathQuery {
    /// The schedule's path.
    path: String,
}

/// Shows a schedule.
#[utoipa::path(
    get, path = "/api/schedules/at", tag = "schedules", params(PathQuery),
    responses((status = 200, body = ScheduleView))
)]
async fn show_schedule(
    State(state): State<AppState>,
    InQuery(query): InQuery<PathQuery>,
) -> Result<Json<ScheduleView>, ApiError> {
    Ok(Json(state.app().schedule(&query.path).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ScheduleEventsQuery {
    /// The schedule's path.
    path: String,
    /// List events before this seq.
    before: Option<u64>,
    limit: Option<usize>,
}

/// Lists the events of a schedule, newest first.
#[utoipa::path(
    get, path = "/api/schedules/events", tag = "schedules", params(ScheduleEventsQuery),
    responses((status = 200, body = ScheduleEvents))
)]
async fn schedule_events(
    State(state): State<AppState>,
    InQuery(query): InQuery<ScheduleEventsQuery>,
) -> Result<Json<ScheduleEvents>, ApiError> {
    let ScheduleEventsQuery { path, before, limit } = query;
    Ok(Json(state.app().schedule_events(&path, before, limit).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct NextQuery {
    /// The schedule's path.
    path: String,
    /// List instants after this one; the current time if left out.
    after: Option<String>,
    limit: Option<usize>,
}

/// Lists the next instants of a schedule.
#[utoipa::path(
    get, path = "/api/schedules/next", tag = "schedules", params(NextQuery),
    responses((status = 200, body = ScheduleInstants))
)]
async fn next_instants(
    State(state): State<AppState>,
    InQuery(query): InQuery<NextQuery>,
) -> Result<Json<ScheduleInstants>, ApiError> {
    let after = query.after.as_deref().map(instant_of).transpose()?;
    Ok(Json(state.app().next_instants(&query.path, after, query.limit).await?))
}

/// Pauses a schedule; its instants are skipped until it is resumed.
#[utoipa::path(
    post, path = "/api/schedules/pause", tag = "schedules", request_body = ScheduleChoice,
    responses((status = 200, body = ScheduleView))
)]
async fn pause_schedule(
    State(state): State<AppState>,
    StrictBody(request): StrictBody<ScheduleChoice>,
) -> Result<Json<ScheduleView>, ApiError> {
    Ok(Json(state.app().move_schedule(&request.path, ScheduleAction::Pause).await?))
}

/// Resumes a schedule, starting with its next instant.
#[utoipa::path(
    post, path = "/api/schedules/resume", tag = "schedules", request_body = ScheduleChoice,
    responses((status = 200, body = ScheduleView))
)]
async fn resume_schedule(
    State(state): State<AppState>,
    StrictBody(request): StrictBody<ScheduleChoice>,
) -> Result<Json<ScheduleView>, ApiError> {
    Ok(Json(state.app().move_schedule(&request.path, ScheduleAction::Resume).await?))
}

/// Starts an execution for every instant of a time range that has none.
#[utoipa::path(
    post, path = "/api/schedules/backfill", tag = "schedules", request_body = Backfill,
    responses((status = 200, body = Backfilled))
)]
async fn backfill_schedule(
    State(state): State<AppState>,
    StrictBody(request): StrictBody<Backfill>,
) -> Result<Json<Backfilled>, ApiError> {
    let from = instant_of(&request.from)?;
    let until = request.until.as_deref().map(instant_of).transpose()?;
    let mode = if request.dry_run { BackfillMode::List } else { BackfillMode::Start };
    Ok(Json(state.app().backfill(&request.path, from, until, mode).await?))
}

fn instant_of(text: &str) -> Result<Timestamp, ApiError> {
    let invalid =
        |error: noetl_model::ParseTimestampError| ApiError::invalid("bad-time", error.to_string());
    text.parse().map_err(invalid)
}

impl From<ScheduleError> for ApiError {
    fn from(error: ScheduleError) -> Self {
        let detail = error.to_string();
        match error {
            ScheduleError::Unknown(_) => ApiError::not_found("unknown-schedule", detail),
            ScheduleError::TooMany => ApiError::invalid("too-many-instants", detail),
            ScheduleError::Ahead(_) => ApiError::invalid("time-ahead", detail),
            ScheduleError::Contended => {
                ApiError::new(axum::http::StatusCode::CONFLICT, "contended", detail)
            }
            ScheduleError::Damaged(problems) => ApiError::of_problems(&problems),
            ScheduleError::Start(error) => error.into(),
            ScheduleError::Store(error) => error.into(),
        }
    }
}
