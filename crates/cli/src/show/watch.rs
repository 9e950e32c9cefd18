//! Watches executions until they have ended or the user interrupts.

use anyhow::Context as _;
use noetl_model::{ChildExecutions, Recorded, Summary};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::backend::{Backend, Follower};
use crate::show::failure::Failure;
use crate::show::overview::Overview;
use crate::show::progress::LiveProgress;

/// The most events buffered for display.
const EVENTS_MAX: usize = 256;

/// The reason why watching ended.
pub(crate) enum Watched {
    Ended(Vec<Overview>),
    /// The user pressed Ctrl-C a second time: do not wait for the cancellation.
    Aborted,
    /// The process was told to stop; the executions can be resumed.
    Stopped,
}

/// The request of the user or the system while watching.
enum WatchRequest {
    Cancel,
    Stop,
}

/// The signals that this process listens to.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(crate) fn new() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).context("cannot listen to signals");
        let interrupt = listen(SignalKind::interrupt()).map_err(Failure::broken)?;
        let terminate = listen(SignalKind::terminate()).map_err(Failure::broken)?;
        Ok(Self { interrupt, terminate })
    }

    /// Waits for any of the signals.
    pub(crate) async fn any(&mut self) {
        self.next().await;
    }

    async fn next(&mut self) -> WatchRequest {
        tokio::select! {
            _ = self.interrupt.recv() => WatchRequest::Cancel,
            _ = self.terminate.recv() => WatchRequest::Stop,
        }
    }
}

type WatchedState = (usize, Result<Recorded, Failure>);

/// Watches executions until all have ended. The first Ctrl-C cancels them.
pub(crate) async fn watch(
    backend: &dyn Backend,
    executions: &[Summary],
    signals: &mut Signals,
    progress: &mut LiveProgress,
) -> Result<Watched, Failure> {
    let mut overviews: Vec<Overview> = executions.iter().map(Overview::of).collect();
    let (sender, mut events) = mpsc::channel(EVENTS_MAX);
    let mut followers = JoinSet::new();
    for (index, summary) in executions.iter().enumerate() {
        followers.spawn(forward(index, backend.follow(summary.execution), sender.clone()));
    }
    let mut is_cancelling = false;
    while overviews.iter().any(|overview| !overview.status().is_terminal()) {
        tokio::select! {
            Some((index, recorded)) = events.recv() => {
                let recorded = recorded?;
                let change = overviews[index].see(&recorded);
                progress.show(&overviews[index], change, recorded.at);
            }
            wish = signals.next() => match wish {
                WatchRequest::Stop => return Ok(Watched::Stopped),
                WatchRequest::Cancel if is_cancelling => return Ok(Watched::Aborted),
                WatchRequest::Cancel => {
                    is_cancelling = true;
                    progress.say("cancelling; Ctrl-C again ends at once");
                    cancel_all(backend, &overviews).await;
                }
            }
        }
    }
    Ok(Watched::Ended(overviews))
}

/// Forwards the events of an execution until the receiver is gone.
async fn forward(index: usize, mut follow: Follower, sender: mpsc::Sender<WatchedState>) {
    loop {
        let recorded = follow.next().await;
        let is_last = recorded.is_err();
        if sender.send((index, recorded)).await.is_err() || is_last {
            return;
        }
    }
}

async fn cancel_all(backend: &dyn Backend, overviews: &[Overview]) {
    for overview in overviews {
        if overview.status().is_terminal() {
            continue;
        }
        let reason = "cancelled by Ctrl-C";
        if let Err(failure) =
            backend.cancel(overview.execution, reason, ChildExecutions::Cancelled).await
        {
            // An execution that has just ended cannot be cancelled; any other problem shows in its
            // events.
            tracing::warn!(execution = %overview.execution, ?failure, "not cancelled");
        }
    }
}
