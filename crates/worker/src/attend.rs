//! Background tasks of a worker: heartbeats, notices about itself, and cancellations.

use std::sync::Arc;
use std::time::Duration;

use noetl_api::{Cancellation, ControlPlane, WorkerNotice};
use noetl_model::{HeartbeatAnswer, WorkerId};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::MissedTickBehavior;

use crate::holding::HeldCommands;

/// Extends all leases in one call per `interval`, forever.
pub(crate) async fn heartbeat(
    control: Arc<dyn ControlPlane>,
    worker: WorkerId,
    holding: Arc<HeldCommands>,
    interval: Duration,
) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let held = holding.all();
        if held.is_empty() {
            continue;
        }
        let answers = match control.heartbeat(&worker, &held).await {
            Ok(answers) => answers,
            Err(error) => {
                tracing::warn!(%error, held = held.len(), "heartbeat failed");
                continue;
            }
        };
        for (held, answer) in held.iter().zip(answers) {
            match answer {
                HeartbeatAnswer::Extended { until: _ } => {}
                HeartbeatAnswer::Lost(reason) => {
                    tracing::info!(?held, ?reason, "command lost");
                    holding.lose(held);
                }
            }
        }
    }
}

/// Sends the notice about a worker to the control plane once per `interval`, forever.
pub(crate) async fn announce(
    control: Arc<dyn ControlPlane>,
    notice: WorkerNotice,
    interval: Duration,
) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // Not fatal: the notice only lists the worker.
        if let Err(error) = control.announce(&notice).await {
            tracing::debug!(%error, "cannot register the worker in the list of workers");
        }
    }
}

/// Stops commands as soon as they are cancelled. A missed cancellation is found by the next
/// heartbeat.
pub(crate) async fn watch_cancellations(
    mut cancellations: broadcast::Receiver<Cancellation>,
    holding: Arc<HeldCommands>,
) {
    loop {
        match cancellations.recv().await {
            Ok(cancelled) => holding.lose_cancelled(cancelled),
            Err(RecvError::Lagged(missed)) => tracing::debug!(missed, "cancellations missed"),
            Err(RecvError::Closed) => return,
        }
    }
}
