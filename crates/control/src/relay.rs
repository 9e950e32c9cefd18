//! The relay: sends what is owed. At least once, so receivers take a repetition for what it is.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use noetl_bus::Hint;
use noetl_engine::{Ended, Input};
use noetl_model::{ErrorKind, ExecutionId, ExecutionStatus, Message, Payload, Pool, ToolError};
use noetl_store::{OutboxRow, StoreError};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::error::LoadError;
use crate::tasks::pause;
use crate::{Control, SubmitError};

/// How many messages are taken at once.
const RELAY_MAX: usize = 256;
/// After how long a message whose sender has died is taken again. Short, because a parent may wait
/// for it, and because sending it twice does no harm.
pub(crate) const VISIBILITY: Duration = Duration::from_secs(5);
/// How often a message is tried before it is left to the visibility timeout.
const TRIES_MAX: u32 = 5;
/// The first pause between tries; each further one is twice as long.
const TRY_PAUSE: Duration = Duration::from_millis(100);

impl Control {
    /// Sends messages as they are owed, until it is to stop.
    pub(crate) async fn relay_outbox(self, stop: CancellationToken) {
        let wakes = &self.parts.wakes;
        loop {
            let wait = match self.relay_owed().await {
                Ok(0) => self.parts.settings.poll,
                Ok(_) => Duration::ZERO,
                Err(error) => {
                    tracing::warn!(error = &error as &dyn std::error::Error, "outbox not relayed");
                    self.parts.settings.poll
                }
            };
            if !pause(&stop, &wakes.relay, wait).await {
                return;
            }
        }
    }

    /// Sends what is owed; the answer is how many messages there were.
    async fn relay_owed(&self) -> Result<usize, StoreError> {
        let rows = self.parts.store.take(RELAY_MAX, VISIBILITY).await?;
        let count = rows.len();
        let mut pools = BTreeSet::new();
        let sent = join_all(rows.into_iter().map(|row| {
            let id = row.id;
            if let Message::CommandReady { pool, .. } = &row.message {
                pools.insert(pool.clone());
            }
            async move { self.deliver(row).await.then_some(id) }
        }));
        let sent: Vec<i64> = sent.await.into_iter().flatten().collect();
        self.hint_ready(pools).await;
        if !sent.is_empty() {
            self.parts.store.sent(&sent).await?;
        }
        Ok(count)
    }

    async fn hint_ready(&self, pools: BTreeSet<Pool>) {
        for pool in pools {
            self.parts.bus.publish(Hint::CommandReady { pool }).await;
        }
    }

    /// Delivers a message; false if it is still owed.
    async fn deliver(&self, row: OutboxRow) -> bool {
        for attempt in 0..TRIES_MAX {
            match self.send(row.execution, &row.message).await {
                Ok(()) => return true,
                Err(error) if error.is_passing() => {
                    tokio::time::sleep(TRY_PAUSE * 2u32.pow(attempt)).await;
                }
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::error!(error, execution = %row.execution, id = row.id, "message undeliverable");
                    return false;
                }
            }
        }
        false
    }

    async fn send(&self, sender: ExecutionId, message: &Message) -> Result<(), SubmitError> {
        match message {
            // Told once for each pool, after the messages of all executions have been looked at.
            Message::CommandReady { .. } => Ok(()),
            Message::CommandCancelled { command } => {
                let (execution, command) = (sender, *command);
                self.parts.bus.publish(Hint::CommandCancelled { execution, command }).await;
                Ok(())
            }
            Message::ChildEnded { parent, command, status, output, error } => {
                let ended = ended(sender, *status, output, error.as_ref());
                let input = Input::ChildEnded { command: *command, ended };
                // Refused means that the parent knows, or no longer cares.
                known(self.submit(*parent, input).await.map(|_| ()))
            }
            Message::CancelChild { child, reason } => {
                known(self.cancel(*child, reason).await.map(|_| ()))
            }
        }
    }
}

/// A message to an execution that does not exist has nobody to reach.
fn known(delivered: Result<(), SubmitError>) -> Result<(), SubmitError> {
    match delivered {
        Err(SubmitError::Load(LoadError::NotFound(execution))) => {
            tracing::warn!(%execution, "message to an execution that does not exist");
            Ok(())
        }
        other => other,
    }
}

/// How a child's end looks to its parent.
fn ended(
    child: ExecutionId,
    status: ExecutionStatus,
    output: &Payload,
    error: Option<&ToolError>,
) -> Ended {
    match status {
        ExecutionStatus::Completed => Ended::Completed { output: output.clone() },
        ExecutionStatus::Failed | ExecutionStatus::Cancelled | ExecutionStatus::Running => {
            let message = match error {
                // The child's own child is to blame, and has been named.
                Some(error) if error.kind == ErrorKind::Child => error.message.clone(),
                Some(error) => format!("child execution {child} ended as {status}: {error}"),
                None => format!("child execution {child} ended as {status}"),
            };
            let details = json!({ "execution_id": child.to_string(), "error": error });
            let error = ToolError::new(ErrorKind::Child, message).with_details(details);
            Ended::Failed { error, output: None }
        }
    }
}
