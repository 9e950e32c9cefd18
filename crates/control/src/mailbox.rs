//! One mailbox per execution, in which inputs wait while earlier ones are being written.
//!
//! A mailbox exists as long as a task drives it: the first input opens it and spawns its driver,
//! which takes all waiting inputs in batches and closes it when none is left.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use noetl_engine::{Input, Refusal};
use noetl_model::{ExecutionId, Lease, Pool};
use tokio::sync::oneshot;

use crate::payloads::Large;
use crate::tasks::OnPanic;
use crate::{Control, SubmitError};

/// The largest number of inputs waiting for one execution.
pub const MAILBOX_MAX: usize = 4096;

/// The durable result of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The input was applied, now or by an earlier delivery of the same input.
    Accepted,
    /// The command leased by a claim, or with a report by a worker that has a free slot.
    Leased(Box<Lease>),
    /// The report was applied before, and this command was leased to the worker with it.
    HandedOver(Box<Lease>),
    /// The input was not applied.
    Refused(Refusal),
}

/// An input with its attachments.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) input: Input,
    /// Large values that the input refers to and that are not stored yet.
    pub(crate) large: Vec<Arc<Large>>,
    /// The pool from which the reporting worker can take a following command.
    pub(crate) next: Option<Pool>,
}

/// An input waiting in a mailbox.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) submission: Submission,
    pub(crate) answer: oneshot::Sender<Result<Answer, SubmitError>>,
}

/// The waiting inputs by execution.
#[derive(Debug, Default)]
pub(crate) struct Mailboxes {
    open: Mutex<BTreeMap<ExecutionId, Vec<Posted>>>,
}

enum Posting {
    /// The mailbox is new and needs a driver task.
    Opened,
    Queued,
    Full,
}

impl Mailboxes {
    fn post(&self, execution: ExecutionId, posted: Posted) -> Posting {
        let mut open = self.open();
        match open.get_mut(&execution) {
            None => {
                open.insert(execution, vec![posted]);
                Posting::Opened
            }
            Some(waiting) if waiting.len() >= MAILBOX_MAX => Posting::Full,
            Some(waiting) => {
                waiting.push(posted);
                Posting::Queued
            }
        }
    }

    /// Takes all waiting inputs; closes the mailbox if there are none.
    fn take(&self, execution: ExecutionId) -> Vec<Posted> {
        let mut open = self.open();
        let posted = open.get_mut(&execution).map(std::mem::take).unwrap_or_default();
        if posted.is_empty() {
            open.remove(&execution);
        }
        posted
    }

    /// True if at most one execution has an open mailbox.
    pub(crate) fn is_single(&self) -> bool {
        self.open().len() <= 1
    }

    fn close(&self, execution: ExecutionId) {
        self.open().remove(&execution);
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, Vec<Posted>>> {
        self.open.lock().expect("nothing panics while it holds the mailboxes")
    }
}

impl Control {
    /// Submits an input to an execution and waits until its result is durable.
    pub async fn submit(
        &self,
        execution: ExecutionId,
        input: Input,
    ) -> Result<Answer, SubmitError> {
        self.post(execution, Submission { input, large: Vec::new(), next: None }).await
    }

    /// Does the same as `submit` for an input with attachments.
    pub(crate) async fn post(
        &self,
        execution: ExecutionId,
        submission: Submission,
    ) -> Result<Answer, SubmitError> {
        let (answer, answered) = oneshot::channel();
        match self.parts.mailboxes.post(execution, Posted { submission, answer }) {
            Posting::Queued => {}
            Posting::Full => return Err(SubmitError::Busy(execution)),
            Posting::Opened => {
                let control = self.clone();
                self.parts.tasks.spawn(async move { control.drive(execution).await });
            }
        }
        answered.await.unwrap_or(Err(SubmitError::Stopped))
    }

    async fn drive(&self, execution: ExecutionId) {
        let mailboxes = &self.parts.mailboxes;
        let _guard = OnPanic(|| mailboxes.close(execution));
        loop {
            let posted = mailboxes.take(execution);
            if posted.is_empty() {
                return;
            }
            self.take_turn(execution, posted).await;
        }
    }
}
