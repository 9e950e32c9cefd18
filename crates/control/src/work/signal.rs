//! Signals that callers send to executions.

use std::sync::Arc;

use noetl_engine::{Input, Signal};
use noetl_model::{Actor, ExecutionId, PAYLOAD_MAX, SignalKey, SignalName, ToolError};
use serde_json::Value;

use noetl_store::{SignalTarget, StoreError};

use super::keyed_signal::{KEPT_SIGNALS_MAX, KEPT_SIGNALS_OF_KEY_MAX};
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
    pub actor: Option<Actor>,
}

/// The reason why a signal is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum SendSignalError {
    /// The body is nested too deeply or too long.
    #[error("{0}")]
    Body(ToolError),
    #[error(
        "{KEPT_SIGNALS_MAX} signals (KEPT_SIGNALS_MAX) wait for a step that takes them; no further \
         signal is kept"
    )]
    TooMany,
    #[error(
        "{KEPT_SIGNALS_OF_KEY_MAX} signals `{0}` with the key `{1}` (KEPT_SIGNALS_OF_KEY_MAX) wait for a \
         step that takes them; no further one is kept"
    )]
    TooManyOfKey(SignalName, SignalKey),
    #[error(
        "another signal `{name}` with the key `{key}` was sent with this idempotency key; its body is a \
         different one"
    )]
    KeyReused {
        name: SignalName,
        key: SignalKey,
        /// The wait that has taken the earlier signal.
        taken: Option<SignalTarget>,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
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
        let SentSignal { name, body, sender, key, actor } = sent;
        let mut values = OfferedValues::default();
        let body = kept("the body of the signal", Arc::new(body), PAYLOAD_MAX, &mut values)
            .map_err(SendSignalError::Body)?;
        self.keep_parsed(&values);
        let input = Input::Signal(Signal { name, body, sender, key, to: None, actor });
        Ok(self.post(execution, Submission { input, values, next: None }).await?)
    }
}
