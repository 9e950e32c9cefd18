//! Executions below others: linking a request to a parent, and cancelling executions with theirs.

use futures::future::join_all;
use noetl_engine::Input;
use noetl_model::{Actor, ChildExecutions, ExecutionId, ExecutionStatus, Labels, Origin, Parent};
use noetl_store::{ExecutionFilter, PAGE_MAX, Page};

use crate::error::LoadError;
use crate::loops::relay::known;
use crate::{Control, MailboxAnswer, StartError, StartRequest, SubmitError};

impl Control {
    /// Links a start request to a parent execution that does not wait for it. The parent's labels are
    /// inherited, and its trace is used if the request has none. The id may also be that of another object, such as a
    /// subscription.
    pub async fn linked(
        &self,
        mut request: StartRequest,
        above: ExecutionId,
    ) -> Result<StartRequest, StartError> {
        let (depth, trace, labels) = match self.known_state(above).await {
            Ok(state) if state.status() == ExecutionStatus::Cancelled => {
                return Err(StartError::ParentCancelled(above));
            }
            Ok(state) => (state.depth() + 1, state.trace().cloned(), state.labels().clone()),
            Err(LoadError::NotFound(_)) => (0, None, Labels::default()),
            Err(error) => return Err(error.into()),
        };
        request.input.origin = Origin::Linked { execution: above, depth };
        request.input.trace = request.input.trace.or(trace);
        request.input.inherited = labels;
        Ok(request)
    }

    /// Cancels an execution, its open work, and all executions below it.
    pub async fn cancel(
        &self,
        execution: ExecutionId,
        reason: impl Into<String>,
    ) -> Result<MailboxAnswer, SubmitError> {
        self.cancel_with(execution, reason, ChildExecutions::Cancelled, None).await
    }

    /// Cancels an execution and its open work.
    pub async fn cancel_with(
        &self,
        execution: ExecutionId,
        reason: impl Into<String>,
        below: ChildExecutions,
        actor: Option<Actor>,
    ) -> Result<MailboxAnswer, SubmitError> {
        self.submit(execution, Input::Cancel { reason: reason.into(), below, actor }).await
    }

    /// Cancels the executions that requests started below an execution; children of its commands
    /// get their own messages.
    pub(crate) async fn cancel_linked(
        &self,
        above: ExecutionId,
        reason: &str,
    ) -> Result<(), SubmitError> {
        let filter = ExecutionFilter {
            parent: Some(above),
            status: Some(ExecutionStatus::Running),
            ..ExecutionFilter::default()
        };
        let mut before = None;
        loop {
            let page = Page { before, limit: PAGE_MAX };
            let found = self.parts.store.list(&filter, page).await;
            let found = found.map_err(|error| LoadError::of_store(above, error))?;
            let linked = found.iter().filter(|it| it.parent.and_then(Parent::command).is_none());
            let cancelled = join_all(linked.map(async |it| {
                // A refusal means that the execution has ended meanwhile.
                known(self.cancel(it.execution, reason).await.map(|_| ()))
            }));
            cancelled.await.into_iter().collect::<Result<(), _>>()?;
            before = found.last().map(|it| it.execution);
            if found.len() < PAGE_MAX {
                return Ok(());
            }
        }
    }
}
