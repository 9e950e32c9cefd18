//! Message intake of a control plane over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use noetl_model::{Arrival, ExecutionId, MessageOutcome, WorkerId};
use serde_json::Value;

use super::RemoteControl;
use crate::wire::{AttendCall, LeaveCall, MessagesCall, MessagesReply};
use crate::{Assignment, ControlError, IntakeControl};

/// Maximum bytes of messages per request, unless a single message has more.
const REQUEST_BYTES: usize = 4 * 1024 * 1024;

#[async_trait]
impl IntakeControl for RemoteControl {
    async fn attend(&self, runtime: &WorkerId, path: &str) -> Result<Assignment, ControlError> {
        let call = AttendCall { runtime: runtime.clone(), path: path.to_owned() };
        self.call("api/worker/subscriptions/attend", &call, Duration::ZERO).await
    }

    async fn take(
        &self,
        runtime: &WorkerId,
        subscription: ExecutionId,
        arrivals: Vec<Arrival>,
    ) -> Result<Vec<MessageOutcome>, ControlError> {
        let mut verdicts = Vec::with_capacity(arrivals.len());
        let mut waiting = arrivals.into_iter().peekable();
        while waiting.peek().is_some() {
            let (mut messages, mut bytes) = (Vec::new(), 0);
            while let Some(next) = waiting
                .next_if(|next| messages.is_empty() || bytes + next.body.0.len() <= REQUEST_BYTES)
            {
                bytes += next.body.0.len();
                messages.push(next);
            }
            let count = messages.len();
            let call = MessagesCall { runtime: runtime.clone(), subscription, messages };
            let path = "api/worker/subscriptions/messages";
            let MessagesReply { verdicts: given } = self.call(path, &call, Duration::ZERO).await?;
            if given.len() != count {
                let reason = format!("{} verdicts for {count} messages", given.len());
                return Err(ControlError::Refused { reason });
            }
            verdicts.extend(given);
        }
        Ok(verdicts)
    }

    async fn leave(
        &self,
        runtime: &WorkerId,
        subscription: ExecutionId,
    ) -> Result<(), ControlError> {
        let call = LeaveCall { runtime: runtime.clone(), subscription };
        let _told: Value =
            self.call("api/worker/subscriptions/leave", &call, Duration::ZERO).await?;
        Ok(())
    }
}
