//! Callbacks of jobs that run elsewhere, such as containers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use noetl_api::AnyId;
use noetl_control::{LoadError, ReportAnswer};
use noetl_engine::Possession;
use noetl_model::{
    CommandId, Cutoff, ErrorKind, Event, ExecutionId, Logs, Outcome, Report, Seq, ToolError,
};
use noetl_store::READ_EVENTS_MAX;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, InPath};
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(take_callback))
}

/// The final state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum JobState {
    Succeeded,
    Failed,
    FailedImagePull,
    FailedOom,
    FailedNodeLost,
    FailedTimeout,
}

impl JobState {
    fn name(self) -> &'static str {
        match self {
            JobState::Succeeded => "succeeded",
            JobState::Failed => "failed",
            JobState::FailedImagePull => "failed_image_pull",
            JobState::FailedOom => "failed_oom",
            JobState::FailedNodeLost => "failed_node_lost",
            JobState::FailedTimeout => "failed_timeout",
        }
    }

    /// Returns the kind of error of a failed job.
    fn error(self) -> Option<ErrorKind> {
        match self {
            JobState::Succeeded => None,
            JobState::Failed | JobState::FailedOom => Some(ErrorKind::Exception),
            JobState::FailedImagePull => Some(ErrorKind::Config),
            JobState::FailedNodeLost => Some(ErrorKind::WorkerLost),
            JobState::FailedTimeout => Some(ErrorKind::Timeout),
        }
    }
}

/// A job watcher's report of a job's end.
#[derive(Debug, Clone, Deserialize, ToSchema)]
struct Callback {
    state: JobState,
    job_name: String,
    #[serde(default)]
    job_uid: Option<String>,
    #[serde(default)]
    completed_at: Option<String>,
    #[serde(default)]
    exit_code: Option<i64>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    stdout_uri: Option<String>,
    #[serde(default)]
    stderr_uri: Option<String>,
}

impl Callback {
    fn outcome(&self) -> Outcome {
        let output = json!({
            "terminal_state": self.state.name(),
            "job_name": self.job_name,
            "job_uid": self.job_uid,
            "completed_at": self.completed_at,
            "exit_code": self.exit_code,
            "reason": self.reason,
            "stdout_uri": self.stdout_uri,
            "stderr_uri": self.stderr_uri,
        });
        let Some(kind) = self.state.error() else { return Outcome::completed(output) };
        let reason = self.reason.as_deref().unwrap_or("no reason given");
        let message = format!("job {} ended as {}: {reason}", self.job_name, self.state.name());
        Outcome::Failed { error: ToolError::new(kind, message), output: Some(Arc::new(output)) }
    }
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
enum CallbackAnswer {
    /// A step was waiting for the job and continues.
    AcceptedInFlight { event_id: String },
    /// No step waits for the job: it was reported before, or the execution has ended or is unknown.
    AcceptedStale,
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
    let Some((command, Possession::Worker { worker, attempt, .. })) = held else {
        return Ok(CallbackAnswer::AcceptedStale);
    };
    let (outcome, logs) = (callback.outcome(), Logs::default());
    let report = Report { execution, command, attempt, worker, outcome, logs, next: None };
    match state.control().report(report).await? {
        ReportAnswer::Accepted | ReportAnswer::Continued(_) => {}
        ReportAnswer::Superseded | ReportAnswer::Unknown => {
            return Ok(CallbackAnswer::AcceptedStale);
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
