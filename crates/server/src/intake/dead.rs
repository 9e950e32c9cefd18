//! Dead messages: retried or dropped on request.

use noetl_model::{ExecutionId, Verdict};
use noetl_store::{FailedMessage, FailedStanding, PAGE_MAX};

use super::{Fault, Intake, IntakeError};
use noetl_control::SubscriptionError;

/// Maximum number of messages that one request retries or drops.
const DEAD_MAX: usize = 10_000;

/// Result of retrying dead messages.
#[derive(Debug, Default)]
pub(crate) struct Retried {
    pub(crate) started: u64,
    pub(crate) duplicates: u64,
    /// Names of the messages that failed again, with the reason.
    pub(crate) failed: Vec<(String, String)>,
}

impl Intake {
    /// Starts the executions of dead messages; of all of them if `names` is empty.
    pub(crate) async fn retry_dead(
        &self,
        id: ExecutionId,
        names: &[String],
    ) -> Result<Retried, IntakeError> {
        let row = self.store.subscription(id).await?.ok_or(SubscriptionError::Unknown(id))?;
        let (_, rules) = self.document(&row.path).await?;
        let mut retried = Retried::default();
        for message in self.dead(id, names).await? {
            let name = message.arrival.once.clone();
            match self.start(&row, &rules, &message.arrival).await {
                Ok(Verdict::Duplicate { .. }) => retried.duplicates += 1,
                Ok(Verdict::Started { .. } | Verdict::Dead { .. } | Verdict::Later { .. }) => {
                    retried.started += 1;
                }
                Err(Fault::Passing(error)) => return Err(IntakeError::Unavailable(error)),
                Err(Fault::Message(reason)) => {
                    let now = self.clock.now();
                    let failures = message.failures.saturating_add(1);
                    let kept = reason.clone();
                    let failed = FailedMessage { failures, reason: kept, last_at: now, ..message };
                    self.records.put_failed_message(&failed).await?;
                    retried.failed.push((name, reason));
                    continue;
                }
            }
            self.records.remove_failed_messages(id, &[name]).await?;
        }
        Ok(retried)
    }

    /// Deletes dead messages, all of them if `names` is empty; returns their number.
    pub(crate) async fn drop_dead(
        &self,
        id: ExecutionId,
        names: &[String],
    ) -> Result<u64, IntakeError> {
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
