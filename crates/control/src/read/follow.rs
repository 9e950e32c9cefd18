//! Following an execution: its events in order, as they are committed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use noetl_model::{EventId, ExecutionId, Recorded, Seq};
use noetl_store::READ_EVENTS_MAX;
use tokio::sync::watch;

use crate::{Control, LoadError};

/// The longest time until a reader notices a commit of another process.
const FOLLOW_POLL_MAX: Duration = Duration::from_millis(200);

/// The waiters for new events, by execution.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    watched: Mutex<BTreeMap<ExecutionId, watch::Sender<Seq>>>,
}

impl Followers {
    pub(crate) fn advanced(&self, execution: ExecutionId, seq: Seq) {
        if let Some(sender) = self.watched().get(&execution) {
            sender.send_replace(seq);
        }
    }

    fn watch(&self, execution: ExecutionId) -> watch::Receiver<Seq> {
        let mut watched = self.watched();
        watched.entry(execution).or_insert_with(|| watch::Sender::new(Seq::ZERO)).subscribe()
    }

    /// Removes the sender of an execution if its last receiver is about to be dropped.
    fn unwatch(&self, execution: ExecutionId) {
        let mut watched = self.watched();
        if watched.get(&execution).is_some_and(|sender| sender.receiver_count() <= 1) {
            watched.remove(&execution);
        }
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, watch::Sender<Seq>>> {
        self.watched.lock().expect("nothing panics while it holds the followers")
    }
}

/// A stream of the events of one execution, in order. The stream has no end; the caller recognises
/// the last event.
pub struct Follow {
    control: Control,
    execution: ExecutionId,
    after: Seq,
    /// The id of the event at `after`, once it is known.
    last: Option<EventId>,
    page: VecDeque<Recorded>,
    advanced: watch::Receiver<Seq>,
}

impl Follow {
    /// Returns the next event once it is committed. Cancel safe: no event is lost. Fails if the log
    /// has lost the previous event.
    pub async fn next(&mut self) -> Result<Recorded, LoadError> {
        loop {
            if let Some(recorded) = self.page.pop_front() {
                (self.after, self.last) = (recorded.seq, Some(recorded.event_id));
                return Ok(recorded);
            }
            // Marked before the read, so that a commit during the read is noticed after it.
            self.advanced.mark_unchanged();
            self.page = self.read_on().await?;
            if self.page.is_empty() {
                self.wait().await;
            }
        }
    }

    /// Reads the events after the last one, which must still be in the log.
    async fn read_on(&mut self) -> Result<VecDeque<Recorded>, LoadError> {
        let page = self.control.read_from(self.execution, self.after, READ_EVENTS_MAX).await?;
        let mut page: VecDeque<_> = page.into();
        if self.after == Seq::ZERO {
            return Ok(page);
        }
        let kept = page.pop_front().filter(|kept| {
            kept.seq == self.after && self.last.is_none_or(|last| last == kept.event_id)
        });
        let rewound = LoadError::Rewound { execution: self.execution, seq: self.after };
        self.last = Some(kept.ok_or(rewound)?.event_id);
        Ok(page)
    }

    /// Waits for a commit of this process, or for the poll interval in case of another process.
    async fn wait(&mut self) {
        let poll = self.control.parts.settings.poll.min(FOLLOW_POLL_MAX);
        tokio::select! {
            biased;
            changed = self.advanced.changed() => {
                changed.expect("the sender stays while somebody follows");
            }
            () = tokio::time::sleep(poll) => {}
        }
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.control.parts.followers.unwatch(self.execution);
    }
}

impl Control {
    /// Follows an execution from the event after `after` on.
    pub fn events_follow(&self, execution: ExecutionId, after: Seq) -> Follow {
        let advanced = self.parts.followers.watch(execution);
        let (control, page) = (self.clone(), VecDeque::new());
        Follow { control, execution, after, last: None, page, advanced }
    }
}
