//! Callbacks of jobs that run elsewhere, such as containers.

use std::sync::Arc;

use noetl_model::{ErrorKind, Outcome, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

/// The final state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Succeeded,
    Failed,
    FailedImagePull,
    FailedOom,
    FailedNodeLost,
    FailedTimeout,
}

impl JobState {
    pub fn name(self) -> &'static str {
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
pub struct Callback {
    pub state: JobState,
    pub job_name: String,
    #[serde(default)]
    pub job_uid: Option<String>,
    #[serde(default)]
    pub completed_at: Option<String>,
    #[serde(default)]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub stdout_uri: Option<String>,
    #[serde(default)]
    pub stderr_uri: Option<String>,
    /// The command that started the job. Without it, the callback ends the first command of the
    /// step that waits; a loop has several.
    #[serde(default)]
    pub command_id: Option<String>,
}

impl Callback {
    /// Returns the identity of the job. Names can be used again, so a job without a uid has none.
    pub fn job(&self) -> Option<&str> {
        self.job_uid.as_deref().filter(|uid| !uid.is_empty())
    }

    /// Returns the outcome of the command that started the job.
    pub fn outcome(&self) -> Outcome {
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

/// The answer to a callback.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CallbackAnswer {
    /// A step was waiting for the job and continues.
    AcceptedInFlight { event_id: String },
    /// No step waits for the job: it was reported before, or the execution has ended or is unknown.
    AcceptedStale { reason: String },
}
