//! The relay: sends the messages of the outbox at least once; receivers ignore repetitions.
//!
//! The relay leaves notifications in the outbox if an external program sends them.
//!
//! Invariant: without the bus only notifications wait; everything else continues.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use futures::FutureExt as _;
use futures::channel::mpsc;
use futures::future::{join, join_all};
use futures::stream::{FuturesUnordered, Stream, StreamExt as _};
use noetl_bus::{BusError, Hint, Notification, NotificationReason};
use noetl_engine::{CommandResult, Input, PauseRequest, signal_index_key};
use noetl_model::{
    CommandId, CommandName, ErrorKind, ExecutionId, ExecutionStatus, LimitName, Message,
    PauseScope, Payload, Pool, ToolError,
};
use noetl_store::{
    AttemptOutcome, Failure, LimitChange, LimitChanges, OutboxConsumer, OutboxRow, SlotKey,
    StoreError, Take,
};
use serde_json::json;
use thiserror::Error;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::LoadError;
use crate::tasks::pause;
use crate::{Control, NotificationSender, SubmitError};

/// The largest number of messages taken at once.
const RELAY_MAX: usize = 256;
/// The time after which a message of a dead sender is taken again. Short, because a parent may wait
/// for it and sending it twice does no harm.
pub(crate) const VISIBILITY: Duration = Duration::from_secs(5);
/// The longest delay before the next try while the bus is unreachable.
pub(crate) const VISIBILITY_MAX: Duration = Duration::from_secs(30);
/// The longest delay before the next try of a message that cannot be sent.
const DELAY_MAX: Duration = Duration::from_secs(300);
/// The number of retries before a message is left for later.
const RETRIES_MAX: usize = 4;
/// The delay before the first retry; it doubles with each further one.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// The reason why a message was not sent.
#[derive(Debug, Error)]
enum SendError {
    #[error(transparent)]
    Bus(BusError),
    #[error(transparent)]
    Submit(SubmitError),
}

/// The result of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeliveryResult {
    Sent,
    /// The message cannot be sent, for this reason.
    Failed(String),
    /// The message is fine but still pending.
    Postponed,
    /// The bus is unreachable: all messages that need it are still pending.
    BusDown,
}

/// The state of the bus: unreachable since a time, or reachable.
#[derive(Debug, Default)]
struct Outage {
    since: Option<Instant>,
}

impl Outage {
    /// Returns how long taken messages are invisible to other relays: during an outage as long as
    /// it has lasted, so that waiting messages are not read over and over.
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
    /// Sends pending messages until `stop`.
    pub(crate) async fn relay_outbox(self, stop: CancellationToken) {
        let wakes = &self.parts.wakes;
        let mut outage = Outage::default();
        loop {
            let wait = match self.relay_owed(&mut outage).await {
                Ok(0) => self.parts.settings.poll,
                Ok(_) => Duration::ZERO,
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "cannot relay the outbox; will retry"
                    );
                    self.parts.settings.poll
                }
            };
            if !pause(&stop, &wakes.relay, wait).await {
                return;
            }
        }
    }

    /// Sends the pending messages and returns their number.
    async fn relay_owed(&self, outage: &mut Outage) -> Result<usize, StoreError> {
        let consumer = match self.parts.settings.notifications {
            NotificationSender::Relay => OutboxConsumer::Relay,
            NotificationSender::External => OutboxConsumer::InternalRelay,
        };
        let take = Take { consumer, limit: RELAY_MAX, hold: outage.visibility() };
        let rows = self.parts.store.take(take).await?;
        let count = rows.len();
        let pools: BTreeSet<&Pool> = rows.iter().filter_map(ready_pool).collect();
        for pool in &pools {
            let pool = Pool::clone(pool);
            self.parts.bus.publish(Hint::CommandReady { pool }).await;
        }
        let notifies = pools.into_iter().any(is_notified);
        let (of_limits, others): (Vec<&OutboxRow>, Vec<&OutboxRow>) =
            rows.iter().partition(|row| slot_of(row).is_some());
        let deliveries = FuturesUnordered::new();
        for rows in by_limit(of_limits) {
            deliveries.push(self.deliver_to_limit(rows).boxed());
        }
        for row in others {
            deliveries.push(async move { vec![(row.id, self.deliver(row).await)] }.boxed());
        }
        let (is_down, settled) = self.settle_each(deliveries, outage).await;
        if notifies && !is_down {
            outage.end();
        }
        settled.map(|()| count)
    }

    /// Settles messages as their deliveries end, so that a message that takes long does not keep the
    /// others: they would be sent again. Returns whether the bus was out of reach.
    ///
    /// Deliveries go on while results are stored: one that holds the write lock of the embedded
    /// database would otherwise wait for the result, which waits for the lock.
    async fn settle_each(
        &self,
        mut deliveries: impl Stream<Item = Vec<(i64, DeliveryResult)>> + Unpin,
        outage: &mut Outage,
    ) -> (bool, Result<(), StoreError>) {
        let (ended, results) = mpsc::unbounded();
        let deliver = async move {
            while let Some(results) = deliveries.next().await {
                let _is_open = ended.unbounded_send(results);
            }
        };
        let settle = async {
            let mut results = results.ready_chunks(RELAY_MAX);
            let (mut is_down, mut settled) = (false, Ok(()));
            while let Some(ended) = results.next().await {
                let ended: Vec<(i64, DeliveryResult)> = ended.into_iter().flatten().collect();
                if ended.iter().any(|(_, result)| *result == DeliveryResult::BusDown) {
                    is_down = true;
                    outage.begin();
                }
                let stored = self.settle(ended, outage).await;
                settled = settled.and(stored);
            }
            (is_down, settled)
        };
        let ((), settled) = join(deliver, settle).await;
        settled
    }

    /// Stores the results of deliveries.
    async fn settle(
        &self,
        deliveries: Vec<(i64, DeliveryResult)>,
        outage: &Outage,
    ) -> Result<(), StoreError> {
        let (mut sent, mut failed, mut postponed) = (Vec::new(), Vec::new(), Vec::new());
        for (id, delivery) in deliveries {
            match delivery {
                DeliveryResult::Sent => sent.push(id),
                DeliveryResult::Failed(error) => {
                    let (attempts, delay_max, is_final) = (None, DELAY_MAX, false);
                    failed.push(Failure { id, error, attempts, delay_max, is_final });
                }
                DeliveryResult::Postponed | DeliveryResult::BusDown => postponed.push(id),
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
            let attempt_outcomes = store.failed(&failed).await?;
            for (failure, _) in failed
                .iter()
                .zip(attempt_outcomes)
                .filter(|(_, outcome)| *outcome == AttemptOutcome::Dead)
            {
                tracing::error!(id = failure.id, error = failure.error, "message is dead");
            }
        }
        Ok(())
    }

    async fn deliver(&self, row: &OutboxRow) -> DeliveryResult {
        let (id, execution) = (row.id, row.execution);
        let mut delays = retry_delays(id);
        loop {
            let failed = match self.send(row).await {
                Ok(()) => return DeliveryResult::Sent,
                Err(error) => error,
            };
            match not_sent(id, execution, failed, delays.next()) {
                NotSent::Retry(delay) => tokio::time::sleep(delay).await,
                NotSent::Final(result) => return result,
            }
        }
    }

    /// Delivers messages to one limit, as one change of the limit.
    pub(crate) async fn deliver_to_limit(
        &self,
        rows: Vec<&OutboxRow>,
    ) -> Vec<(i64, DeliveryResult)> {
        let asked = join_all(rows.iter().map(|row| self.limit_change(row))).await;
        let (mut results, mut pending, mut changes) = (Vec::new(), Vec::new(), Vec::new());
        for (row, asked) in rows.into_iter().zip(asked) {
            match asked {
                Ok(Some(change)) => {
                    changes.push(change);
                    pending.push(row);
                }
                Ok(None) => results.push((row.id, DeliveryResult::Sent)),
                Err(error) => match not_sent(row.id, row.execution, error, None) {
                    NotSent::Retry(_) => results.push((row.id, DeliveryResult::Postponed)),
                    NotSent::Final(result) => results.push((row.id, result)),
                },
            }
        }
        let Some(first) = pending.first() else { return results };
        let mut result = DeliveryResult::Sent;
        let mut delays = retry_delays(first.id);
        for changes in LimitChanges::grouped(changes) {
            while let Err(error) = self.change_limit(changes.clone()).await {
                let error = LoadError::of_store(first.execution, error).into();
                match not_sent(first.id, first.execution, SendError::Submit(error), delays.next()) {
                    NotSent::Retry(delay) => tokio::time::sleep(delay).await,
                    NotSent::Final(failed) => {
                        result = failed;
                        break;
                    }
                }
            }
        }
        results.extend(pending.iter().map(|row| (row.id, result.clone())));
        results
    }

    /// Returns the change that a message asks of a limit; `None` if the execution does not await the
    /// slot any more. A message may come again after the slot was released.
    async fn limit_change(&self, row: &OutboxRow) -> Result<Option<LimitChange>, SendError> {
        let Some(slot) = slot_of(row) else { return Ok(None) };
        match slot {
            SlotMessage::Release(key) => Ok(Some(LimitChange::Release(key))),
            SlotMessage::Request(key) => {
                let request = self.awaited_request(&key).await;
                let request = request.map_err(|error| SendError::Submit(error.into()))?;
                Ok(request.map(LimitChange::Request))
            }
        }
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
                // A refusal means that the parent has the result already or does not wait any more.
                known(self.submit(*parent, input).await.map(|_| ())).map_err(SendError::Submit)
            }
            Message::CancelChild { child, reason } => {
                known(self.cancel(*child, reason).await.map(|_| ())).map_err(SendError::Submit)
            }
            Message::CancelLinked { reason } => {
                self.cancel_linked(sender, reason).await.map_err(SendError::Submit)
            }
            Message::SignalAwaited { name, key } => {
                let key = signal_index_key(name, Some(key));
                let delivered = self.deliver_signals(&key).await;
                delivered.map(drop).map_err(SendError::Submit)
            }
            Message::CommandUnparked { command, pool } => {
                self.announce_unparked(sender, *command, pool).await.map_err(SendError::Bus)
            }
            Message::PauseChild { child, actor, reason } => {
                let input = Input::Pause(below(actor.as_ref(), reason.as_ref()));
                known(self.submit(*child, input).await.map(|_| ())).map_err(SendError::Submit)
            }
            Message::ResumeChild { child, actor, reason } => {
                let input = Input::Resume(below(actor.as_ref(), reason.as_ref()));
                known(self.submit(*child, input).await.map(|_| ())).map_err(SendError::Submit)
            }
            // Messages to limits are sent together.
            Message::RequestSlot { .. } | Message::ReleaseSlot { .. } => Ok(()),
            // The store hands these to the sender of notifications only.
            Message::Notification { .. } => Ok(()),
        }
    }
}

/// A message to a limit.
enum SlotMessage {
    Request(SlotKey),
    Release(SlotKey),
}

/// Returns the slot that a message to a limit is about; `None` for other messages.
fn slot_of(row: &OutboxRow) -> Option<SlotMessage> {
    let key = |limit: &LimitName, command: &Option<CommandId>| {
        let (limit, execution, command) = (limit.clone(), row.execution, *command);
        SlotKey { limit, execution, command }
    };
    match &row.message {
        Message::RequestSlot { command, limit, .. } => {
            Some(SlotMessage::Request(key(&limit.name, command)))
        }
        Message::ReleaseSlot { command, limit } => Some(SlotMessage::Release(key(limit, command))),
        Message::CommandReady { .. }
        | Message::CommandUnparked { .. }
        | Message::CommandCancelled { .. }
        | Message::ChildEnded { .. }
        | Message::CancelChild { .. }
        | Message::CancelLinked { .. }
        | Message::SignalAwaited { .. }
        | Message::PauseChild { .. }
        | Message::ResumeChild { .. }
        | Message::Notification { .. } => None,
    }
}

/// Groups messages by their limits.
fn by_limit(rows: Vec<&OutboxRow>) -> impl Iterator<Item = Vec<&OutboxRow>> {
    let mut groups: BTreeMap<LimitName, Vec<&OutboxRow>> = BTreeMap::new();
    for row in rows {
        if let Some(SlotMessage::Request(key) | SlotMessage::Release(key)) = slot_of(row) {
            groups.entry(key.limit).or_default().push(row);
        }
    }
    groups.into_values()
}

/// The consequence of a failed attempt to send a message.
enum NotSent {
    Retry(Duration),
    Final(DeliveryResult),
}

fn retry_delays(id: i64) -> impl Iterator<Item = Duration> {
    let retries = ExponentialBuilder::new()
        .with_min_delay(RETRY_DELAY)
        .with_max_times(RETRIES_MAX)
        .with_jitter()
        .with_jitter_seed(id.unsigned_abs());
    retries.build()
}

/// Returns the consequence of a failed attempt; without a delay there is no further one now.
fn not_sent(id: i64, execution: ExecutionId, error: SendError, delay: Option<Duration>) -> NotSent {
    match error {
        SendError::Bus(BusError::Unavailable(error)) => {
            let error: &dyn std::error::Error = &*error;
            tracing::debug!(error, id, "the bus is out of reach");
            NotSent::Final(DeliveryResult::BusDown)
        }
        SendError::Submit(error) if error.is_transient() => {
            delay.map_or(NotSent::Final(DeliveryResult::Postponed), NotSent::Retry)
        }
        error @ (SendError::Bus(BusError::Refused(_)) | SendError::Submit(_)) => {
            let said = in_full(&error);
            tracing::warn!(error = said, %execution, id, "message undeliverable");
            NotSent::Final(DeliveryResult::Failed(said))
        }
    }
}

/// Returns the pause of a parent, as its child gets it.
fn below(actor: Option<&String>, reason: Option<&String>) -> PauseRequest {
    let (actor, reason) = (actor.cloned(), reason.cloned());
    PauseRequest { scope: PauseScope::Parent, actor, reason }
}

/// Returns the notification of a message for workers that do not poll; `None` for other messages.
pub fn notification(row: &OutboxRow) -> Option<Notification> {
    match &row.message {
        Message::CommandReady { pool, command: _, event_id, step, item, trace } => {
            let (step, event_id, item) = (step.clone(), *event_id, *item);
            let command = CommandName { execution: row.execution, step, event_id, item };
            let (pool, trace) = (pool.clone(), trace.clone());
            let reason = NotificationReason::Issued { row: row.id };
            is_notified(&pool).then_some(Notification { reason, pool, command, trace })
        }
        Message::CommandUnparked { .. }
        | Message::CommandCancelled { .. }
        | Message::ChildEnded { .. }
        | Message::CancelChild { .. }
        | Message::CancelLinked { .. }
        | Message::SignalAwaited { .. }
        | Message::PauseChild { .. }
        | Message::ResumeChild { .. }
        | Message::RequestSlot { .. }
        | Message::ReleaseSlot { .. }
        | Message::Notification { .. } => None,
    }
}

/// Returns an error message with all its causes.
fn in_full(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |said, cause| format!("{said}: {cause}"))
}

/// Returns the pool of a `CommandReady` message.
fn ready_pool(row: &OutboxRow) -> Option<&Pool> {
    match &row.message {
        Message::CommandReady { pool, .. } | Message::CommandUnparked { pool, .. } => Some(pool),
        Message::CommandCancelled { .. }
        | Message::ChildEnded { .. }
        | Message::CancelChild { .. }
        | Message::CancelLinked { .. }
        | Message::SignalAwaited { .. }
        | Message::PauseChild { .. }
        | Message::ResumeChild { .. }
        | Message::RequestSlot { .. }
        | Message::ReleaseSlot { .. }
        | Message::Notification { .. } => None,
    }
}

/// True unless the control plane runs the pool's commands itself.
pub(crate) fn is_notified(pool: &Pool) -> bool {
    pool.as_str() != Pool::CONTROL
}

/// Treats a message to an execution that does not exist as delivered.
pub(crate) fn known(delivered: Result<(), SubmitError>) -> Result<(), SubmitError> {
    match delivered {
        Err(SubmitError::Load(LoadError::NotFound(execution))) => {
            tracing::warn!(%execution, "message to an execution that does not exist");
            Ok(())
        }
        other => other,
    }
}

/// Returns the result of a child as its parent sees it.
pub(crate) fn ended(
    child: ExecutionId,
    status: ExecutionStatus,
    output: &Payload,
    error: Option<&ToolError>,
) -> CommandResult {
    match status {
        ExecutionStatus::Completed => CommandResult::Completed { output: output.clone() },
        ExecutionStatus::Failed | ExecutionStatus::Cancelled | ExecutionStatus::Running => {
            let message = match error {
                // The message already names the failed descendant.
                Some(error) if error.kind == ErrorKind::Child => error.message.clone(),
                Some(error) => format!("child execution {child} ended as {status}: {error}"),
                None => format!("child execution {child} ended as {status}"),
            };
            let details = json!({ "execution_id": child.to_string(), "error": error });
            let error = ToolError::new(ErrorKind::Child, message).with_details(details);
            CommandResult::Failed { error, output: None }
        }
    }
}
