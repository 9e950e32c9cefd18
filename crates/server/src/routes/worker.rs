//! The native worker protocol: leases, heartbeats and reports, many at a time.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::response::sse::{Event as SentEvent, KeepAlive, Sse};
use axum::{Extension, Json};
use futures::stream::{self, Stream};
use noetl_api::wire::{
    HeartbeatCall, HeartbeatReply, LeaseCall, LeaseReply, LogsCall, LogsReply, ReleaseCall,
    ReleaseReply, ReportCall, ReportReply, WorkerTokenCall, WorkerTokenReply,
};
use noetl_api::{Cancellation, LeaseRequest};
use noetl_app::{LeaseVerification, WORKER_TOKEN_VALID};
use noetl_bus::{Hint, HintReceiver};
use noetl_model::{Digest, Held, PAYLOAD_MAX};
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::commands::worker_of;
use crate::access::{Admitted, KnownToken};
use crate::request::command_holder::CommandHolderOrReader;
use crate::request::extract::{Body, InPath, Raw, json};
use crate::request::worker_sender::WorkerSender;
use crate::response::error::ApiError;
use crate::state::AppState;

/// Maximum length of a worker's name, in bytes.
const WORKER_BYTES_MAX: usize = 500;
/// Maximum number of commands leased per request.
const LEASES_MAX: usize = 256;
/// Maximum time a request waits for commands.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// Maximum number of commands per heartbeat.
const HELD_MAX: usize = 10_000;
/// Maximum number of reports per request.
const REPORTS_MAX: usize = 1000;
/// Maximum size of a request with reports, in bytes: the largest output, and its envelope.
pub(super) const REPORT_BYTES_MAX: usize = PAYLOAD_MAX + 1024 * 1024;
/// Maximum number of attempts per request with output of tools.
const LOG_BATCHES_MAX: usize = 1024;
/// Size in bytes above which a request with reports needs a permit.
const REPORT_SMALL_MAX: usize = 64 * 1024;
/// The route that takes reports.
pub(super) const REPORT: &str = "/api/worker/report";
/// Interval of keep-alive messages on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> OpenApiRouter<AppState> {
    let large = OpenApiRouter::new()
        .routes(routes!(report_commands))
        .layer(DefaultBodyLimit::max(REPORT_BYTES_MAX));
    OpenApiRouter::new()
        .routes(routes!(enrol_worker))
        .routes(routes!(lease_commands))
        .routes(routes!(extend_leases))
        .routes(routes!(store_logs))
        .routes(routes!(fetch_payload))
        .routes(routes!(release_commands))
        .routes(routes!(follow_cancellations))
        .merge(large)
}

/// Issues a token that is valid for 15 minutes and only permits to work, as this worker in this pool.
/// The worker enrols, and renews its token, with a token of scope `work`; the worker's token is refused
/// once that one is revoked.
#[utoipa::path(
    post, path = "/api/worker/token", tag = "workers", request_body = WorkerTokenCall,
    responses((status = 200, body = WorkerTokenReply))
)]
async fn enrol_worker(
    State(state): State<AppState>,
    Extension(admitted): Extension<Admitted>,
    Body(WorkerTokenCall { worker, pool }): Body<WorkerTokenCall>,
) -> Result<Json<WorkerTokenReply>, ApiError> {
    let worker = worker_of(worker.as_str())?;
    if worker.as_str().len() > WORKER_BYTES_MAX {
        let detail = format!("the name of a worker has at most {WORKER_BYTES_MAX} bytes");
        return Err(ApiError::invalid("worker-name", detail));
    }
    let enrolment = admitted.token.as_ref().and_then(KnownToken::enrolment).ok_or_else(|| {
        let detail = "a worker enrols with a token of scope `work`, not with its own or with none";
        ApiError::new(StatusCode::FORBIDDEN, "no-enrolment-token", detail)
    })?;
    let (token, claims) = state.app().issue_worker_token(worker, pool, enrolment);
    Ok(Json(WorkerTokenReply {
        token,
        expires_at: claims.expires_at.to_string(),
        expires_in_seconds: WORKER_TOKEN_VALID.as_secs(),
    }))
}

/// Leases commands. Answers as soon as there is one, or with none after a while.
#[utoipa::path(
    post, path = "/api/worker/lease", tag = "workers", request_body = LeaseCall,
    responses((status = 200, body = LeaseReply))
)]
async fn lease_commands(
    State(state): State<AppState>,
    sender: WorkerSender,
    Body(call): Body<LeaseCall>,
) -> Result<Json<LeaseReply>, ApiError> {
    let LeaseCall { worker, pool, scope, max, wait_ms } = call;
    sender.check_worker(worker.as_str())?;
    sender.check_pool(&pool)?;
    let wait = Duration::from_millis(wait_ms).min(WAIT_MAX);
    state.app().pool_asked_for(&pool);
    let request = LeaseRequest { worker, pool, scope, max: max.min(LEASES_MAX), wait };
    let leases = tokio::select! {
        leases = state.app().lease_commands(request) => leases?,
        // The worker asks another server instead. A claim in progress is freed when its lease
        // expires.
        () = state.draining().cancelled() => Vec::new(),
    };
    Ok(Json(LeaseReply { leases }))
}

/// Extends the leases of a worker's commands.
#[utoipa::path(
    post, path = "/api/worker/heartbeat", tag = "workers", request_body = HeartbeatCall,
    responses((status = 200, body = HeartbeatReply))
)]
async fn extend_leases(
    State(state): State<AppState>,
    sender: WorkerSender,
    Body(HeartbeatCall { worker, held, proofs }): Body<HeartbeatCall>,
) -> Result<Json<HeartbeatReply>, ApiError> {
    bounded(held.len(), HELD_MAX)?;
    sender.check_worker(worker.as_str())?;
    let (verification, of_worker) = (sender.lease_verification(&state), held.iter());
    let claimed = of_worker.map(|held| (*held, Some(&worker)));
    state.app().check_proofs(claimed, &proofs, verification)?;
    Ok(Json(HeartbeatReply { answers: state.app().extend_leases(&held).await? }))
}

/// Frees the unfinished commands of a worker that ends.
#[utoipa::path(
    post, path = "/api/worker/release", tag = "workers", request_body = ReleaseCall,
    responses((status = 200, body = ReleaseReply))
)]
async fn release_commands(
    State(state): State<AppState>,
    sender: WorkerSender,
    Body(ReleaseCall { worker, proofs }): Body<ReleaseCall>,
) -> Result<Json<ReleaseReply>, ApiError> {
    sender.check_worker(worker.as_str())?;
    let app = state.app();
    let verification = sender.lease_verification(&state);
    let held = proofs.iter().map(|proof| (proof.held, Some(&worker)));
    app.check_proofs(held, &proofs, verification)?;
    // A worker that was never given a secret holds nothing.
    match (verification, proofs.is_empty()) {
        (LeaseVerification::Required, true) => return Ok(Json(ReleaseReply { released: 0 })),
        (LeaseVerification::Required, false) | (LeaseVerification::Optional, _) => {}
    }
    let released = state.app().release_worker(&worker).await?;
    Ok(Json(ReleaseReply { released }))
}

/// Records the results of commands; answers once they are durable.
#[utoipa::path(
    post, path = "/api/worker/report", tag = "workers", request_body = ReportCall,
    responses((status = 200, body = ReportReply))
)]
async fn report_commands(
    State(state): State<AppState>,
    sender: WorkerSender,
    Raw(body): Raw,
) -> Result<Json<ReportReply>, ApiError> {
    let is_large = REPORT_SMALL_MAX < body.len();
    let _admitted = if is_large { Some(state.large_report().await) } else { None };
    let ReportCall { reports, proofs } = json(&body)?;
    drop(body);
    bounded(reports.len(), REPORTS_MAX)?;
    for report in &reports {
        sender.check_worker(report.worker.as_str())?;
        report.next.iter().try_for_each(|pool| sender.check_pool(pool))?;
    }
    let held = reports.iter().map(|report| (Held::from(report), Some(&report.worker)));
    state.app().check_proofs(held, &proofs, sender.lease_verification(&state))?;
    Ok(Json(ReportReply { answers: state.app().report_commands(reports).await? }))
}

/// Stores output of running tools. Chunks that are stored already are skipped; chunks of a superseded
/// attempt are kept and marked.
#[utoipa::path(
    post, path = "/api/worker/logs", tag = "workers", request_body = LogsCall,
    responses((status = 200, body = LogsReply))
)]
async fn store_logs(
    State(state): State<AppState>,
    sender: WorkerSender,
    Body(LogsCall { batches, proofs }): Body<LogsCall>,
) -> Result<Json<LogsReply>, ApiError> {
    bounded(batches.len(), LOG_BATCHES_MAX)?;
    proofs.iter().try_for_each(|proof| sender.check_worker(proof.worker.as_str()))?;
    let held = batches.iter().map(|batch| (batch.source.held(), None));
    state.app().check_proofs(held, &proofs, sender.lease_verification(&state))?;
    Ok(Json(LogsReply { answers: state.app().store_logs(&batches).await? }))
}

fn bounded(count: usize, max: usize) -> Result<(), ApiError> {
    if count <= max {
        return Ok(());
    }
    Err(ApiError::invalid("batch-size", format!("at most {max} at a time, not {count}")))
}

/// Loads a payload that is too large for a lease or an event.
#[utoipa::path(
    get, path = "/api/payloads/{digest}", tag = "workers",
    params(("digest" = String, Path)), responses((status = 200, body = Object))
)]
async fn fetch_payload(
    State(state): State<AppState>,
    sender: CommandHolderOrReader,
    InPath(digest): InPath<Digest>,
) -> Result<impl IntoResponse, ApiError> {
    sender.check_named(&state, &digest.to_string()).await?;
    // Sent as stored, without parsing.
    let bytes = state.control().payload_bytes(digest).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], bytes))
}

/// Streams cancellations of commands from the time of the request on. Missed ones are reported by
/// the next heartbeat.
#[utoipa::path(
    get, path = "/api/worker/cancellations", tag = "workers",
    responses((status = 200, content_type = "text/event-stream", body = String))
)]
async fn follow_cancellations(
    State(state): State<AppState>,
) -> Sse<impl Stream<Item = Result<SentEvent, Infallible>>> {
    let (hints, draining) = (state.bus().subscribe(), state.draining().clone());
    let sent = stream::unfold((hints, draining), |(mut hints, draining)| async move {
        let cancelled = next_cancellation(&mut hints, &draining).await?;
        let sent = SentEvent::default().json_data(cancelled).expect("ids are JSON");
        Some((Ok(sent), (hints, draining)))
    });
    Sse::new(sent).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

async fn next_cancellation(
    hints: &mut HintReceiver,
    draining: &CancellationToken,
) -> Option<Cancellation> {
    loop {
        let hint = tokio::select! {
            hint = hints.next() => hint,
            () = draining.cancelled() => return None,
        };
        match hint {
            Hint::CommandCancelled { execution, command } => {
                return Some(Cancellation { execution, command });
            }
            Hint::CommandReady { .. } | Hint::ExecutionAdvanced { .. } | Hint::LookAgain => {}
        }
    }
}
