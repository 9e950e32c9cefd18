//! Signals to executions.

use noetl_control::{MailboxAnswer, SendSignalError, SentSignal, SubmitError};
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
    #[error(transparent)]
    Refused(Refusal),
    #[error(transparent)]
    Send(#[from] SendSignalError),
}

impl App {
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
