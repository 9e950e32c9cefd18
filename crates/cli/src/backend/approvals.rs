//! Approvals, here or on a server.

use async_trait::async_trait;
use noetl_api::wire::{
    ApprovalLink, ApprovalLinkBody, ApprovalList, ApprovalView, ApprovalsQuery, DecisionBody,
};
use noetl_app::{ApprovalError, ApprovalQuery, DecideError, LinkError, LinkMaker, StatedNames};
use noetl_engine::ApprovalDecision;
use noetl_model::{CommandId, ExecutionId};
use noetl_playbook::duration_of;
use serde_json::{Value, json};

use super::local::Session;
use super::remote::Remote;
use super::url::segment;
use crate::show::failure::Failure;

/// The operations on approvals.
#[async_trait]
pub(crate) trait Approvals {
    /// Lists the approvals that wait for a decision, oldest first.
    async fn approvals(&self, query: ApprovalsQuery) -> Result<Vec<ApprovalView>, Failure>;

    async fn approval(
        &self,
        execution: ExecutionId,
        command: CommandId,
    ) -> Result<ApprovalView, Failure>;

    /// Records a decision; returns the approval with it.
    async fn decide(
        &self,
        execution: ExecutionId,
        decision: ApprovalDecision,
    ) -> Result<ApprovalView, Failure>;

    async fn approval_link(
        &self,
        execution: ExecutionId,
        command: CommandId,
        body: ApprovalLinkBody,
    ) -> Result<ApprovalLink, Failure>;
}

fn failed(error: ApprovalError) -> Failure {
    match error {
        ApprovalError::Unknown(..) => Failure::bad_input(error),
        ApprovalError::Load(_) | ApprovalError::Store(_) => Failure::broken(error),
    }
}

fn refused(error: DecideError) -> Failure {
    match error {
        DecideError::BadActor
        | DecideError::NameNotChecked(_)
        | DecideError::Decided(_)
        | DecideError::Refused(_) => Failure::bad_input(error),
        DecideError::Show(error) => failed(error),
        DecideError::Submit(_) => Failure::broken(error),
    }
}

fn no_link(error: LinkError) -> Failure {
    match error {
        LinkError::Show(error) => failed(error),
        LinkError::TooLong
        | LinkError::BadActor
        | LinkError::Decided
        | LinkError::NoApprover(_)
        | LinkError::NotForOthers
        | LinkError::Invalid
        | LinkError::Expired(_) => Failure::bad_input(error),
    }
}

#[async_trait]
impl Approvals for Session {
    async fn approvals(&self, query: ApprovalsQuery) -> Result<Vec<ApprovalView>, Failure> {
        let ApprovalsQuery { after, limit, approver, execution_id } = query;
        if let Some(execution) = execution_id {
            return self.app().approvals_of(execution.into()).await.map_err(Failure::broken);
        }
        let found = self.app().open_approvals(&ApprovalQuery { after, limit, approver }).await;
        Ok(found.map_err(Failure::broken)?.approvals)
    }

    async fn approval(
        &self,
        execution: ExecutionId,
        command: CommandId,
    ) -> Result<ApprovalView, Failure> {
        self.app().approval(execution, command).await.map_err(failed)
    }

    async fn decide(
        &self,
        execution: ExecutionId,
        decision: ApprovalDecision,
    ) -> Result<ApprovalView, Failure> {
        // The user of the database file may write anything into it.
        let decided = self.app().decide_approval(execution, decision, StatedNames::Accepted);
        decided.await.map_err(refused)
    }

    async fn approval_link(
        &self,
        execution: ExecutionId,
        command: CommandId,
        body: ApprovalLinkBody,
    ) -> Result<ApprovalLink, Failure> {
        let valid_for = body.valid_for.as_ref().map(|valid_for| {
            duration_of(valid_for).ok_or_else(|| {
                Failure::bad_input(anyhow::anyhow!("{valid_for} is not a duration such as 2d"))
            })
        });
        let (valid_for, maker) =
            (valid_for.transpose()?, LinkMaker::ForEveryone(self.actor().map(String::from)));
        let made = self.app().approval_link(execution, command, body.actor, valid_for, &maker);
        made.await.map_err(no_link)
    }
}

#[async_trait]
impl Approvals for Remote {
    async fn approvals(&self, query: ApprovalsQuery) -> Result<Vec<ApprovalView>, Failure> {
        let limit = query.limit.unwrap_or(50);
        let mut path = format!("api/approvals?limit={limit}");
        if let Some(approver) = &query.approver {
            path.push_str(&format!("&approver={}", segment(approver)));
        }
        if let Some(execution) = query.execution_id {
            path.push_str(&format!("&execution_id={execution}"));
        }
        let list: ApprovalList = self.get(&path).await?;
        Ok(list.approvals)
    }

    async fn approval(
        &self,
        execution: ExecutionId,
        command: CommandId,
    ) -> Result<ApprovalView, Failure> {
        self.get(&format!("api/approvals/{execution}/{command}")).await
    }

    async fn decide(
        &self,
        execution: ExecutionId,
        decision: ApprovalDecision,
    ) -> Result<ApprovalView, Failure> {
        let ApprovalDecision {
            command,
            verdict,
            actor,
            actor_stated: _,
            link_by: _,
            comment,
            values,
        } = decision;
        let body: Value = json!(DecisionBody { decision: verdict.into(), comment, actor, values });
        self.post(&format!("api/approvals/{execution}/{command}/decision"), &body).await
    }

    async fn approval_link(
        &self,
        execution: ExecutionId,
        command: CommandId,
        body: ApprovalLinkBody,
    ) -> Result<ApprovalLink, Failure> {
        self.post(&format!("api/approvals/{execution}/{command}/link"), &json!(body)).await
    }
}
