//! Group commit: while one batch of appends is being written, the next one collects.
//!
//! A lone append is written at once. Appends that need lookups, and large ones, must not delay the
//! others, so there are several lanes. After a commit, loops and waiters of this process are
//! notified.

use std::collections::{BTreeSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use futures::FutureExt as _;
use noetl_bus::Hint;
use noetl_model::{ExecutionId, Message, Pool, Seq};
use noetl_store::{Append, AppendError, QueueChange, StoreError, TimerChange, is_execution_notice};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::Control;

/// The largest number of appends in one transaction.
const BATCH_MAX: usize = 256;
/// The largest number of events in one transaction; a larger append is written alone.
const BATCH_EVENTS_MAX: usize = 2048;
/// The number of events from which an append is large, so that others do not wait for it.
const LARGE_EVENTS: usize = 256;

/// The largest number of starts in one transaction: running executions go first.
const BATCH_STARTS_MAX: usize = 64;

/// The largest number of retries of a store call that got no answer.
const UNANSWERED_RETRIES_MAX: usize = 6;
/// The time after which a call is not retried: a caller that has waited for the deadline of a store
/// call gets the error.
const UNANSWERED_RETRY_MAX: Duration = Duration::from_secs(5);
/// The delay before the first retry; it doubles with each further one.
const UNANSWERED_DELAY: Duration = Duration::from_millis(50);

/// The retries of one caller.
#[derive(Debug)]
pub(crate) struct Retries {
    delays: ExponentialBackoff,
    since: Instant,
}

impl Retries {
    /// Creates the retries of a call for an execution, whose id seeds the jitter: a simulation
    /// repeats exactly.
    pub(crate) fn new(execution: ExecutionId) -> Self {
        let delays = ExponentialBuilder::new()
            .with_min_delay(UNANSWERED_DELAY)
            .with_max_times(UNANSWERED_RETRIES_MAX)
            .with_jitter()
            .with_jitter_seed(execution.0.unsigned_abs());
        Self { delays: delays.build(), since: Instant::now() }
    }

    /// Waits before a retry. Returns false, without waiting, if the caller should get the error: it
    /// is permanent, or the retries are used up.
    pub(crate) async fn wait_after(&mut self, error: &StoreError) -> bool {
        if self.since.elapsed() >= UNANSWERED_RETRY_MAX || !error.is_transient() {
            return false;
        }
        let Some(delay) = self.delays.next() else { return false };
        tokio::time::sleep(delay).await;
        true
    }
}

/// Yields, so that concurrent appends join the batch.
async fn gather() {
    tokio::task::yield_now().await;
}

/// The queues of appends, one per lane.
#[derive(Debug, Default)]
pub(crate) struct Committer {
    standing_alone: Mutex<Queue>,
    keyed: Mutex<Queue>,
    looked_up: Mutex<Queue>,
    large: Mutex<Queue>,
}

/// The lane of an append; appends of one lane share transactions.
#[derive(Debug, Clone, Copy)]
enum CommitLane {
    /// Appends that need no lookup in the store.
    StandingAlone,
    /// Starts under a start key, which the store looks up while it writes.
    Keyed,
    /// Appends for which the store has to read first.
    LookedUp,
    /// Appends of many events, which take long to write.
    Large,
}

impl CommitLane {
    fn of(append: &Append) -> Self {
        if append.events.len() >= LARGE_EVENTS {
            CommitLane::Large
        } else if append.needs_no_rows() {
            CommitLane::StandingAlone
        } else if append.needs_only_its_key() {
            CommitLane::Keyed
        } else {
            CommitLane::LookedUp
        }
    }
}

/// The sender for the result of an append.
type Answering = oneshot::Sender<Result<(), AppendError>>;

/// An append that waits to be written.
struct Queued {
    /// True if no task is writing this lane.
    is_first: bool,
    answered: oneshot::Receiver<Result<(), AppendError>>,
}

impl Queued {
    async fn answered(self) -> Result<(), AppendError> {
        self.answered.await.unwrap_or_else(|_| {
            let gone = StoreError::Unavailable("the committer has stopped".into());
            Err(gone.into())
        })
    }
}

#[derive(Debug, Default)]
struct Queue {
    /// Appends to running executions.
    waiting: VecDeque<(Append, Answering)>,
    /// Starts of executions, which are written after the others.
    starting: VecDeque<(Append, Answering)>,
    /// True while a task is writing the lane; it checks the queue again when it is done.
    committing: bool,
}

/// Wake-up signals for the loops that a commit may give work.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    pub(crate) relay: Notify,
    pub(crate) timers: Notify,
    pub(crate) children: Notify,
    pub(crate) schedules: Notify,
    pub(crate) limits: Notify,
    pub(crate) notifications: Notify,
}

impl Wakes {
    fn committed(&self, append: &Append) {
        let sets_timer = append.timers.iter().any(|change| match change {
            TimerChange::Set { .. } => true,
            TimerChange::Remove { .. } => false,
        });
        if sets_timer {
            self.timers.notify_one();
        }
        let control = Pool::control();
        let wants_child = append.queue.iter().any(|change| match change {
            QueueChange::Add { pool, is_parked, .. } => *pool == control && !is_parked,
            // The pool of the command is not known here.
            QueueChange::Unpark { .. } => true,
            QueueChange::Lease { .. }
            | QueueChange::Park { .. }
            | QueueChange::Expire { .. }
            | QueueChange::Remove { .. } => false,
        });
        if wants_child {
            self.children.notify_one();
        }
        if !append.outbox.is_empty() {
            self.relay.notify_one();
        }
        if append.outbox.iter().any(is_execution_notice) {
            self.notifications.notify_one();
        }
    }
}

impl Committer {
    fn queue(&self, lane: CommitLane) -> MutexGuard<'_, Queue> {
        let queue = match lane {
            CommitLane::StandingAlone => &self.standing_alone,
            CommitLane::Keyed => &self.keyed,
            CommitLane::LookedUp => &self.looked_up,
            CommitLane::Large => &self.large,
        };
        queue.lock().expect("nothing panics while it holds the queue")
    }

    /// Takes the next batch from the queue.
    fn next_batch(&self, lane: CommitLane) -> (Vec<Append>, Vec<Answering>) {
        let mut queue = self.queue(lane);
        let Queue { waiting, starting, .. } = &mut *queue;
        let events = |queued: &(Append, Answering)| queued.0.events.len();
        let starts = starting.iter().take(BATCH_STARTS_MAX);
        let count = batch_len(waiting.iter().chain(starts).map(events));
        let of_waiting = count.min(waiting.len());
        let begun = waiting.drain(..of_waiting);
        begun.chain(starting.drain(..count - of_waiting)).unzip()
    }

    /// True if more appends wait; otherwise marks the lane as idle.
    fn goes_on(&self, lane: CommitLane) -> bool {
        let mut queue = self.queue(lane);
        queue.committing = !(queue.waiting.is_empty() && queue.starting.is_empty());
        queue.committing
    }
}

/// Returns how many waiting appends fit into the next transaction, given their event counts.
fn batch_len(events: impl Iterator<Item = usize>) -> usize {
    let mut sum = 0usize;
    let fits = events.take(BATCH_MAX).enumerate().take_while(|(place, events)| {
        sum = sum.saturating_add(*events);
        *place == 0 || sum <= BATCH_EVENTS_MAX
    });
    fits.count()
}

impl Control {
    /// Writes an append in a shared transaction and waits until it is durable.
    pub(crate) async fn commit(&self, append: Append) -> Result<(), AppendError> {
        let (lane, queued) = self.queue_up(append);
        if queued.is_first {
            self.keep_committing(lane);
        }
        queued.answered().await
    }

    /// Does the same as `commit` in the caller's task: if no task is writing, the caller writes
    /// itself, which saves two task switches. The caller must not be dropped before the end.
    pub(crate) async fn commit_here(&self, append: Append) -> Result<(), AppendError> {
        let (lane, queued) = self.queue_up(append);
        if queued.is_first {
            if !self.parts.mailboxes.is_single() {
                gather().await;
            }
            self.commit_batch(lane).await;
            if self.parts.committer.goes_on(lane) {
                self.keep_committing(lane);
            }
        }
        queued.answered().await
    }

    fn queue_up(&self, append: Append) -> (CommitLane, Queued) {
        let (answer, answered) = oneshot::channel();
        let lane = CommitLane::of(&append);
        let mut queue = self.parts.committer.queue(lane);
        let starts = append.expected == Seq::ZERO;
        let line = if starts { &mut queue.starting } else { &mut queue.waiting };
        line.push_back((append, answer));
        let is_first = !std::mem::replace(&mut queue.committing, true);
        (lane, Queued { is_first, answered })
    }

    /// Writes batches in a background task until the queue is empty.
    fn keep_committing(&self, lane: CommitLane) {
        let control = self.clone();
        self.parts.tasks.spawn(async move {
            loop {
                gather().await;
                control.commit_batch(lane).await;
                if !control.parts.committer.goes_on(lane) {
                    return;
                }
            }
        });
    }

    /// Writes one batch and sends the results. If the write panics, the callers of the batch get an
    /// error and the next batch is written as usual.
    async fn commit_batch(&self, lane: CommitLane) {
        let _panicked = AssertUnwindSafe(self.write_batch(lane)).catch_unwind().await;
    }

    async fn write_batch(&self, lane: CommitLane) {
        let (appends, answers) = self.parts.committer.next_batch(lane);
        match self.parts.store.append(&appends).await {
            Ok(outcomes) => {
                let written = outcomes.iter().zip(&appends).filter(|(outcome, _)| outcome.is_ok());
                self.tell(written.map(|(_, append)| append));
                for (outcome, answer) in outcomes.into_iter().zip(answers) {
                    // The caller may be gone.
                    let _gone = answer.send(outcome);
                }
            }
            Err(error) => {
                let error = AppendError::from(error);
                for answer in answers {
                    let _gone = answer.send(Err(error.clone()));
                }
            }
        }
    }

    /// Notifies waiters in this process, and workers everywhere, of committed appends. The relay
    /// repeats the hints from the outbox, so a lost hint only causes a delay.
    fn tell<'a>(&self, written: impl Iterator<Item = &'a Append>) {
        let (mut pools, mut ended) = (BTreeSet::new(), Vec::new());
        for append in written {
            self.parts.wakes.committed(append);
            self.parts.outcomes.written(append);
            self.parts.durations.written(append);
            self.parts.round_robin.committed(append);
            self.parts.followers.advanced(append.execution, &append.events);
            if append.summary.status.is_terminal()
                && append.events.iter().any(|recorded| recorded.event.ends_execution())
            {
                ended.push(append.execution);
            }
            pools.extend(append.outbox.iter().filter_map(|message| match message {
                Message::CommandReady { pool, .. } | Message::CommandUnparked { pool, .. } => {
                    Some(pool.clone())
                }
                Message::CommandCancelled { .. }
                | Message::ChildEnded { .. }
                | Message::CancelChild { .. }
                | Message::CancelLinked { .. }
                | Message::SignalAwaited { .. }
                | Message::PauseChild { .. }
                | Message::ResumeChild { .. }
                | Message::RequestSlot { .. }
                | Message::ReleaseSlot { .. }
                | Message::Notification { .. } => None,
            }));
        }
        if !self.has_others() {
            ended.clear();
        }
        if pools.is_empty() && ended.is_empty() {
            return;
        }
        let bus = Arc::clone(&self.parts.bus);
        self.parts.tasks.spawn(async move {
            for pool in pools {
                bus.publish(Hint::CommandReady { pool }).await;
            }
            for execution in ended {
                bus.publish(Hint::ExecutionAdvanced { execution }).await;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(events: &[usize], expected: usize) {
        assert_eq!(batch_len(events.iter().copied()), expected);
    }

    #[test]
    fn a_batch_is_bounded_by_appends_and_by_events() {
        check(&[], 0);
        check(&[1, 2, 3], 3);
        check(&[1; BATCH_MAX + 1], BATCH_MAX);
        check(&[BATCH_EVENTS_MAX, 1], 1);
        check(&[BATCH_EVENTS_MAX + 1, 1], 1);
        check(&[1, BATCH_EVENTS_MAX], 1);
        check(&[1, BATCH_EVENTS_MAX - 1, 1], 2);
    }
}
