//! Callbacks of jobs that run elsewhere, such as containers.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_compat::{Callback, CallbackAnswer};
use noetl_control::LoadError;
use noetl_engine::HolderStatus;
use noetl_model::{CommandId, Cutoff, Event, ExecutionId, Logs, Report, ReportAnswer, Seq};
use noetl_store::READ_EVENTS_MAX;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::request::extract::{Body, InPath};
use crate::response::error::ApiError;
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(take_callback))
}

/// Records the end of a job; idempotent.
#[utoipa::path(
    post, path = "/api/internal/container-callback/{execution_id}/{step}", tag = "internal",
    params(("execution_id" = String, Path), ("step" = String, Path)), request_body = Callback,
    responses((status = 202, body = CallbackAnswer))
)]
async fn take_callback(
    State(state): State<AppState>,
    InPath((id, step)): InPath<(AnyId, String)>,
    Body(callback): Body<Callback>,
) -> Result<(StatusCode, Json<CallbackAnswer>), ApiError> {
    let execution = ExecutionId::from(id);
    let answer = told(&state, execution, &step, &callback).await?;
    let stale = matches!(answer, CallbackAnswer::AcceptedStale);
    state.meters().callback(callback.state.name(), stale);
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

async fn told(
    state: &AppState,
    execution: ExecutionId,
    step: &str,
    callback: &Callback,
) -> Result<CallbackAnswer, ApiError> {
    let folded = match state.control().state(execution, Cutoff::Latest).await {
        Ok(folded) => folded,
        Err(LoadError::NotFound(_)) => return Ok(CallbackAnswer::AcceptedStale),
        Err(
            error @ (LoadError::Unavailable(_)
            | LoadError::Rewound { .. }
            | LoadError::Corrupt { .. }),
        ) => return Err(error.into()),
    };
    let held = noetl_engine::held_at(&folded, step).into_iter().next();
    let Some((command, HolderStatus::Worker { worker, attempt, .. })) = held else {
        return Ok(CallbackAnswer::AcceptedStale);
    };
    let (outcome, logs) = (callback.outcome(), Logs::default());
    let report = Report { execution, command, attempt, worker, outcome, logs, next: None };
    match state.control().report(report).await? {
        ReportAnswer::Accepted | ReportAnswer::Continued(_) => {}
        ReportAnswer::Superseded | ReportAnswer::Unknown => {
            return Ok(CallbackAnswer::AcceptedStale);
        }
        ReportAnswer::Refused { reason } => {
            return Err(ApiError::invalid("report-refused", reason));
        }
    }
    let event_id = end_of(state, execution, folded.seq(), command).await?;
    Ok(CallbackAnswer::AcceptedInFlight { event_id })
}

/// Finds the event after `after` that ended a command.
async fn end_of(
    state: &AppState,
    execution: ExecutionId,
    mut after: Seq,
    ended: CommandId,
) -> Result<String, ApiError> {
    loop {
        let page = state.control().events(execution, after, READ_EVENTS_MAX).await?;
        let end = page.iter().find(|recorded| {
            matches!(
                &recorded.event,
                Event::CommandCompleted { command, .. } | Event::CommandFailed { command, .. }
                    if *command == ended
            )
        });
        match (end, page.last()) {
            (Some(end), _) => return Ok(end.event_id.to_string()),
            (None, Some(last)) => after = last.seq,
            // The end was reported before, so the log has been trimmed meanwhile.
            (None, None) => return Err(LoadError::NotFound(execution).into()),
        }
    }
}
