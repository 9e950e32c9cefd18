//! Approvals: commands that a person ends, without a worker.

use std::sync::Arc;

use noetl_model::{
    ApprovalRequest, ApprovalTimeout, Attempt, CommandId, DECISION_COMMENT_MAX, ErrorKind, Event,
    Payload, RejectionEffect, TimerPurpose, ToolError, Verdict,
};
use noetl_playbook::{Completeness, FormProblem};
use serde_json::{Map, Value, json};

use super::draft::DecisionDraft;
use super::halt::Halt;
use super::refused;
use super::task::EndRecord;
use crate::approval::{approval_request, form_of};
use crate::state::CommandHolder;
use crate::{CommandResult, Decision, Execution, Refusal};

/// The decision of a person about an approval.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalDecision {
    pub command: CommandId,
    pub verdict: Verdict,
    /// The name of the person.
    pub actor: Option<String>,
    /// True if the caller has stated the name and nobody has checked it.
    pub actor_stated: bool,
    /// The caller who made the link with which the person decides.
    pub link_by: Option<String>,
    pub comment: Option<String>,
    /// The values of the form.
    pub values: Map<String, Value>,
}

/// Records a decision, and ends the approval.
pub(super) fn decide(
    mut draft: DecisionDraft<'_>,
    decision: &ApprovalDecision,
) -> Result<Decision, Halt> {
    let command = decision.command;
    let request = match open_approval(&draft.state, command) {
        Ok(request) => request,
        Err(refusal) => return Ok(refused(refusal)),
    };
    let ended = match checked(&request, decision) {
        Ok(values) => draft.record_verdict(command, &request, Ended::by(decision, values)),
        Err(refusal) => return Ok(refused(refusal)),
    };
    draft.command_ended(command, EndRecord::of(Attempt(1), &ended))?;
    Ok(Decision::Accepted(draft.into_events()))
}

/// Returns the reason why a command cannot be decided, of an execution that may have ended.
pub(super) fn open_approval(
    state: &Execution,
    command: CommandId,
) -> Result<Arc<ApprovalRequest>, Refusal> {
    if let Some(decided) = state.decided_approval(command) {
        return Err(Refusal::AlreadyDecided(decided.clone()));
    }
    if state.status.is_terminal() {
        return Err(Refusal::Finished(state.status));
    }
    let Some(open) = state.commands.get(&command) else {
        let is_unknown = command.0 >= state.drawn.commands;
        return Err(if is_unknown {
            Refusal::UnknownCommand(command)
        } else {
            Refusal::CommandFinished(command)
        });
    };
    match &open.holder {
        CommandHolder::Approval { request, .. } => Ok(request.clone()),
        CommandHolder::Nobody
        | CommandHolder::Worker { .. }
        | CommandHolder::Child { .. }
        | CommandHolder::Callback { .. }
        | CommandHolder::Wait { .. } => Err(Refusal::NoApproval(command)),
    }
}

/// Returns the values of a decision if its actor may decide and all of it fits.
fn checked(
    request: &ApprovalRequest,
    decision: &ApprovalDecision,
) -> Result<Map<String, Value>, Refusal> {
    let is_approver = |actor: &String| request.approvers.contains(actor);
    if !request.approvers.is_empty() && !decision.actor.as_ref().is_some_and(is_approver) {
        return Err(Refusal::NotAnApprover {
            actor: decision.actor.clone(),
            approvers: request.approvers.clone(),
        });
    }
    // A rejection need not fill in the form.
    let completeness = match decision.verdict {
        Verdict::Approved => Completeness::Complete,
        Verdict::Rejected => Completeness::Partial,
    };
    let checked = form_of(request).check(&decision.values, completeness);
    let mut problems = checked.as_ref().err().cloned().unwrap_or_default();
    let comment = decision.comment.as_deref().unwrap_or_default();
    let len = comment.chars().count();
    if len > DECISION_COMMENT_MAX {
        let message =
            format!("the comment has {len} characters; {DECISION_COMMENT_MAX} are allowed");
        problems.push(FormProblem { field: String::new(), message });
    }
    match checked {
        Ok(values) if problems.is_empty() => Ok(values),
        Ok(_) | Err(_) => Err(Refusal::UnfitDecision(problems)),
    }
}

/// The end of an approval.
struct Ended {
    verdict: Verdict,
    actor: Option<String>,
    actor_stated: bool,
    link_by: Option<String>,
    comment: Option<String>,
    values: Map<String, Value>,
    /// True if the deadline has decided.
    timed_out: bool,
}

impl Ended {
    fn by(decision: &ApprovalDecision, values: Map<String, Value>) -> Self {
        let (actor, comment) = (decision.actor.clone(), decision.comment.clone());
        let link_by = decision.link_by.clone();
        let ApprovalDecision { verdict, actor_stated, .. } = *decision;
        Self { verdict, actor, actor_stated, link_by, comment, values, timed_out: false }
    }
}

impl DecisionDraft<'_> {
    /// Opens the approval of a command that was issued in this decision.
    pub(super) fn open_approval(&mut self, command: CommandId) -> Result<(), Halt> {
        let Some(task) = self.state.commands.get(&command).map(|open| open.task) else {
            return Ok(());
        };
        let written = self.written_timeout(task);
        let request = match approval_request(&self.state, command, written, self.given)? {
            Ok(request) => Arc::new(request),
            Err(error) => {
                let ended = CommandResult::Failed { error, output: None };
                return self.command_ended(command, EndRecord::of(Attempt(1), &ended));
            }
        };
        let deadline = request.deadline;
        self.emit(Event::ApprovalRequested { command, request });
        if let Some(deadline) = deadline {
            let left = deadline.since(self.given.now);
            self.set_timer(left, TimerPurpose::TaskTimeout { task });
        }
        Ok(())
    }

    /// Ends an approval whose deadline has passed.
    pub(super) fn approval_gave_up(
        &mut self,
        command: CommandId,
        request: &ApprovalRequest,
        message: String,
    ) -> Result<(), Halt> {
        let (verdict, completeness) = match request.on_timeout {
            ApprovalTimeout::Fail => {
                let error = ToolError::new(ErrorKind::Timeout, message);
                let ended = CommandResult::Failed { error, output: None };
                return self.command_ended(command, EndRecord::of(Attempt(1), &ended));
            }
            ApprovalTimeout::Approve => (Verdict::Approved, Completeness::Complete),
            ApprovalTimeout::Reject => (Verdict::Rejected, Completeness::Partial),
        };
        let values = form_of(request).check(&Map::new(), completeness).unwrap_or_default();
        let ended = Ended {
            verdict,
            actor: None,
            actor_stated: false,
            link_by: None,
            comment: None,
            values,
            timed_out: true,
        };
        let ended = self.record_verdict(command, request, ended);
        self.command_ended(command, EndRecord::of(Attempt(1), &ended))
    }

    /// Records a decision without any consequences.
    pub(super) fn record_decision(&mut self, decision: &ApprovalDecision) {
        let command = decision.command;
        let Ok(request) = open_approval(&self.state, command) else { return };
        if let Ok(values) = checked(&request, decision) {
            let ended = self.record_verdict(command, &request, Ended::by(decision, values));
            self.record_end(command, EndRecord::of(Attempt(1), &ended));
        }
    }

    /// Records a verdict; returns the result of the command, which is still open.
    fn record_verdict(
        &mut self,
        command: CommandId,
        request: &ApprovalRequest,
        ended: Ended,
    ) -> CommandResult {
        let Ended { verdict, actor, actor_stated, link_by, comment, values, timed_out } = ended;
        let values = Value::Object(values);
        let decided_at = self.state.event_time(self.given.now);
        let output = json!({
            "approved": verdict.is_approved(),
            "decision": verdict,
            "actor": actor,
            "comment": comment,
            "values": values,
            "decided_at": decided_at.to_string(),
            "timed_out": timed_out,
        });
        let error = rejection(request, verdict, actor.as_deref(), comment.as_deref());
        let values = Payload::inline(values);
        self.emit(Event::ApprovalDecided {
            command,
            verdict,
            actor,
            actor_stated,
            link_by,
            comment,
            values,
            timed_out,
        });
        let output = Payload::inline(output);
        match error {
            None => CommandResult::Completed { output },
            Some(error) => CommandResult::Failed { error, output: Some(output) },
        }
    }
}

/// Returns the error of a rejection that fails its step.
fn rejection(
    request: &ApprovalRequest,
    verdict: Verdict,
    actor: Option<&str>,
    comment: Option<&str>,
) -> Option<ToolError> {
    match (verdict, request.on_reject) {
        (Verdict::Approved, _) | (Verdict::Rejected, RejectionEffect::Continue) => None,
        (Verdict::Rejected, RejectionEffect::Fail) => {
            let by = actor.map(|actor| format!(" by {actor}")).unwrap_or_default();
            let said = comment.map(|said| format!(": {said}")).unwrap_or_default();
            let message = format!("`{}` was rejected{by}{said}", request.title);
            Some(ToolError::new(ErrorKind::Rejected, message))
        }
    }
}
