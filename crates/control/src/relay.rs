//! The relay: sends what is owed. At least once, so receivers take a repetition for what it is.
//!
//! Invariant: without the bus only notifications wait; everything else goes on.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use noetl_bus::{BusError, Hint, Notification, Occasion};
use noetl_engine::{Ended, Input};
use noetl_model::{
    CommandName, ErrorKind, ExecutionId, ExecutionStatus, Message, Payload, Pool, ToolError,
};
use noetl_store::{Failure, Fate, OutboxRow, StoreError, Take, Taker};
use serde_json::json;
use thiserror::Error;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::LoadError;
use crate::tasks::pause;
use crate::{Control, SubmitError};

/// How many messages are taken at once.
const RELAY_MAX: usize = 256;
/// After how long a message whose sender has died is taken again. Short, because a parent may wait
/// for it, and because sending it twice does no harm.
pub(crate) const VISIBILITY: Duration = Duration::from_secs(5);
/// The longest that a message waits for the next try while the bus is out of reach.
pub(crate) const VISIBILITY_MAX: Duration = Duration::from_secs(30);
/// The longest that a message that cannot be sent waits for the next try.
const DELAY_MAX: Duration = Duration::from_secs(300);
/// How often a message is tried before it is left for later.
const TRIES_MAX: u32 = 5;
/// The first pause between tries; each further one is twice as long.
const TRY_PAUSE: Duration = Duration::from_millis(100);

/// Why a message was not sent.
#[derive(Debug, Error)]
enum SendError {
    #[error(transparent)]
    Bus(BusError),
    #[error(transparent)]
    Submit(SubmitError),
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Delivery {
    Sent,
    /// This message cannot be sent, and why.
    Failed(String),
    /// Nothing is wrong with it; it is still owed.
    Postponed,
    /// It is still owed, as is every other that needs the bus.
    BusDown,
}

/// Whether the bus is out of reach, and since when.
#[derive(Debug, Default)]
struct Outage {
    since: Option<Instant>,
}

impl Outage {
    /// How long a message is the relay's: while the bus is gone, as long as it has been. What waits
    /// is then not looked at over and over.
    fn visibility(&self) -> Duration {
        self.since.map_or(VISIBILITY, |since| since.elapsed().clamp(VISIBILITY, VISIBILITY_MAX))
    }

    fn begin(&mut self) {
        if self.since.is_none() {
            tracing::warn!("the bus is out of reach; notifications wait in the outbox");
            self.since = Some(Instant::now());
        }
    }

    fn end(&mut self) {
        if self.since.take().is_some() {
            tracing::info!("the bus is back");
        }
    }
}

impl Control {
    /// Sends messages as they are owed, until it is to stop.
    pub(crate) async fn relay_outbox(self, stop: CancellationToken) {
        let wakes = &self.parts.wakes;
        let mut outage = Outage::default();
        loop {
            let wait = match self.relay_owed(&mut outage).await {
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
    async fn relay_owed(&self, outage: &mut Outage) -> Result<usize, StoreError> {
        let take = Take { taker: Taker::Relay, limit: RELAY_MAX, hold: outage.visibility() };
        let rows = self.parts.store.take(take).await?;
        let count = rows.len();
        let pools: BTreeSet<&Pool> = rows.iter().filter_map(ready_pool).collect();
        for pool in &pools {
            let pool = Pool::clone(pool);
            self.parts.bus.publish(Hint::CommandReady { pool }).await;
        }
        let notifies = pools.into_iter().any(is_notified);
        let deliveries = join_all(rows.iter().map(|row| self.deliver(row))).await;
        if deliveries.contains(&Delivery::BusDown) {
            outage.begin();
        } else if notifies {
            outage.end();
        }
        self.settle(&rows, deliveries, outage).await?;
        Ok(count)
    }

    /// Writes down what became of messages.
    async fn settle(
        &self,
        rows: &[OutboxRow],
        deliveries: Vec<Delivery>,
        outage: &Outage,
    ) -> Result<(), StoreError> {
        let (mut sent, mut failed, mut postponed) = (Vec::new(), Vec::new(), Vec::new());
        for (row, delivery) in rows.iter().zip(deliveries) {
            let id = row.id;
            match delivery {
                Delivery::Sent => sent.push(id),
                Delivery::Failed(error) => {
                    failed.push(Failure { id, error, attempts: None, delay_max: DELAY_MAX });
                }
                Delivery::Postponed | Delivery::BusDown => postponed.push(id),
            }
        }
        let store = &self.parts.store;
        if !sent.is_empty() {
            store.sent(&sent).await?;
        }
        if !postponed.is_empty() {
            store.postpone(&postponed, outage.visibility()).await?;
        }
        if !failed.is_empty() {
            let fates = store.failed(&failed).await?;
            for (failure, _) in failed.iter().zip(fates).filter(|(_, fate)| *fate == Fate::Dead) {
                tracing::error!(id = failure.id, error = failure.error, "message is dead");
            }
        }
        Ok(())
    }

    async fn deliver(&self, row: &OutboxRow) -> Delivery {
        for attempt in 0..TRIES_MAX {
            match self.send(row).await {
                Ok(()) => return Delivery::Sent,
                Err(SendError::Bus(BusError::Unavailable(error))) => {
                    let error: &dyn std::error::Error = &*error;
                    tracing::debug!(error, id = row.id, "the bus is out of reach");
                    return Delivery::BusDown;
                }
                Err(SendError::Submit(error)) if error.is_passing() => {
                    tokio::time::sleep(TRY_PAUSE * 2u32.pow(attempt)).await;
                }
                Err(error @ (SendError::Bus(BusError::Refused(_)) | SendError::Submit(_))) => {
                    let said = in_full(&error);
                    tracing::warn!(error = said, execution = %row.execution, id = row.id, "message undeliverable");
                    return Delivery::Failed(said);
                }
            }
        }
        Delivery::Postponed
    }

    async fn send(&self, row: &OutboxRow) -> Result<(), SendError> {
        let sender = row.execution;
        match &row.message {
            Message::CommandReady { .. } => match notification(row) {
                Some(it) => self.parts.bus.notify(&it).await.map_err(SendError::Bus),
                None => Ok(()),
            },
            Message::CommandCancelled { command } => {
                let (execution, command) = (sender, *command);
                self.parts.bus.publish(Hint::CommandCancelled { execution, command }).await;
                Ok(())
            }
            Message::ChildEnded { parent, command, status, output, error } => {
                let ended = ended(sender, *status, output, error.as_ref());
                let input = Input::ChildEnded { command: *command, ended };
                // Refused means that the parent knows, or no longer cares.
                known(self.submit(*parent, input).await.map(|_| ())).map_err(SendError::Submit)
            }
            Message::CancelChild { child, reason } => {
                known(self.cancel(*child, reason).await.map(|_| ())).map_err(SendError::Submit)
            }
            Message::CancelLinked { reason } => {
                self.cancel_linked(sender, reason).await.map_err(SendError::Submit)
            }
        }
    }
}

/// What a message says to workers that do not look by themselves; nothing if it is for others.
pub fn notification(row: &OutboxRow) -> Option<Notification> {
    match &row.message {
        Message::CommandReady { pool, command: _, event_id, step, item, trace } => {
            let (step, event_id, item) = (step.clone(), *event_id, *item);
            let command = CommandName { execution: row.execution, step, event_id, item };
            let (pool, trace) = (pool.clone(), trace.clone());
            let occasion = Occasion::Issued { row: row.id };
            is_notified(&pool).then_some(Notification { occasion, pool, command, trace })
        }
        Message::CommandCancelled { .. }
        | Message::ChildEnded { .. }
        | Message::CancelChild { .. }
        | Message::CancelLinked { .. } => None,
    }
}

/// An error with everything that led to it.
fn in_full(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |said, cause| format!("{said}: {cause}"))
}

/// The pool that a message is about, if it says that a command waits.
fn ready_pool(row: &OutboxRow) -> Option<&Pool> {
    match &row.message {
        Message::CommandReady { pool, .. } => Some(pool),
        Message::CommandCancelled { .. }
        | Message::ChildEnded { .. }
        | Message::CancelChild { .. }
        | Message::CancelLinked { .. } => None,
    }
}

/// What the control plane carries out itself is no worker's business.
pub(crate) fn is_notified(pool: &Pool) -> bool {
    pool.as_str() != Pool::CONTROL
}

/// A message to an execution that does not exist has nobody to reach.
pub(crate) fn known(delivered: Result<(), SubmitError>) -> Result<(), SubmitError> {
    match delivered {
        Err(SubmitError::Load(LoadError::NotFound(execution))) => {
            tracing::warn!(%execution, "message to an execution that does not exist");
            Ok(())
        }
        other => other,
    }
}

/// How a child's end looks to its parent.
pub(crate) fn ended(
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
