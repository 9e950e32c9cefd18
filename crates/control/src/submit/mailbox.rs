//! One mailbox per execution, in which inputs wait while earlier ones are being written.
//!
//! A mailbox exists as long as a task drives it: the first input opens it and spawns its driver,
//! which takes all waiting inputs in batches and closes it when none is left.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_engine::{Input, Refusal};
use noetl_model::{ExecutionId, Lease, Pool};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::state::payloads::Large;
use crate::tasks::OnPanic;
use crate::{Control, SubmitError};

/// The largest number of inputs waiting for one execution.
pub const MAILBOX_MAX: usize = 4096;

/// The durable result of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum MailboxAnswer {
    /// The input was applied, now or by an earlier delivery of the same input.
    Accepted,
    /// The command leased by a claim, or with a report by a worker that has a free slot.
    Leased(Box<Lease>),
    /// The report was applied before, and this command was leased to the worker with it.
    HandedOver(Box<Lease>),
    /// The input was not applied.
    Refused(Refusal),
}

/// The values of an input, as far as they were serialized or measured already.
#[derive(Debug, Default)]
pub(crate) struct OfferedValues {
    /// Large values that the input refers to and that are not stored yet.
    pub(crate) large: Vec<Arc<Large>>,
    /// Inline values with the length of their JSON.
    pub(crate) measured: Vec<(Arc<Value>, usize)>,
}

/// An input with its attachments.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) input: Input,
    pub(crate) values: OfferedValues,
    /// The pool from which the reporting worker can take a following command.
    pub(crate) next: Option<Pool>,
}

/// An input waiting in a mailbox.
#[derive(Debug)]
pub(crate) struct PostedInput {
    pub(crate) submission: Submission,
    pub(crate) answer: oneshot::Sender<Result<MailboxAnswer, SubmitError>>,
}

/// The largest number of inputs decided and written at once while other executions are active, so
/// that these do not wait for the whole mailbox of a large execution.
const SHARED_BATCH_MAX: usize = 8;
/// The time after its last activity for which an execution counts as active.
const ACTIVE_FOR: Duration = Duration::from_millis(100);

/// The waiting inputs by execution.
#[derive(Debug, Default)]
pub(crate) struct Mailboxes {
    open: Mutex<BTreeMap<ExecutionId, Vec<PostedInput>>>,
    activity: Mutex<RecentExecutions>,
}

/// The two executions that were active last, and when.
#[derive(Debug, Default)]
struct RecentExecutions {
    latest: Option<(ExecutionId, Instant)>,
    other: Option<(ExecutionId, Instant)>,
}

impl RecentExecutions {
    fn note(&mut self, execution: ExecutionId, now: Instant) {
        if self.latest.is_some_and(|(latest, _)| latest != execution) {
            self.other = self.latest;
        }
        self.latest = Some((execution, now));
    }

    /// True if an execution other than this one was active lately.
    fn is_shared(&self, execution: ExecutionId, now: Instant) -> bool {
        [self.latest, self.other].into_iter().flatten().any(|(active, at)| {
            active != execution && now.saturating_duration_since(at) < ACTIVE_FOR
        })
    }
}

enum Posting {
    /// The mailbox is new and needs a driver task.
    Opened,
    Queued,
    Full,
}

impl Mailboxes {
    /// Notes that an execution is active.
    pub(crate) fn note_active(&self, execution: ExecutionId) {
        self.activity().note(execution, Instant::now());
    }

    fn post(&self, execution: ExecutionId, posted: PostedInput) -> Posting {
        self.note_active(execution);
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

    /// Takes the waiting inputs, or the first of them while other executions are active; closes the
    /// mailbox if there are none.
    fn take(&self, execution: ExecutionId) -> Vec<PostedInput> {
        let is_shared = self.activity().is_shared(execution, Instant::now());
        let max = if is_shared { SHARED_BATCH_MAX } else { MAILBOX_MAX };
        let mut open = self.open();
        let Some(waiting) = open.get_mut(&execution) else { return Vec::new() };
        if waiting.is_empty() {
            open.remove(&execution);
            return Vec::new();
        }
        let rest = waiting.split_off(waiting.len().min(max));
        std::mem::replace(waiting, rest)
    }

    /// True if at most one execution has an open mailbox.
    pub(crate) fn is_single(&self) -> bool {
        self.open().len() <= 1
    }

    fn close(&self, execution: ExecutionId) {
        self.open().remove(&execution);
    }

    fn activity(&self) -> MutexGuard<'_, RecentExecutions> {
        self.activity.lock().expect("nothing panics while it holds the activity")
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, Vec<PostedInput>>> {
        self.open.lock().expect("nothing panics while it holds the mailboxes")
    }
}

impl Control {
    /// Submits an input to an execution and waits until its result is durable.
    pub async fn submit(
        &self,
        execution: ExecutionId,
        input: Input,
    ) -> Result<MailboxAnswer, SubmitError> {
        self.post(execution, Submission { input, values: OfferedValues::default(), next: None })
            .await
    }

    /// Does the same as `submit` for an input with attachments.
    pub(crate) async fn post(
        &self,
        execution: ExecutionId,
        submission: Submission,
    ) -> Result<MailboxAnswer, SubmitError> {
        let (answer, answered) = oneshot::channel();
        match self.parts.mailboxes.post(execution, PostedInput { submission, answer }) {
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
            self.process_batch(execution, posted).await;
        }
    }
}
