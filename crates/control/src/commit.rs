//! Group commit: while one batch of appends is being written, the next gathers.
//!
//! Nothing waits for company: a lone append is written at once. What can be written without looking
//! first does not wait for what cannot, so there are two lanes. What a commit sets off in this process
//! (hints, loops that have something to do) is told right after it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_bus::Hint;
use noetl_model::{Message, Pool};
use noetl_store::{Append, AppendError, QueueChange, StoreError, TimerChange};
use tokio::sync::{Notify, oneshot};

use crate::Control;
use crate::tasks::OnPanic;

/// How many executions' appends share a transaction at most.
const BATCH_MAX: usize = 256;

/// How often a store that does not answer is asked again.
pub(crate) const UNANSWERED_RETRIES_MAX: u32 = 6;
/// The first pause before it is; each further one is twice as long.
const UNANSWERED_PAUSE: Duration = Duration::from_millis(50);

/// Waits before a store that did not answer is asked again.
pub(crate) async fn back_off(retries: u32) {
    tokio::time::sleep(UNANSWERED_PAUSE * 2u32.pow(retries)).await;
}

/// The appends that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Committer {
    standing_alone: Mutex<Queue>,
    looked_up: Mutex<Queue>,
}

/// Which appends share a transaction.
#[derive(Debug, Clone, Copy)]
enum Lane {
    /// Those that say themselves all that has to be known.
    StandingAlone,
    /// Those for which the store has to look first.
    LookedUp,
}

impl Lane {
    fn of(append: &Append) -> Self {
        if append.stands_alone() { Lane::StandingAlone } else { Lane::LookedUp }
    }
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(Append, oneshot::Sender<Result<(), AppendError>>)>,
    /// Whether a task is writing, and will look again when it is done.
    committing: bool,
}

/// The loops that a commit may have given something to do.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    pub(crate) relay: Notify,
    pub(crate) timers: Notify,
    pub(crate) children: Notify,
    pub(crate) schedules: Notify,
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
            QueueChange::Add { pool, .. } => *pool == control,
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
    }
}

impl Committer {
    fn queue(&self, lane: Lane) -> MutexGuard<'_, Queue> {
        let queue = match lane {
            Lane::StandingAlone => &self.standing_alone,
            Lane::LookedUp => &self.looked_up,
        };
        queue.lock().expect("nothing panics while it holds the queue")
    }

    /// The next batch; with none left, nobody is committing.
    fn next_batch(&self, lane: Lane) -> Vec<(Append, oneshot::Sender<Result<(), AppendError>>)> {
        let mut queue = self.queue(lane);
        let count = queue.waiting.len().min(BATCH_MAX);
        queue.committing = count > 0;
        queue.waiting.drain(..count).collect()
    }

    /// Whoever waits learns that nobody answers.
    fn give_up(&self, lane: Lane) {
        *self.queue(lane) = Queue::default();
    }
}

impl Control {
    /// Writes an append together with those that others want written, and waits until it is durable.
    pub(crate) async fn commit(&self, append: Append) -> Result<(), AppendError> {
        let (answer, answered) = oneshot::channel();
        let lane = Lane::of(&append);
        let idle = {
            let mut queue = self.parts.committer.queue(lane);
            queue.waiting.push_back((append, answer));
            !std::mem::replace(&mut queue.committing, true)
        };
        if idle {
            let control = self.clone();
            self.parts.tasks.spawn(async move { control.commit_waiting(lane).await });
        }
        answered.await.unwrap_or_else(|_| {
            let gone = StoreError::Unavailable("the committer has stopped".into());
            Err(gone.into())
        })
    }

    async fn commit_waiting(&self, lane: Lane) {
        let committer = &self.parts.committer;
        let _guard = OnPanic(|| committer.give_up(lane));
        loop {
            // Whoever is about to come along is let in first; alone, nobody waits.
            tokio::task::yield_now().await;
            let (appends, answers): (Vec<_>, Vec<_>) =
                committer.next_batch(lane).into_iter().unzip();
            if appends.is_empty() {
                return;
            }
            match self.parts.store.append(&appends).await {
                Ok(outcomes) => {
                    let written =
                        outcomes.iter().zip(&appends).filter(|(outcome, _)| outcome.is_ok());
                    self.tell(written.map(|(_, append)| append));
                    for (outcome, answer) in outcomes.into_iter().zip(answers) {
                        // A caller that has gone does not want to know.
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
    }

    /// Tells whoever waits in this process, and workers everywhere, what has just been written. The
    /// relay repeats the latter from the outbox, so a hint lost here is only late.
    fn tell<'a>(&self, written: impl Iterator<Item = &'a Append>) {
        let mut pools = BTreeSet::new();
        for append in written {
            self.parts.wakes.committed(append);
            self.parts.followers.advanced(append.execution, append.summary.seq);
            pools.extend(append.outbox.iter().filter_map(|message| match message {
                Message::CommandReady { pool, .. } => Some(pool.clone()),
                Message::CommandCancelled { .. }
                | Message::ChildEnded { .. }
                | Message::CancelChild { .. }
                | Message::CancelLinked { .. } => None,
            }));
        }
        if pools.is_empty() {
            return;
        }
        let bus = Arc::clone(&self.parts.bus);
        self.parts.tasks.spawn(async move {
            for pool in pools {
                bus.publish(Hint::CommandReady { pool }).await;
            }
        });
    }
}
