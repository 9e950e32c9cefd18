//! Signals that callers send to executions.

use std::sync::Arc;

use noetl_engine::{Input, Signal};
use noetl_model::{ExecutionId, PAYLOAD_MAX, SignalName, ToolError};
use serde_json::Value;

use super::report::kept;
use crate::submit::mailbox::{OfferedValues, Submission};
use crate::{Control, MailboxAnswer, SubmitError};

/// A signal as a caller sends it.
#[derive(Debug, Clone)]
pub struct SentSignal {
    pub name: SignalName,
    pub body: Value,
    /// The name of the caller.
    pub sender: Option<String>,
    /// The idempotency key: a repeated signal with the same key changes nothing.
    pub key: Option<String>,
}

/// The reason why a signal is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum SendSignalError {
    /// The body is nested too deeply or too long.
    #[error("{0}")]
    Body(ToolError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

impl Control {
    /// Sends a signal to an execution; returns once it is durable.
    pub async fn signal(
        &self,
        execution: ExecutionId,
        sent: SentSignal,
    ) -> Result<MailboxAnswer, SendSignalError> {
        let SentSignal { name, body, sender, key } = sent;
        let mut values = OfferedValues::default();
        let body = kept("the body of the signal", Arc::new(body), PAYLOAD_MAX, &mut values)
            .map_err(SendSignalError::Body)?;
        self.keep_parsed(&values);
        let input = Input::Signal(Signal { name, body, sender, key });
        Ok(self.post(execution, Submission { input, values, next: None }).await?)
    }
}
