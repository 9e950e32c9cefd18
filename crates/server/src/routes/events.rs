//! Events posted by existing workers and other programs, in any known spelling.
//!
//! A tool's result ends its command; later or repeated events about the command are answered and
//! have no effect.

use std::borrow::Cow;

use axum::Json;
use axum::extract::State;
use noetl_compat::{
    BadFact, EventAccepted, EventBatch, EventBatchAccepted, EventMeaning, PostedEvent, PostedItem,
    Returned, UnknownToolStatus, command_named, completed, fact_of, failed, is_pending, issued_by,
    reference, returned, with_stored, without_stored,
};
use noetl_control::MailboxAnswer;
use noetl_model::{ExecutionId, Outcome, Report, ReportAnswer, WorkerId};
use serde_json::Value;
use tokio::time::Instant;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::results;
use crate::issued::{attempt_of, find_issued};
use crate::request::extract::Body;
use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum number of events per request.
const BATCH_MAX: usize = 1000;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(post_event)).routes(routes!(post_events))
}

/// Accepts an event of another program.
#[utoipa::path(
    post, path = "/api/events", tag = "workers", request_body = PostedEvent,
    responses((status = 200, body = EventAccepted))
)]
async fn post_event(
    State(state): State<AppState>,
    Body(PostedEvent { execution_id, item }): Body<PostedEvent>,
) -> Result<Json<EventAccepted>, ApiError> {
    let event_id = take(&state, execution_id.into(), item).await?;
    Ok(Json(EventAccepted { status: "ok", event_id, commands_generated: 0 }))
}

/// Accepts several events of one execution, in order. A refused event ends the request; the events
/// before it are stored, and the whole request may be sent again.
#[utoipa::path(
    post, path = "/api/events/batch", tag = "workers", request_body = EventBatch,
    responses((status = 200, body = EventBatchAccepted))
)]
async fn post_events(
    State(state): State<AppState>,
    Body(batch): Body<EventBatch>,
) -> Result<Json<EventBatchAccepted>, ApiError> {
    if batch.events.len() > BATCH_MAX {
        let detail = format!("a batch has at most {BATCH_MAX} events");
        return Err(ApiError::invalid("batch-size", detail));
    }
    let mut event_ids = Vec::with_capacity(batch.events.len());
    for item in batch.events {
        let worker_id = item.worker_id.or_else(|| batch.worker_id.clone());
        let item = PostedItem { worker_id, ..item };
        event_ids.push(take(&state, batch.execution_id.into(), item).await?);
    }
    Ok(Json(EventBatchAccepted { status: "ok", event_ids, commands_generated: 0 }))
}

/// Processes an event; returns its id.
async fn take(state: &AppState, execution: ExecutionId, item: PostedItem) -> Result<i64, ApiError> {
    let (name, begun) = (item.event_type.clone(), Instant::now());
    let taken = take_measured(state, execution, item).await;
    state.meters().event(&name, taken.is_ok(), begun.elapsed());
    taken
}

async fn take_measured(
    state: &AppState,
    execution: ExecutionId,
    item: PostedItem,
) -> Result<i64, ApiError> {
    let event_id = item.event_id.map_or_else(|| state.next_id(), |id| id.0);
    match EventMeaning::of(&item.event_type) {
        EventMeaning::Working => working(state, &item).await?,
        EventMeaning::ToolReturned => {
            let context = whole(state, &item.context).await?;
            match returned(&context).map_err(unknown_status)? {
                Returned::Ended { outcome, logs } => {
                    report(state, execution, &item, outcome, logs).await?;
                }
                Returned::Pending => {}
            }
        }
        EventMeaning::CommandFailed => {
            report(state, execution, &item, failed(&item.context), Default::default()).await?;
        }
        EventMeaning::CommandCompleted => {
            let outcome =
                completed(&item.context, item.status.as_deref()).map_err(unknown_status)?;
            report(state, execution, &item, outcome, Default::default()).await?;
        }
        EventMeaning::Reserved => {
            let detail = format!("`{}` is written by the control plane only", item.event_type);
            return Err(ApiError::invalid("reserved-event", detail));
        }
        EventMeaning::Fact => record(state, execution, item, event_id).await?,
    }
    Ok(event_id)
}

/// Replaces a reference to a stored result in a worker's event by the result.
async fn whole<'a>(state: &AppState, context: &'a Value) -> Result<Cow<'a, Value>, ApiError> {
    let Some(text) = reference(context) else { return Ok(Cow::Borrowed(context)) };
    let Ok(named) = text.parse() else { return Ok(Cow::Borrowed(context)) };
    Ok(Cow::Owned(match results::stored(state, &named).await? {
        Some(value) => with_stored(context, &value),
        None => without_stored(context, text),
    }))
}

/// Renews the leases of a worker that reports progress.
async fn working(state: &AppState, item: &PostedItem) -> Result<(), ApiError> {
    if let Some(worker) = &item.worker_id {
        state.store().renew(&WorkerId::new(worker), state.settings().lease).await?;
    }
    Ok(())
}

/// Ends a command with the outcome that its worker reports.
async fn report(
    state: &AppState,
    execution: ExecutionId,
    item: &PostedItem,
    outcome: Outcome,
    logs: noetl_model::Logs,
) -> Result<(), ApiError> {
    let named = command_named(item)
        .ok_or_else(|| ApiError::invalid("no-command", "`context.command_id` names no command"))?;
    let event = issued_by(named).ok_or_else(|| {
        ApiError::invalid("no-command", format!("`{named}` is not the id of a command"))
    })?;
    let issued = find_issued(state, event).await?;
    if issued.execution != execution {
        let detail = format!("`{named}` is no command of execution {execution}");
        return Err(ApiError::invalid("no-command", detail));
    }
    let worker = item.worker_id.as_ref().map(WorkerId::new);
    let known = worker.as_ref().and_then(|it| Some((state.seen().attempt(event, it)?, it.clone())));
    let (attempt, worker) = match known {
        Some(known) => known,
        None => {
            let claimed = attempt_of(state, &issued, worker.as_ref()).await?;
            claimed.ok_or_else(|| {
                ApiError::conflict("not-claimed", "this worker has not claimed the command")
            })?
        }
    };
    if is_pending(&issued, &outcome) {
        return Ok(());
    }
    let command = issued.command;
    let report = Report { execution, command, attempt, worker, outcome, logs, next: None };
    match state.control().report(report).await? {
        ReportAnswer::Accepted | ReportAnswer::Continued(_) => Ok(()),
        ReportAnswer::Superseded => Err(ApiError::conflict(
            "superseded",
            "another worker has taken this command over, or it was cancelled",
        )),
        ReportAnswer::Unknown => {
            Err(ApiError::not_found("unknown-command", format!("there is no command {named}")))
        }
        ReportAnswer::Refused { reason } => Err(ApiError::invalid("report-refused", reason)),
    }
}

/// Records an event that has no further effect.
async fn record(
    state: &AppState,
    execution: ExecutionId,
    item: PostedItem,
    event_id: i64,
) -> Result<(), ApiError> {
    let is_numbered = item.event_id.is_some();
    let input = fact_of(item, event_id).map_err(bad_fact)?;
    let rewinds = state.control().rewinds();
    if is_numbered && state.seen().was_posted(execution, event_id, rewinds) {
        return Ok(());
    }
    match state.control().submit(execution, input).await? {
        MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_) => {}
        MailboxAnswer::Refused(refusal) => return Err(refusal.into()),
    }
    state.seen().posted(execution, event_id, rewinds);
    Ok(())
}

fn unknown_status(error: UnknownToolStatus) -> ApiError {
    ApiError::invalid("unknown-status", error.to_string())
}

fn bad_fact(error: BadFact) -> ApiError {
    let code = match error {
        BadFact::Name => "event-name",
        BadFact::TooDeep => "payload-too-large",
    };
    ApiError::invalid(code, error.to_string())
}
