//! Signals to executions.

use noetl_control::{
    MailboxAnswer, SIGNAL_KEPT_MAX, SendSignalError, SentSignal, SignalByKey, SubmitError,
};
use noetl_engine::Refusal;
use noetl_model::ExecutionId;

use crate::app::App;

/// Maximum length of the name of a sender, in bytes.
const SENDER_MAX: usize = 200;

/// The reason why a signal is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum SignalError {
    #[error("the name of a sender has at most {SENDER_MAX} bytes")]
    SenderTooLong,
    #[error("a signal is kept for up to {} days", SIGNAL_KEPT_MAX.as_secs() / 86_400)]
    KeptTooLong,
    #[error(transparent)]
    Refused(Refusal),
    #[error(transparent)]
    Send(#[from] SendSignalError),
}

/// The result of a signal that was sent by correlation key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyedSignalResult {
    /// A wait of this execution has taken the signal, now or by an earlier request with the same
    /// idempotency key.
    Delivered(ExecutionId),
    /// No wait has taken the signal yet.
    Kept,
}

impl App {
    /// Sends a signal to the oldest wait with its name and correlation key; keeps it for the next one
    /// if none waits.
    pub async fn signal_by_key(&self, sent: SignalByKey) -> Result<KeyedSignalResult, SignalError> {
        if sent.sender.as_ref().is_some_and(|sender| sender.len() > SENDER_MAX) {
            return Err(SignalError::SenderTooLong);
        }
        if sent.kept_for.is_some_and(|kept_for| kept_for > SIGNAL_KEPT_MAX) {
            return Err(SignalError::KeptTooLong);
        }
        let taken = self.control().signal_by_key(sent).await?;
        Ok(match taken {
            Some(target) => KeyedSignalResult::Delivered(target.execution),
            None => KeyedSignalResult::Kept,
        })
    }

    /// Sends a signal to an execution: a step that waits for it ends; otherwise the signal is kept
    /// for the next step that does.
    pub async fn signal(
        &self,
        execution: ExecutionId,
        sent: SentSignal,
    ) -> Result<(), SignalError> {
        if sent.sender.as_ref().is_some_and(|sender| sender.len() > SENDER_MAX) {
            return Err(SignalError::SenderTooLong);
        }
        let known = self.execution(execution).await;
        known.map_err(|error| SendSignalError::Submit(SubmitError::Load(error)))?;
        match self.control().signal(execution, sent).await? {
            MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_) => {
                Ok(())
            }
            MailboxAnswer::Refused(refusal) => Err(SignalError::Refused(refusal)),
        }
    }
}
