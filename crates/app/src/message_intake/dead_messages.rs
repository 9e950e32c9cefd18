//! Failed messages: listed, and retried or dropped on request once they are dead.

use noetl_api::wire::{DeadFailure, DeadRetried, FailedMessageView, FailedMessagesView};
use noetl_control::SubscriptionError;
use noetl_model::{ExecutionId, MessageOutcome};
use noetl_store::{FailedMessage, FailedStanding, PAGE_MAX};
use serde_json::json;

use super::sealed_messages::shown;
use super::{Intake, IntakeError, IntakeFault};

/// Maximum number of messages that one request retries or drops.
const DEAD_MAX: usize = 10_000;

/// Default number of failed messages per page.
const PAGE_SIZE: usize = 100;

impl Intake {
    /// Lists the failed messages of a subscription after a name, including dead ones.
    pub async fn failed_messages(
        &self,
        id: ExecutionId,
        after: &str,
        limit: Option<usize>,
    ) -> Result<FailedMessagesView, IntakeError> {
        self.store.subscription(id).await?.ok_or(SubscriptionError::Unknown(id))?;
        let limit = limit.unwrap_or(PAGE_SIZE).clamp(1, PAGE_MAX);
        let found = self.records.failed_messages(id, after, limit).await?;
        let last = found.last().map(|it| it.arrival.once.clone());
        let next_after = last.filter(|_| found.len() == limit);
        let messages = found.into_iter().map(view).collect();
        Ok(FailedMessagesView { messages, next_after })
    }

    /// Starts the executions of dead messages; of all of them if `names` is empty.
    pub async fn retry_dead(
        &self,
        id: ExecutionId,
        names: &[String],
    ) -> Result<DeadRetried, IntakeError> {
        let row = self.store.subscription(id).await?.ok_or(SubscriptionError::Unknown(id))?;
        let (_, rules) = self.document(&row.path).await?;
        let mut retried = DeadRetried { started: 0, duplicates: 0, failed: Vec::new() };
        for message in self.dead(id, names).await? {
            let name = message.arrival.once.clone();
            let arrival = match self.opened(id, &message.arrival) {
                Ok(arrival) => arrival,
                Err(reason) => {
                    let reason = format!("the message cannot be opened: {reason}");
                    retried.failed.push(DeadFailure { name, reason });
                    continue;
                }
            };
            match self.start(&row, &rules, &arrival).await {
                Ok(MessageOutcome::Duplicate { .. }) => retried.duplicates += 1,
                Ok(
                    MessageOutcome::Started { .. }
                    | MessageOutcome::Signalled
                    | MessageOutcome::Dead { .. }
                    | MessageOutcome::Later { .. },
                ) => {
                    retried.started += 1;
                }
                Err(IntakeFault::Passing(error)) => return Err(IntakeError::Unavailable(error)),
                Err(IntakeFault::Message(reason)) => {
                    let now = self.clock.now();
                    let failures = message.failures.saturating_add(1);
                    let kept = reason.clone();
                    let failed = FailedMessage { failures, reason: kept, last_at: now, ..message };
                    self.records.put_failed_message(&failed).await?;
                    retried.failed.push(DeadFailure { name, reason });
                    continue;
                }
            }
            self.records.remove_failed_messages(id, &[name]).await?;
        }
        Ok(retried)
    }

    /// Deletes dead messages, all of them if `names` is empty; returns their number.
    pub async fn drop_dead(&self, id: ExecutionId, names: &[String]) -> Result<u64, IntakeError> {
        self.store.subscription(id).await?.ok_or(SubscriptionError::Unknown(id))?;
        let dead = self.dead(id, names).await?;
        let names: Vec<String> = dead.into_iter().map(|it| it.arrival.once).collect();
        Ok(self.records.remove_failed_messages(id, &names).await?)
    }

    async fn dead(
        &self,
        id: ExecutionId,
        names: &[String],
    ) -> Result<Vec<FailedMessage>, IntakeError> {
        let mut found = Vec::new();
        if names.is_empty() {
            let mut after = String::new();
            loop {
                let page = self.records.failed_messages(id, &after, PAGE_MAX).await?;
                let Some(last) = page.last() else { break };
                after.clone_from(&last.arrival.once);
                found.extend(page.into_iter().filter(is_dead));
                if found.len() >= DEAD_MAX {
                    break;
                }
            }
        }
        for name in names.iter().take(DEAD_MAX) {
            let message = self.records.failed_message(id, name).await?;
            found.extend(message.filter(is_dead));
        }
        Ok(found)
    }
}

fn is_dead(message: &FailedMessage) -> bool {
    message.standing == FailedStanding::Dead
}

fn view(message: FailedMessage) -> FailedMessageView {
    let status = match message.standing {
        FailedStanding::Waiting { .. } => "WAITING",
        FailedStanding::Dead => "DEAD",
    };
    FailedMessageView {
        name: message.arrival.once.clone(),
        message_id: message.arrival.id.clone(),
        status: status.to_owned(),
        failures: message.failures,
        reason: message.reason,
        first_at: message.first_at.to_string(),
        last_at: message.last_at.to_string(),
        retry_at: message.standing.until().map(|until| until.to_string()),
        message: json!(shown(message.arrival)),
    }
}
