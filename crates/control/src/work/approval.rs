//! Decisions of people about approvals.

use noetl_engine::{ApprovalDecision, Input};
use noetl_model::ExecutionId;

use crate::submit::mailbox::{OfferedValues, Submission};
use crate::{Control, MailboxAnswer, SubmitError};

impl Control {
    /// Decides about an approval; returns once the decision is durable.
    pub async fn decide_approval(
        &self,
        execution: ExecutionId,
        decision: ApprovalDecision,
    ) -> Result<MailboxAnswer, SubmitError> {
        let (input, values) = (Input::Decide(decision), OfferedValues::default());
        self.post(execution, Submission { input, values, next: None }).await
    }
}
