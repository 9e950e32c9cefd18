//! Approvals: what waits for the decision of a person, and the decision.

mod link;
mod list;

use noetl_api::wire::{ApprovalDecisionView, ApprovalView};
use noetl_control::{LoadError, MailboxAnswer, SubmitError};
use noetl_engine::{ApprovalDecision, CommandWait, DecidedApproval, Execution, Refusal, form_of};
use noetl_model::{
    ApprovalRequest, CommandId, Event, ExecutionId, Recorded, Seq, Timestamp, Verdict,
};
use noetl_playbook::Completeness;
use noetl_store::StoreError;
use serde_json::{Map, Value};

use crate::app::App;
pub use link::{ApprovalTicket, LINK_VALID_MAX, LinkError, LinkMaker};
pub use list::{APPROVALS_MAX, ApprovalQuery, OpenApprovals};

/// Maximum length of an actor's name, in bytes.
const ACTOR_MAX: usize = 128;

/// The reason why an approval is not shown.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    #[error("command {1} of execution {0} is no approval that waits or was decided")]
    Unknown(ExecutionId, CommandId),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a decision is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    #[error("the name of an actor has 1 to {ACTOR_MAX} bytes without control characters")]
    BadActor,
    /// The caller has stated a name where only checked names may decide.
    #[error(
        "the approval is only for {0}, and the name of the caller is not checked: send a token that has \
         the name, or decide with a link"
    )]
    NameNotChecked(String),
    /// Another decision was recorded before.
    #[error("the approval has been {} before{}", verdict_of(.0), decider_of(.0))]
    Decided(Box<ApprovalView>),
    #[error(transparent)]
    Refused(Refusal),
    #[error(transparent)]
    Show(#[from] ApprovalError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

fn verdict_of(view: &ApprovalView) -> &'static str {
    view.decision.as_ref().map_or("decided", |decision| decision.decision.as_str())
}

fn decider_of(view: &ApprovalView) -> String {
    let actor = view.decision.as_ref().and_then(|decision| decision.actor.as_ref());
    actor.map(|actor| format!(" by {actor}")).unwrap_or_default()
}

/// The treatment of names that callers state themselves, for approvals with approvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatedNames {
    /// A server that asks for no token believes them: it knows nobody.
    Accepted,
    Refused,
}

impl App {
    /// Loads an approval that waits for its decision, or was decided.
    pub async fn approval(
        &self,
        execution: ExecutionId,
        command: CommandId,
    ) -> Result<ApprovalView, ApprovalError> {
        let summary = self.execution(execution).await?;
        let state = self.control().state_after(execution, summary.seq).await?;
        if let Some(view) = open_approval(&state, command) {
            return Ok(view);
        }
        match state.decided_approval(command) {
            Some(decided) => self.decided_view(&state, decided).await,
            None => Err(ApprovalError::Unknown(execution, command)),
        }
    }

    /// Records a decision; returns the approval with it. The same decision may be sent again: the
    /// first one is returned. Another decision is refused, with the first one.
    pub async fn decide_approval(
        &self,
        execution: ExecutionId,
        decision: ApprovalDecision,
        names: StatedNames,
    ) -> Result<ApprovalView, DecideError> {
        if decision.actor.as_deref().is_some_and(|actor| !is_actor(actor)) {
            return Err(DecideError::BadActor);
        }
        let known = self.execution(execution).await;
        known.map_err(ApprovalError::Load)?;
        let (command, verdict) = (decision.command, decision.verdict);
        if decision.actor_stated && decision.link_by.is_none() && names == StatedNames::Refused {
            let view = self.approval(execution, command).await?;
            if !view.approvers.is_empty() {
                return Err(DecideError::NameNotChecked(view.approvers.join(", ")));
            }
        }
        let values = decision.values.clone();
        match self.control().decide_approval(execution, decision).await? {
            MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_) => {
                Ok(self.approval(execution, command).await?)
            }
            MailboxAnswer::Refused(Refusal::AlreadyDecided(_)) => {
                let first = self.approval(execution, command).await?;
                match is_same(&first, verdict, &values) {
                    true => Ok(first),
                    false => Err(DecideError::Decided(Box::new(first))),
                }
            }
            MailboxAnswer::Refused(refusal) => Err(DecideError::Refused(refusal)),
        }
    }

    async fn decided_view(
        &self,
        state: &Execution,
        decided: &DecidedApproval,
    ) -> Result<ApprovalView, ApprovalError> {
        let (execution, command) = (state.id(), decided.command);
        let unknown = || ApprovalError::Unknown(execution, command);
        let requested =
            self.approval_event(execution, decided.requested).await?.ok_or_else(unknown)?;
        let recorded =
            self.approval_event(execution, decided.decided).await?.ok_or_else(unknown)?;
        let Event::ApprovalRequested { request, .. } = &requested.event else {
            return Err(unknown());
        };
        let Event::ApprovalDecided {
            verdict,
            actor,
            actor_stated,
            link_by,
            comment,
            values,
            timed_out,
            ..
        } = recorded.event
        else {
            return Err(unknown());
        };
        let values = self.control().resolve(execution, &values).await?;
        let issued = (decided.step.to_string(), decided.item);
        let view = view_of(state, command, issued, request, requested.at);
        Ok(ApprovalView {
            decision: Some(ApprovalDecisionView {
                decision: verdict,
                actor,
                actor_stated,
                link_by,
                comment,
                values: (*values).clone(),
                decided_at: recorded.at,
                timed_out,
            }),
            ..view
        })
    }

    async fn approval_event(
        &self,
        execution: ExecutionId,
        seq: Seq,
    ) -> Result<Option<Recorded>, LoadError> {
        let after = Seq(seq.0.saturating_sub(1));
        Ok(self.events(execution, after, 1).await?.into_iter().next())
    }
}

fn is_actor(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= ACTOR_MAX && !name.chars().any(char::is_control)
}

/// True if a decision is the one that was recorded: its verdict and, for an approval, its values.
fn is_same(first: &ApprovalView, verdict: Verdict, values: &Map<String, Value>) -> bool {
    let Some(decision) = &first.decision else { return false };
    let completeness = match verdict {
        Verdict::Approved => Completeness::Complete,
        Verdict::Rejected => Completeness::Partial,
    };
    let request = ApprovalRequest {
        title: first.title.clone(),
        description: None,
        form: first.form.clone(),
        approvers: Vec::new(),
        deadline: None,
        on_timeout: first.on_timeout,
        on_reject: first.on_reject,
    };
    let given = form_of(&request).check(values, completeness);
    decision.decision == verdict && given.is_ok_and(|given| Value::Object(given) == decision.values)
}

/// Returns an approval of a state that waits for its decision.
pub(crate) fn open_approval(state: &Execution, command: CommandId) -> Option<ApprovalView> {
    let open = state.open_command(command)?;
    let CommandWait::Approval { request, since, .. } = open.waits_for else { return None };
    let issued = (open.step.to_string(), open.task.place.item());
    Some(view_of(state, command, issued, request, since))
}

fn view_of(
    state: &Execution,
    command: CommandId,
    (step, item): (String, Option<u64>),
    request: &ApprovalRequest,
    requested_at: Timestamp,
) -> ApprovalView {
    ApprovalView {
        execution_id: state.id().into(),
        command: command.0,
        path: state.playbook().path.clone(),
        step,
        item,
        title: request.title.clone(),
        description: request.description.clone(),
        form: request.form.clone(),
        approvers: request.approvers.clone(),
        requested_at,
        deadline: request.deadline,
        on_timeout: request.on_timeout,
        on_reject: request.on_reject,
        decision: None,
    }
}
