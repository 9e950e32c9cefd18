//! Child executions: commands that the control plane runs itself.
//!
//! A command has at most one child: starting it twice gives the same execution, so after a crash
//! between the start and the notification of the parent both are repeated.

use std::error::Error;
use std::time::Duration;

use futures::future::join_all;
use noetl_engine::{
    ChildCall, ChildPlaybook, ChildRequest, CommandResult, Execution, Input, StartInput,
    child_request,
};
use noetl_model::{
    CommandId, Cutoff, ErrorKind, ErrorMode, Event, ExecutionId, ExecutionStatus, Labels,
    LeaseScope, Origin, Payload, Pool, Seq, ToolError,
};
use noetl_store::{KeyHolder, ReadyCommand, StartKey, StoreError};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::error::{LoadError, PLAYBOOK_ARCHIVED};
use crate::loops::relay::ended;
use crate::starts::start::{PlaybookChoice, StartRequest, Started};
use crate::submit::needs::{Fetched, LogPart};
use crate::tasks::pause;
use crate::work::lease::ReadyKey;
use crate::work::reservations::{ASIDE, RowReservation};
use crate::{Admission, Control, MailboxAnswer, StartError, SubmitError};

/// The scope of the start keys of children that no command waits for.
const START_SCOPE: &str = "child";
/// The lifetime of such a key: until the parent has certainly been notified.
const START_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// The largest number of children started concurrently.
const CHILDREN_MAX: usize = 64;

impl Control {
    /// Starts requested children until `stop`.
    pub(crate) async fn start_children(self, stop: CancellationToken) {
        let wakes = &self.parts.wakes;
        loop {
            let wait = match self.start_waiting().await {
                Ok(0) => self.parts.settings.poll,
                Ok(_) => Duration::ZERO,
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, "cannot read the child executions to start; will retry");
                    self.parts.settings.poll
                }
            };
            if !pause(&stop, &wakes.children, wait).await {
                return;
            }
        }
    }

    /// Starts the waiting children and returns their number.
    async fn start_waiting(&self) -> Result<usize, StoreError> {
        let taken = self.take_ready(LeaseScope::All, &Pool::control(), CHILDREN_MAX).await?;
        let starting = taken.into_iter().map(|(row, in_hand)| self.carry_out(row, in_hand));
        Ok(join_all(starting).await.len())
    }

    async fn carry_out(&self, row: ReadyCommand, in_hand: RowReservation<'_, ReadyKey>) {
        let (execution, command) = (row.execution, row.command);
        match self.start_child(execution, command).await {
            Ok(Carried::Out) => {}
            Ok(Carried::Over) => in_hand.set_aside(ASIDE),
            Ok(Carried::Later) => in_hand.set_aside(self.parts.settings.poll),
            Err(error) => {
                in_hand.set_aside(self.aside_after(&error));
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, %execution, %command, "cannot start a child execution; will retry");
            }
        }
    }

    async fn start_child(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<Carried, SubmitError> {
        let (state, call) = self.child_call(parent, command).await?;
        let error = match call {
            ChildCall::Settled => return Ok(Carried::Over),
            ChildCall::Blocked => return Ok(Carried::Later),
            ChildCall::Invalid(error) => error,
            ChildCall::Start(wanted) => {
                let playbook = wanted.playbook.to_string();
                let is_awaited = matches!(wanted.origin, Origin::Parent { .. });
                match self.start_with_details(child_start(&state, command, wanted)).await {
                    Ok(Started { execution: child, is_new, commands: _ }) if is_awaited => {
                        self.tell_started(parent, command, child).await?;
                        self.settle_started(parent, command, (child, is_new)).await?;
                        return Ok(Carried::Out);
                    }
                    // If the key is taken, its holder is the child that an earlier try has started.
                    Ok(Started { execution: child, .. })
                    | Err(StartError::KeyTaken(KeyHolder { execution: child, .. })) => {
                        let ended =
                            CommandResult::Completed { output: left_to_itself(child, &playbook) };
                        self.submit(parent, Input::ChildEnded { command, ended }).await?;
                        return Ok(Carried::Out);
                    }
                    Err(StartError::Submit(error)) if error.is_transient() => return Err(error),
                    Err(StartError::BacklogFull(_)) => return Ok(Carried::Later),
                    Err(error) => unstartable(&playbook, &error),
                }
            }
        };
        let ended = CommandResult::Failed { error, output: None };
        self.submit(parent, Input::ChildEnded { command, ended }).await?;
        Ok(Carried::Out)
    }

    /// Returns the child that a command requests, and the state of its execution.
    async fn child_call(
        &self,
        parent: ExecutionId,
        command: CommandId,
    ) -> Result<(Execution, ChildCall), LoadError> {
        let state = self.known_state(parent).await?;
        let call = self.read_call(&state, command).await?;
        if call != ChildCall::Settled {
            return Ok((state, call));
        }
        // The command may be newer than the cached state of the execution.
        let state = self.state(parent, Cutoff::Latest).await?;
        let call = self.read_call(&state, command).await?;
        Ok((state, call))
    }

    async fn read_call(
        &self,
        state: &Execution,
        command: CommandId,
    ) -> Result<ChildCall, LoadError> {
        let playbook = self.playbook_of(state).await?;
        let (log, now) = (LogPart::stored(state.id(), state.seq()), self.parts.stamps.now());
        self.satisfy(log, &mut Fetched::default(), |asked| {
            child_request(state, command, self.given(&playbook, asked, now))
        })
        .await
    }

    /// Notifies the parent of its child; cancels the child if the parent does not accept it.
    async fn tell_started(
        &self,
        parent: ExecutionId,
        command: CommandId,
        child: ExecutionId,
    ) -> Result<(), SubmitError> {
        match self.submit(parent, Input::ChildStarted { command, child }).await? {
            MailboxAnswer::Accepted | MailboxAnswer::Leased(_) | MailboxAnswer::HandedOver(_) => {
                Ok(())
            }
            MailboxAnswer::Refused(refusal) => {
                tracing::debug!(%parent, %command, %child, %refusal, "the parent no longer waits for its child");
                self.cancel(child, "its parent no longer waits for it").await.map(|_| ())
            }
        }
    }
}

impl Control {
    /// Repairs what a restore of the store can leave once a parent knows its child: a child that
    /// was lost between its start and the notification, and a child that has ended before its
    /// command was issued again.
    async fn settle_started(
        &self,
        parent: ExecutionId,
        command: CommandId,
        (child, is_new): (ExecutionId, bool),
    ) -> Result<(), SubmitError> {
        let summary = self.parts.store.summary(child).await;
        let summary = summary.map_err(|error| LoadError::of_store(child, error))?;
        match summary {
            None => {
                let message = format!("the database was restored and has lost the child {child}");
                let error = ToolError::new(ErrorKind::Child, message);
                let ended = CommandResult::Failed { error, output: None };
                self.submit(parent, Input::ChildEnded { command, ended }).await?;
                Ok(())
            }
            Some(summary) if !is_new && summary.status.is_terminal() => {
                self.repeat_end(parent, command, child).await
            }
            Some(_) => Ok(()),
        }
    }

    /// Reports the end of the child to the parent again.
    async fn repeat_end(
        &self,
        parent: ExecutionId,
        command: CommandId,
        child: ExecutionId,
    ) -> Result<(), SubmitError> {
        let mut after = Seq::ZERO;
        loop {
            let page = self.read_page(child, after).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.seq;
            if let Some(ended) = page.iter().find_map(|recorded| end_of(child, &recorded.event)) {
                self.submit(parent, Input::ChildEnded { command, ended }).await?;
                return Ok(());
            }
        }
    }
}

/// Returns the result of a child if `event` is its terminal event.
fn end_of(child: ExecutionId, event: &Event) -> Option<CommandResult> {
    let null = Payload::null();
    if let Event::ExecutionCompleted { output, .. } = event {
        Some(ended(child, ExecutionStatus::Completed, output, None))
    } else if let Event::ExecutionFailed { error, .. } = event {
        Some(ended(child, ExecutionStatus::Failed, &null, Some(error)))
    } else if let Event::ExecutionCancelled { reason, .. } = event {
        let error = ToolError::new(ErrorKind::Child, format!("cancelled: {reason}"));
        Some(ended(child, ExecutionStatus::Cancelled, &null, Some(&error)))
    } else {
        None
    }
}

/// The result of handling a row of the control plane's own pool.
enum Carried {
    Out,
    /// The command does not request a child any more.
    Over,
    /// The backlog is full, or the parent is paused; the start is retried.
    Later,
}

/// Returns the output of a command that does not wait for its child.
fn left_to_itself(child: ExecutionId, playbook: &str) -> Payload {
    Payload::inline(json!({
        "status": "started",
        "execution_id": child.to_string(),
        "path": playbook,
        "async": true,
    }))
}

/// Returns the start request for a child, with the pool, error mode and labels of its parent.
fn child_start(parent: &Execution, command: CommandId, wanted: ChildRequest) -> StartRequest {
    let ChildRequest { playbook, payload, origin } = wanted;
    let key = match &origin {
        Origin::Linked { execution, .. } => Some(StartKey {
            scope: START_SCOPE.to_owned(),
            name: format!("{execution}/{command}"),
            keep: START_KEPT,
            request: None,
        }),
        // The store allows at most one child per command, so no key is needed.
        Origin::Parent { .. }
        | Origin::Request
        | Origin::Schedule { .. }
        | Origin::Rerun { .. } => None,
    };
    StartRequest {
        playbook: match playbook {
            ChildPlaybook::Path { path, version } => PlaybookChoice::Path { path, version },
            ChildPlaybook::Id(id) => PlaybookChoice::Id(id),
        },
        input: StartInput {
            payload,
            error_mode: match parent.error_mode() {
                ErrorMode::Strict => None,
                ErrorMode::Lenient => Some(ErrorMode::Lenient),
            },
            origin,
            pool: parent.pool().clone(),
            priority: Some(parent.priority()),
            paused: None,
            trace: parent.trace().cloned(),
            notice: parent.notice().cloned(),
            inherited: parent.labels().clone(),
            labels: Labels::default(),
            actor: None,
            added: &[],
        },
        key,
        admission: Admission::Internal,
    }
}

/// Returns the tool error for a child that cannot be started.
fn unstartable(path: &str, error: &StartError) -> ToolError {
    let kind = match error {
        StartError::UnknownPlaybook(_) | StartError::ArchivedPlaybook(_) => ErrorKind::NotFound,
        StartError::PayloadTooLarge => ErrorKind::StorageQuota,
        StartError::PayloadTooNested | StartError::InvalidInputs(_) => ErrorKind::Schema,
        StartError::TooDeep { .. }
        | StartError::ParentCancelled(_)
        | StartError::AmbiguousName(_)
        | StartError::CredentialNotPermitted(_)
        | StartError::KeyTaken(_)
        | StartError::Refused(_)
        | StartError::BacklogFull(_)
        | StartError::Submit(_) => ErrorKind::Child,
    };
    let mut reasons = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        reasons = format!("{reasons}: {error}");
        cause = error.source();
    }
    let code = match error {
        StartError::ArchivedPlaybook(_) => Some(PLAYBOOK_ARCHIVED.to_owned()),
        StartError::UnknownPlaybook(_)
        | StartError::AmbiguousName(_)
        | StartError::InvalidInputs(_)
        | StartError::PayloadTooLarge
        | StartError::PayloadTooNested
        | StartError::TooDeep { .. }
        | StartError::ParentCancelled(_)
        | StartError::CredentialNotPermitted(_)
        | StartError::KeyTaken(_)
        | StartError::Refused(_)
        | StartError::BacklogFull(_)
        | StartError::Submit(_) => None,
    };
    let message = format!("child `{path}` cannot be started: {reasons}");
    ToolError { code, ..ToolError::new(kind, message) }
}
