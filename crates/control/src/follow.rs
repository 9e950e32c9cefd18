//! Watching an execution: its events in order, as they are committed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use noetl_model::{EventId, ExecutionId, Recorded, Seq};
use noetl_store::READ_EVENTS_MAX;
use tokio::sync::watch;

use crate::{Control, LoadError};

/// Who is to be told when the log of an execution has grown.
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

    /// One of an execution's receivers is about to go.
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

/// The events of one execution, in order, without end: who follows knows which one is the last.
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
    /// The next event, once it is committed. Giving up the wait loses no event. An error if the log has
    /// lost the event before it.
    pub async fn next(&mut self) -> Result<Recorded, LoadError> {
        loop {
            if let Some(recorded) = self.page.pop_front() {
                (self.after, self.last) = (recorded.seq, Some(recorded.event_id));
                return Ok(recorded);
            }
            // Seen before the read, so that what is committed meanwhile is noticed after it.
            self.advanced.mark_unchanged();
            self.page = self.read_on().await?;
            if self.page.is_empty() {
                self.wait().await;
            }
        }
    }

    /// The events after the last one, which has to be in its place still.
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

    /// Waits for a commit of this process, or long enough for another's.
    async fn wait(&mut self) {
        tokio::select! {
            biased;
            changed = self.advanced.changed() => {
                changed.expect("the sender stays while somebody follows");
            }
            () = tokio::time::sleep(self.control.parts.settings.poll) => {}
        }
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.control.parts.followers.unwatch(self.execution);
    }
}

impl Control {
    /// Follows an execution from after an event on.
    pub fn events_follow(&self, execution: ExecutionId, after: Seq) -> Follow {
        let advanced = self.parts.followers.watch(execution);
        let (control, page) = (self.clone(), VecDeque::new());
        Follow { control, execution, after, last: None, page, advanced }
    }
}
