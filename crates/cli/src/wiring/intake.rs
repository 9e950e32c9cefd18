//! Fetches messages inside a server: one intake runtime per active subscription.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use noetl_api::{Assignment, ControlError, IntakeControl};
use noetl_app::{Intake, IntakeError};
use noetl_control::SubscriptionError;
use noetl_model::{Arrival, ExecutionId, MessageOutcome, WorkerId};
use noetl_tools::PullSources;
use noetl_worker::{IntakeEnd, IntakeRuntime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Interval at which the active subscriptions are read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The intake interface of the control plane in this process.
pub(crate) struct LocalIntakeControl(pub(crate) Intake);

/// Converts an intake error for a runtime: retriable or refused.
fn refused(error: IntakeError) -> ControlError {
    match error {
        IntakeError::Unavailable(_)
        | IntakeError::Subscription(SubscriptionError::Store(_) | SubscriptionError::Contended) => {
            ControlError::unavailable(error)
        }
        IntakeError::Subscription(_) | IntakeError::Pushed { .. } | IntakeError::Closed { .. } => {
            ControlError::Refused { reason: error.to_string() }
        }
    }
}

#[async_trait]
impl IntakeControl for LocalIntakeControl {
    async fn attend(&self, runtime: &WorkerId, path: &str) -> Result<Assignment, ControlError> {
        self.0.attend(runtime, path).await.map_err(refused)
    }

    async fn take(
        &self,
        runtime: &WorkerId,
        subscription: ExecutionId,
        arrivals: Vec<Arrival>,
    ) -> Result<Vec<MessageOutcome>, ControlError> {
        self.0.take(runtime, subscription, arrivals).await.map_err(refused)
    }

    async fn leave(
        &self,
        runtime: &WorkerId,
        subscription: ExecutionId,
    ) -> Result<(), ControlError> {
        self.0.leave(runtime, subscription).await.map_err(refused)
    }
}

/// Runs the active subscriptions.
pub(crate) struct IntakeHost {
    pub(crate) intake: Intake,
    pub(crate) sources: Arc<dyn PullSources>,
    pub(crate) id: WorkerId,
}

impl IntakeHost {
    /// Runs the active subscriptions until `stop`; returns when all runtimes have ended.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let control: Arc<dyn IntakeControl> = Arc::new(LocalIntakeControl(self.intake.clone()));
        let mut running: BTreeMap<String, JoinHandle<IntakeEnd>> = BTreeMap::new();
        while !stop.is_cancelled() {
            running.retain(|_, runtime| !runtime.is_finished());
            match self.intake.active().await {
                Ok(paths) => {
                    for path in paths {
                        running.entry(path.clone()).or_insert_with(|| {
                            let runtime = IntakeRuntime {
                                control: control.clone(),
                                sources: self.sources.clone(),
                                id: self.id.clone(),
                                path,
                            };
                            let stop = stop.clone();
                            tokio::spawn(async move { runtime.run(stop).await })
                        });
                    }
                }
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, "cannot list active subscriptions; will retry");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                () = stop.cancelled() => {}
            }
        }
        for (path, runtime) in running {
            if runtime.await.is_err() {
                tracing::error!(path, "a pull runtime panicked");
            }
        }
    }
}
