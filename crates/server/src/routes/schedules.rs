//! Schedules: show, pause, resume and backfill.

use axum::Json;
use axum::extract::State;
use noetl_api::wire::{
    Backfill, Backfilled, BackfilledInstant, ScheduleChoice, ScheduleEventView, ScheduleEvents,
    ScheduleInstants, ScheduleList, ScheduleView,
};
use noetl_control::{Fired, ScheduleAction, ScheduleError};
use noetl_model::{PassReason, ScheduleEvent, Seq, Timestamp};
use noetl_store::{ScheduleRecord, ScheduleRow};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::InQuery;
use crate::state::AppState;
use crate::strict::StrictBody;

/// Default numbers of instants and events shown.
const INSTANTS: usize = 10;
const EVENTS: usize = 100;
/// Maximum number of instants or events shown.
const SHOWN_MAX: usize = 1000;

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
    let schedules = state.control().schedules().await?;
    Ok(Json(ScheduleList { schedules: schedules.into_iter().map(view).collect() }))
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
    Ok(Json(view(state.control().schedule(&query.path).await?)))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// The schedule's path.
    path: String,
    /// List events before this seq.
    before: Option<u64>,
    limit: Option<usize>,
}

/// Lists the events of a schedule, newest first.
#[utoipa::path(
    get, path = "/api/schedules/events", tag = "schedules", params(EventsQuery),
    responses((status = 200, body = ScheduleEvents))
)]
async fn schedule_events(
    State(state): State<AppState>,
    InQuery(query): InQuery<EventsQuery>,
) -> Result<Json<ScheduleEvents>, ApiError> {
    state.control().schedule(&query.path).await?;
    let limit = query.limit.unwrap_or(EVENTS).min(SHOWN_MAX);
    let before = query.before.map(Seq);
    let records = state.store().schedule_events(&query.path, before, limit).await?;
    Ok(Json(ScheduleEvents { events: records.into_iter().map(event_view).collect() }))
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
    let document = state.control().schedule_document(&query.path).await?;
    let mut reached = match &query.after {
        Some(text) => instant_of(text)?,
        None => state.now(),
    };
    let limit = query.limit.unwrap_or(INSTANTS).min(SHOWN_MAX);
    let mut instants = Vec::new();
    while instants.len() < limit
        && let Some(next) = document.next_after(reached)
    {
        instants.push(next.to_string());
        reached = next;
    }
    Ok(Json(ScheduleInstants { instants }))
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
    let moved = state.control().move_schedule(&request.path, ScheduleAction::Pause).await?;
    Ok(Json(view(moved)))
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
    let moved = state.control().move_schedule(&request.path, ScheduleAction::Resume).await?;
    Ok(Json(view(moved)))
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
    let until = request.until.as_deref().map_or(Ok(state.now()), instant_of)?;
    let control = state.control();
    let instants = if request.dry_run {
        let instants = control.instants(&request.path, from, until).await?;
        instants.into_iter().map(|instant| (instant, None)).collect()
    } else {
        let fired = control.backfill(&request.path, from, until).await?;
        fired.into_iter().map(|(instant, fired)| (instant, Some(fired))).collect::<Vec<_>>()
    };
    let instants = instants.into_iter().map(|(instant, fired)| BackfilledInstant {
        instant: instant.to_string(),
        execution_id: fired.map(|fired: Fired| fired.execution().to_string()),
        started: match fired {
            Some(Fired::Now(_)) => true,
            Some(Fired::Before(_)) | None => false,
        },
    });
    Ok(Json(Backfilled { instants: instants.collect() }))
}

fn instant_of(text: &str) -> Result<Timestamp, ApiError> {
    let invalid =
        |error: noetl_model::ParseTimestampError| ApiError::invalid("bad-time", error.to_string());
    text.parse().map_err(invalid)
}

fn view(row: ScheduleRow) -> ScheduleView {
    let ScheduleRow { path, seq: _, standing, playbook, timing, next_at, updated_at } = row;
    let text = |at: Timestamp| at.to_string();
    ScheduleView {
        path,
        state: standing.state.to_string(),
        playbook,
        timing,
        next_at: next_at.map(text),
        last_instant: standing.last.map(|last| text(last.instant)),
        last_execution_id: standing.last.map(|last| last.execution.to_string()),
        queued_until: standing.queued.map(text),
        trouble: standing.trouble,
        updated_at: text(updated_at),
    }
}

fn event_view(record: ScheduleRecord) -> ScheduleEventView {
    ScheduleEventView {
        seq: record.seq.0,
        event_type: record.event.tag().to_owned(),
        created_at: record.at.to_string(),
        context: context_of(&record.event),
    }
}

fn context_of(event: &ScheduleEvent) -> Value {
    match event {
        ScheduleEvent::Registered { catalog_id } => json!({ "catalog_id": catalog_id.to_string() }),
        ScheduleEvent::Paused | ScheduleEvent::Resumed => json!({}),
        ScheduleEvent::Fired { instant, execution } => {
            json!({ "instant": instant.to_string(), "execution_id": execution.to_string() })
        }
        ScheduleEvent::Queued { instant } => json!({ "instant": instant.to_string() }),
        ScheduleEvent::Passed { until, reason } => {
            let (reason, error) = match reason {
                PassReason::Overlap => ("overlap", None),
                PassReason::Missed => ("missed", None),
                PassReason::Unstartable { error } => ("unstartable", Some(error)),
            };
            json!({ "until": until.to_string(), "reason": reason, "error": error })
        }
        ScheduleEvent::Backfilled { from, until, started } => {
            json!({ "from": from.to_string(), "until": until.to_string(), "started": started })
        }
        ScheduleEvent::Broken { reason } => json!({ "reason": reason }),
    }
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
