//! Following an execution: its events in order, as they are committed.
//!
//! Commits of this process wake the readers. For commits of other processes, the readers of an
//! execution share one look at the store per interval, however many they are.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use noetl_model::{EventId, ExecutionId, Recorded, Seq};
use noetl_store::READ_EVENTS_MAX;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::{Control, LoadError};

/// The longest time until a reader notices a commit of another process.
const FOLLOW_POLL_MAX: Duration = Duration::from_millis(200);

/// The progress of an execution, as far as its followers have to know it.
#[derive(Debug, Clone, Default)]
pub(crate) enum FollowProgress {
    /// Nothing was committed since the first follower.
    #[default]
    Unknown,
    Advanced,
    /// The execution has ended with this event.
    Ended(Arc<Recorded>),
    /// Another server has ended the execution.
    EndedElsewhere,
}

/// The waiters for new events, by execution.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    watched: Mutex<BTreeMap<ExecutionId, WatchedExecution>>,
}

#[derive(Debug)]
struct WatchedExecution {
    sender: watch::Sender<FollowProgress>,
    /// The last event that the readers were told of.
    seq: Seq,
    /// The last time a reader looked at the store for commits of other processes.
    looked_at: Instant,
}

impl Followers {
    /// Notifies the followers of an execution of committed events.
    pub(crate) fn advanced(&self, execution: ExecutionId, events: &[Recorded]) {
        if let Some(watched) = self.watched().get_mut(&execution) {
            watched.seq = events.last().map_or(watched.seq, |last| watched.seq.max(last.seq));
            let end = events.iter().find(|recorded| recorded.event.ends_execution());
            let progress = end.map_or(FollowProgress::Advanced, |end| {
                FollowProgress::Ended(Arc::new(end.clone()))
            });
            watched.sender.send_replace(progress);
        }
    }

    /// Wakes the other readers if one has found events that nobody has announced.
    fn found(&self, execution: ExecutionId, seq: Seq) {
        if let Some(watched) = self.watched().get_mut(&execution)
            && seq > watched.seq
        {
            watched.seq = seq;
            watched.sender.send_modify(|progress| {
                if matches!(progress, FollowProgress::Unknown) {
                    *progress = FollowProgress::Advanced;
                }
            });
        }
    }

    /// Returns the time of the next look at the store.
    fn due(&self, execution: ExecutionId, poll: Duration) -> Instant {
        self.watched().get(&execution).map_or_else(Instant::now, |it| it.looked_at + poll)
    }

    /// Returns true for one reader per interval: it looks at the store for all.
    fn claims_look(&self, execution: ExecutionId, poll: Duration) -> bool {
        let now = Instant::now();
        match self.watched().get_mut(&execution) {
            Some(watched) if watched.looked_at + poll > now => false,
            Some(watched) => {
                watched.looked_at = now;
                true
            }
            None => true,
        }
    }

    /// Notifies the followers of an execution that another server has ended.
    pub(crate) fn ended_elsewhere(&self, execution: ExecutionId) {
        if let Some(watched) = self.watched().get(&execution) {
            watched.sender.send_if_modified(|progress| match progress {
                FollowProgress::Ended(_) => false,
                FollowProgress::Unknown
                | FollowProgress::Advanced
                | FollowProgress::EndedElsewhere => {
                    *progress = FollowProgress::EndedElsewhere;
                    true
                }
            });
        }
    }

    pub(super) fn watch(&self, execution: ExecutionId) -> watch::Receiver<FollowProgress> {
        let mut watched = self.watched();
        let entry = watched.entry(execution).or_insert_with(|| WatchedExecution {
            sender: watch::Sender::default(),
            seq: Seq::ZERO,
            looked_at: Instant::now(),
        });
        entry.sender.subscribe()
    }

    /// Removes the sender of an execution if its last receiver is about to be dropped.
    pub(super) fn unwatch(&self, execution: ExecutionId) {
        let mut watched = self.watched();
        if watched.get(&execution).is_some_and(|it| it.sender.receiver_count() <= 1) {
            watched.remove(&execution);
        }
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, WatchedExecution>> {
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
    advanced: watch::Receiver<FollowProgress>,
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
            match self.page.back() {
                Some(last) => self.control.parts.followers.found(self.execution, last.seq),
                None => self.wait().await,
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

    /// Waits for a commit of this process or one that another reader has found, or until it is this
    /// reader's turn to look for commits of other processes.
    async fn wait(&mut self) {
        let poll = self.control.parts.settings.poll.min(FOLLOW_POLL_MAX);
        let followers = &self.control.parts.followers;
        loop {
            let due = followers.due(self.execution, poll);
            tokio::select! {
                biased;
                changed = self.advanced.changed() => {
                    changed.expect("the sender stays while somebody follows");
                    return;
                }
                () = tokio::time::sleep_until(due) => {
                    if followers.claims_look(self.execution, poll) {
                        return;
                    }
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn readers_of_an_execution_share_one_look_per_interval() {
        let (followers, execution) = (Followers::default(), ExecutionId(1));
        let (first, mut second) = (followers.watch(execution), followers.watch(execution));
        let poll = Duration::from_millis(200);
        assert!(!followers.claims_look(execution, poll), "the interval has begun just now");
        tokio::time::advance(poll).await;
        assert!(followers.claims_look(execution, poll));
        assert!(!followers.claims_look(execution, poll), "another reader looks");
        assert_eq!(followers.due(execution, poll), Instant::now() + poll);
        second.mark_unchanged();
        followers.found(execution, Seq(3));
        assert!(second.has_changed().expect("a sender"), "the others hear what the one has found");
        second.mark_unchanged();
        followers.found(execution, Seq(3));
        assert!(!second.has_changed().expect("a sender"), "nothing new");
        drop(first);
    }
}
