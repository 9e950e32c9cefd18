//! One mailbox per execution: inputs wait there while an earlier turn is being written.
//!
//! A mailbox exists as long as somebody drives it: the first input opens it and spawns its driver, which
//! takes all that waits, turn after turn, and closes it once nothing does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use noetl_engine::{Input, Refusal};
use noetl_model::{ExecutionId, Lease, Pool};
use tokio::sync::oneshot;

use crate::payloads::Large;
use crate::tasks::OnPanic;
use crate::{Control, SubmitError};

/// How many inputs may wait for one execution.
pub const MAILBOX_MAX: usize = 4096;

/// What became of an input, durably.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It has, or had already, its effect.
    Accepted,
    /// A claim was accepted, or a report by a worker with room for what follows: this is the command.
    Leased(Box<Lease>),
    /// The report was applied before, and the worker was handed this command with it.
    HandedOver(Box<Lease>),
    /// It has none.
    Refused(Refusal),
}

/// An input with what comes with it.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) input: Input,
    /// The large values it refers to that are not stored yet.
    pub(crate) large: Vec<Arc<Large>>,
    /// The pool of which whoever reports has room for a command that follows.
    pub(crate) next: Option<Pool>,
}

/// An input that waits for its turn.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) submission: Submission,
    pub(crate) answer: oneshot::Sender<Result<Answer, SubmitError>>,
}

/// The inputs that wait, by execution.
#[derive(Debug, Default)]
pub(crate) struct Mailboxes {
    open: Mutex<BTreeMap<ExecutionId, Vec<Posted>>>,
}

enum Posting {
    /// The mailbox is new: somebody has to drive it.
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

    /// Takes all that waits; closes the mailbox if nothing does.
    fn take(&self, execution: ExecutionId) -> Vec<Posted> {
        let mut open = self.open();
        let posted = open.get_mut(&execution).map(std::mem::take).unwrap_or_default();
        if posted.is_empty() {
            open.remove(&execution);
        }
        posted
    }

    /// Whether no more than one execution has a turn.
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
    /// Tells an execution something and waits until what follows from it is durable.
    pub async fn submit(
        &self,
        execution: ExecutionId,
        input: Input,
    ) -> Result<Answer, SubmitError> {
        self.post(execution, Submission { input, large: Vec::new(), next: None }).await
    }

    /// The same for an input that something comes with.
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
