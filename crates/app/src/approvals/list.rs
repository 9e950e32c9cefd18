//! The approvals that wait for a decision.

use noetl_api::wire::ApprovalView;
use noetl_control::LoadError;
use noetl_engine::OpenHolder;
use noetl_model::{CommandId, ExecutionId, IndexKey, IndexKind, Timestamp};
use noetl_store::{OpenIndexPlace, PAGE_MAX, StoreError};

use super::open_approval;
use crate::app::App;

/// Maximum number of approvals on a page.
pub const APPROVALS_MAX: usize = 100;
/// Number of approvals on a page unless the request says otherwise.
const APPROVALS_USUAL: usize = 50;
/// Maximum number of index entries that one page reads.
const READ_MAX: usize = 1000;

/// A page of the approvals that wait.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalQuery {
    /// The cursor that the page before has returned.
    pub after: Option<String>,
    pub limit: Option<usize>,
    /// Only approvals that this actor may decide.
    pub approver: Option<String>,
}

/// Approvals that wait for a decision, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenApprovals {
    pub approvals: Vec<ApprovalView>,
    /// The cursor of the next page; `None` on the last page.
    pub next: Option<String>,
}

impl App {
    /// Lists the approvals that wait for a decision, oldest first.
    pub async fn open_approvals(&self, query: &ApprovalQuery) -> Result<OpenApprovals, StoreError> {
        let limit = query.limit.unwrap_or(APPROVALS_USUAL).clamp(1, APPROVALS_MAX);
        let mut after = query.after.as_deref().and_then(place_of);
        let mut approvals = Vec::new();
        let mut read = 0;
        loop {
            let rows =
                self.store().open_index(IndexKind::Approval, after.as_ref(), PAGE_MAX).await?;
            let is_last = rows.len() < PAGE_MAX;
            for row in rows {
                let (Some(place), Some(command)) = (row.open_place(), row.entry.command) else {
                    continue;
                };
                if approvals.len() == limit || read == READ_MAX {
                    return Ok(OpenApprovals { approvals, next: after.as_ref().map(cursor) });
                }
                read += 1;
                let view = self.waiting_approval(place.execution, command).await;
                after = Some(place);
                approvals.extend(view.filter(|view| admits(view, query.approver.as_deref())));
            }
            if is_last {
                return Ok(OpenApprovals { approvals, next: None });
            }
        }
    }

    /// Returns the approvals of an execution that wait for a decision, at most [`APPROVALS_MAX`].
    pub async fn approvals_of(
        &self,
        execution: ExecutionId,
    ) -> Result<Vec<ApprovalView>, LoadError> {
        let summary = self.execution(execution).await?;
        let state = self.control().state_after(execution, summary.seq).await?;
        let open = state.open_commands().filter_map(|(command, _, holder)| match holder {
            OpenHolder::Wait => open_approval(&state, command),
            OpenHolder::Nobody
            | OpenHolder::Blocked
            | OpenHolder::Worker(_)
            | OpenHolder::Child
            | OpenHolder::Callback => None,
        });
        Ok(open.take(APPROVALS_MAX).collect())
    }

    /// Returns the number of approvals that wait for a decision, counting at most `max`.
    pub async fn count_open_approvals(&self, max: usize) -> Result<usize, StoreError> {
        let max = max.min(PAGE_MAX);
        Ok(self.store().open_index(IndexKind::Approval, None, max).await?.len())
    }

    /// Loads an approval that waits; `None` if it has been decided since, or cannot be read.
    async fn waiting_approval(
        &self,
        execution: ExecutionId,
        command: CommandId,
    ) -> Option<ApprovalView> {
        let loaded: Result<_, LoadError> = async {
            let summary = self.execution(execution).await?;
            self.control().state_after(execution, summary.seq).await
        }
        .await;
        match loaded {
            Ok(state) => open_approval(&state, command),
            Err(error) => {
                tracing::warn!(%error, %execution, "an approval cannot be shown");
                None
            }
        }
    }
}

fn admits(view: &ApprovalView, approver: Option<&str>) -> bool {
    let Some(approver) = approver else { return true };
    view.approvers.is_empty() || view.approvers.iter().any(|name| name == approver)
}

/// Writes a place as a cursor.
fn cursor(place: &OpenIndexPlace) -> String {
    let command = place.command.map_or(0, |command| command.0);
    format!("{}.{}.{command}", place.at.as_micros(), place.execution.0)
}

/// Reads a cursor; `None` if it is not one, which lists from the beginning.
fn place_of(cursor: &str) -> Option<OpenIndexPlace> {
    let mut parts = cursor.splitn(3, '.');
    let mut next = || parts.next();
    Some(OpenIndexPlace {
        at: Timestamp::from_micros(next()?.parse().ok()?),
        execution: ExecutionId(next()?.parse().ok()?),
        command: Some(CommandId(next()?.parse().ok()?)),
        key: IndexKey::new(noetl_engine::APPROVAL_INDEX_KEY),
    })
}
