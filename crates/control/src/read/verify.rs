//! Verification of an execution: its stored data is unchanged and follows from its log.
//!
//! The log is read once, a page at a time. The other rows are compared with its fold while the
//! execution does not change; otherwise the comparison is repeated.

use std::collections::{BTreeMap, VecDeque};

use noetl_engine::{Auditor, Execution, LogFault, OpenHolder};
use noetl_model::{
    Attempt, CommandId, Digest, Event, ExecutionId, Payload, Pool, Recorded, Seq, Summary, TimerId,
    Timestamp,
};
use noetl_store::{
    FORKS_MAX, Holder, OpenCommand, OpenWork, READ_EVENTS_MAX, ReplayBound, SavedReplay, Snapshot,
    Store, StoreError,
};
use serde_json::Value;
use thiserror::Error;

use crate::state::positions::STATE_PROJECTION;
use crate::state::snapshot;

/// The largest number of comparisons if an execution keeps changing.
const LOOKS_MAX: u32 = 10;

/// The result of a verification.
#[derive(Debug, Clone, PartialEq)]
pub struct LogVerification {
    pub execution: ExecutionId,
    /// The number of events read.
    pub events: u64,
    /// The first event with a digest of the one before it; the proof begins there.
    pub proven_from: Option<Seq>,
    /// The digest of the last event, which is evidence if it was also stored elsewhere.
    pub head: Option<Digest>,
    /// The seq of a snapshot written by another program version; neither used nor compared.
    pub foreign_snapshot: Option<Seq>,
    /// The first fault found.
    pub fault: Option<Fault>,
}

/// A fault in the stored data of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    #[error(transparent)]
    LogPart(#[from] LogFault),
    #[error("{0} cannot be read")]
    Unreadable(String),
    #[error("its fork origin, execution {0}, no longer exists")]
    OriginGone(ExecutionId),
    #[error("it has events and no summary, or a summary and no events")]
    Half,
    #[error("the log ends at event {end}, its summary at event {summary}")]
    End { end: Seq, summary: Seq },
    #[error("the summary says that `{field}` is {stored}; by the log it is {folded}")]
    Summary { field: String, stored: String, folded: String },
    #[error("by the queue, command {command} is {stored}; by the log it is {folded}")]
    Command { command: CommandId, stored: String, folded: String },
    #[error("timer {timer} is {stored}; by the log it is {folded}")]
    Timer { timer: TimerId, stored: String, folded: String },
    #[error("the snapshot at event {0} is not the fold of the log up to there")]
    Snapshot(Seq),
    #[error("the snapshot at event {seq} is invalid: {why}")]
    UselessSnapshot { seq: Seq, why: String },
    #[error("the replay of `{projection}` saved at event {seq} is invalid: {why}")]
    UselessReplay { projection: String, seq: Seq, why: String },
    #[error("the value {digest}, which event {seq} refers to, is {what}")]
    Payload { seq: Seq, digest: Digest, what: &'static str },
    #[error("the last event has the digest {found}, not {kept}")]
    Evidence { found: String, kept: Digest },
}

impl LogVerification {
    /// Returns a remark that is not a fault.
    pub fn note(&self) -> Option<String> {
        let seq = self.foreign_snapshot?;
        Some(format!(
            "the snapshot at event {seq} was saved by another version and is neither used nor \
             compared"
        ))
    }

    /// Compares the digest of the last event with one that was stored elsewhere.
    #[must_use]
    pub fn against(mut self, kept: Digest) -> Self {
        if self.fault.is_none() && self.head != Some(kept) {
            let found = self.head.map_or_else(|| "nothing".to_owned(), |head| head.to_string());
            self.fault = Some(Fault::Evidence { found, kept });
        }
        self
    }
}

/// Verifies an execution; `None` if it does not exist. `progress` gets the number of events read.
pub async fn verify(
    store: &dyn Store,
    execution: ExecutionId,
    progress: impl Fn(u64) + Send + Sync,
) -> Result<Option<LogVerification>, StoreError> {
    let mut verdict = LogVerification {
        execution,
        events: 0,
        proven_from: None,
        head: None,
        foreign_snapshot: None,
        fault: None,
    };
    match judge(store, &mut verdict, &progress).await {
        Ok(is_there) => Ok(is_there.then_some(verdict)),
        Err(VerifyStop::Fault(fault)) => {
            Ok(Some(LogVerification { fault: Some(fault), ..verdict }))
        }
        Err(VerifyStop::Store(StoreError::Corrupt { what, .. })) => {
            Ok(Some(LogVerification { fault: Some(Fault::Unreadable(what)), ..verdict }))
        }
        Err(VerifyStop::Store(
            error @ (StoreError::Unavailable(_)
            | StoreError::TimedOut { .. }
            | StoreError::OutOfReach { .. }
            | StoreError::Unwritable { .. }),
        )) => Err(error),
    }
}

/// The reason why the verification stopped.
enum VerifyStop {
    Fault(Fault),
    Store(StoreError),
}

impl From<StoreError> for VerifyStop {
    fn from(error: StoreError) -> Self {
        VerifyStop::Store(error)
    }
}

impl<F: Into<Fault>> From<F> for VerifyStop {
    fn from(fault: F) -> Self {
        VerifyStop::Fault(fault.into())
    }
}

async fn judge(
    store: &dyn Store,
    verdict: &mut LogVerification,
    progress: &(impl Fn(u64) + Send + Sync),
) -> Result<bool, VerifyStop> {
    let execution = verdict.execution;
    let root = root_of(store, execution).await?;
    let mut saved = store.latest(execution).await?;
    let foreign = saved.take_if(|saved| saved.shape != Execution::SHAPE);
    verdict.foreign_snapshot = foreign.map(|foreign| foreign.seq);
    let auditor = Auditor::new(execution, root);
    let positions = saved_positions(store, execution).await?;
    let issued = BTreeMap::new();
    let mut reader = LogReader { store, auditor, saved, positions, issued, events: 0 };
    for _ in 0..LOOKS_MAX {
        let read = reader.read_on(execution, progress).await;
        verdict.events = reader.events;
        verdict.proven_from = reader.auditor.proven_from();
        verdict.head = reader.auditor.state().map(Execution::head);
        read?;
        let Some(summary) = store.summary(execution).await? else {
            // The events of a deleted execution go after its summary.
            let is_absent = reader.events == 0 || store.tombstone(execution).await?.is_some();
            return if is_absent { Ok(false) } else { Err(Fault::Half.into()) };
        };
        let work = store.open_work(execution).await?;
        let again = store.summary(execution).await?;
        let is_still = again.as_ref() == Some(&summary)
            && store.read(execution, Seq(reader.events), 1).await?.is_empty();
        if is_still {
            reader.auditor.end(summary.seq, summary.head)?;
            let state = reader.auditor.state().ok_or(Fault::Half)?;
            compare_end(state, &summary)?;
            reader.snapshot_ahead(state.seq())?;
            compare_summary(state, &summary)?;
            compare_work(state, &reader.issued, &work)?;
            return Ok(true);
        }
    }
    // The execution changes too fast; its log is valid as far as it was read.
    Ok(true)
}

/// Returns the execution that the first event of a log belongs to.
async fn root_of(store: &dyn Store, execution: ExecutionId) -> Result<ExecutionId, VerifyStop> {
    let mut root = execution;
    for _ in 0..FORKS_MAX {
        let fork = match store.summary(root).await? {
            Some(summary) => summary.fork,
            None if root == execution => None,
            None => return Err(Fault::OriginGone(root).into()),
        };
        match fork {
            Some(fork) => root = fork.execution,
            None => break,
        }
    }
    Ok(root)
}

/// Compares a saved state with the fold of the log at the same event.
fn compare_saved(state: &Execution, saved: &Snapshot) -> Result<(), Fault> {
    match snapshot::decode(state.id(), saved) {
        Ok(fold) if fold == *state => Ok(()),
        Ok(_) => Err(Fault::Snapshot(saved.seq)),
        Err(why) => Err(Fault::UselessSnapshot { seq: saved.seq, why: why.to_string() }),
    }
}

/// Returns the events at which states are saved for reads of earlier positions, in order.
async fn saved_positions(
    store: &dyn Store,
    execution: ExecutionId,
) -> Result<VecDeque<Seq>, StoreError> {
    let marks = store.saved_replays(execution).await?.into_iter();
    let ours =
        marks.filter(|mark| mark.projection == STATE_PROJECTION && mark.shape == Execution::SHAPE);
    Ok(ours.map(|mark| mark.seq).collect())
}

struct LogReader<'a> {
    store: &'a dyn Store,
    auditor: Auditor,
    /// The snapshot, until its position in the log is reached.
    saved: Option<Snapshot>,
    /// The events at which states are saved, from the next one on.
    positions: VecDeque<Seq>,
    /// The pool of each open command.
    issued: BTreeMap<CommandId, Pool>,
    events: u64,
}

impl LogReader<'_> {
    /// Reads and checks the remaining events.
    async fn read_on(
        &mut self,
        execution: ExecutionId,
        progress: &(impl Fn(u64) + Send + Sync),
    ) -> Result<(), VerifyStop> {
        loop {
            let page = self.store.read(execution, Seq(self.events), READ_EVENTS_MAX).await?;
            for recorded in &page {
                self.auditor.see(recorded)?;
                self.events = recorded.seq.0;
                self.note_command(&recorded.event);
                self.compare_snapshot()?;
                self.compare_position(execution).await?;
                self.look_up_payloads(recorded).await?;
            }
            progress(self.events);
            if page.is_empty() {
                return Ok(());
            }
        }
    }

    fn note_command(&mut self, event: &Event) {
        if let Event::CommandIssued { command, pool, .. } = event {
            self.issued.insert(*command, pool.clone());
        }
        if let Event::CommandCompleted { command, .. }
        | Event::CommandFailed { command, .. }
        | Event::CommandCancelled { command, .. } = event
        {
            self.issued.remove(command);
        }
    }

    fn compare_snapshot(&mut self) -> Result<(), Fault> {
        let Some(state) = self.auditor.state() else { return Ok(()) };
        match self.saved.take_if(|saved| saved.seq == state.seq()) {
            Some(saved) => compare_saved(state, &saved),
            None => Ok(()),
        }
    }

    /// Compares the state that is saved at this event for reads of earlier positions.
    async fn compare_position(&mut self, execution: ExecutionId) -> Result<(), VerifyStop> {
        let seq = Seq(self.events);
        if self.positions.pop_front_if(|next| *next <= seq).is_none() {
            return Ok(());
        }
        let bound = ReplayBound { shape: Execution::SHAPE, seq, last_id: None, last_at: None };
        let saved = self.store.furthest_replay(execution, STATE_PROJECTION, bound).await?;
        if let (Some(SavedReplay { seq, shape, body, .. }), Some(state)) =
            (saved.filter(|saved| saved.seq == seq), self.auditor.state())
            && state.seq() == seq
        {
            compare_saved(state, &Snapshot { seq, shape, body })?;
        }
        Ok(())
    }

    /// Fails if the snapshot covers more events than were written.
    fn snapshot_ahead(&self, written: Seq) -> Result<(), Fault> {
        let Some(saved) = &self.saved else { return Ok(()) };
        let why = format!("it covers more than is written, which is up to {written}");
        Err(Fault::UselessSnapshot { seq: saved.seq, why })
    }

    /// Checks that the large values of an event exist and match their digests.
    async fn look_up_payloads(&self, recorded: &Recorded) -> Result<(), VerifyStop> {
        let mut event = recorded.event.clone();
        for payload in event.payloads_mut() {
            let Payload::Ref(reference) = payload else { continue };
            let digest = reference.digest;
            let what = match self.store.payload(&digest).await? {
                Some(bytes) if Digest::of(&bytes) == digest => continue,
                Some(_) => "not what was stored",
                None => "missing",
            };
            return Err(Fault::Payload { seq: recorded.seq, digest, what }.into());
        }
        Ok(())
    }
}

fn compare_end(state: &Execution, summary: &Summary) -> Result<(), Fault> {
    if state.seq() == summary.seq {
        return Ok(());
    }
    Err(Fault::End { end: state.seq(), summary: summary.seq })
}

/// Fails with the first field in which the stored summary differs from the fold's.
fn compare_summary(state: &Execution, stored: &Summary) -> Result<(), Fault> {
    let folded = Summary { head: stored.head.and(Some(state.head())), ..state.summary() };
    let fields = |summary: &Summary| match serde_json::to_value(summary) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => serde_json::Map::new(),
    };
    let (stored, folded) = (fields(stored), fields(&folded));
    let different = stored.iter().find(|(field, value)| folded.get(*field) != Some(value));
    match different {
        Some((field, value)) => Err(Fault::Summary {
            field: field.clone(),
            stored: value.to_string(),
            folded: folded.get(field).map_or_else(String::new, Value::to_string),
        }),
        None => Ok(()),
    }
}

fn compare_work(
    state: &Execution,
    issued: &BTreeMap<CommandId, Pool>,
    work: &OpenWork,
) -> Result<(), Fault> {
    let folded: BTreeMap<CommandId, String> = state
        .open_commands()
        .map(|(command, attempt, holder)| {
            let holder = match holder {
                OpenHolder::Nobody => "waiting".to_owned(),
                OpenHolder::Worker(worker) => format!("held by {worker}"),
                OpenHolder::Child
                | OpenHolder::Callback
                | OpenHolder::Wait
                | OpenHolder::Blocked => "parked".to_owned(),
            };
            let pool = issued.get(&command).map_or("?", Pool::as_str);
            (command, words_of(&holder, attempt, pool))
        })
        .collect();
    let stored: BTreeMap<CommandId, String> = work
        .commands
        .iter()
        .map(|(command, open)| {
            (*command, words_of(&held_by(open), open.attempt, open.pool.as_str()))
        })
        .collect();
    if let Some((command, stored, folded)) = first_difference(&stored, &folded, "not there") {
        return Err(Fault::Command { command, stored, folded });
    }
    let due = |at: Timestamp| format!("due at {at}");
    let folded: BTreeMap<TimerId, String> =
        state.open_timers().map(|(timer, at)| (timer, due(at))).collect();
    let stored: BTreeMap<TimerId, String> =
        work.timers.iter().map(|(timer, at)| (*timer, due(*at))).collect();
    match first_difference(&stored, &folded, "not set") {
        Some((timer, stored, folded)) => Err(Fault::Timer { timer, stored, folded }),
        None => Ok(()),
    }
}

fn held_by(open: &OpenCommand) -> String {
    match &open.holder {
        Holder::Nobody { .. } => "waiting".to_owned(),
        Holder::Worker { worker, .. } => format!("held by {worker}"),
        Holder::Parked => "parked".to_owned(),
    }
}

/// Describes an open command: holder, attempt and pool.
fn words_of(holder: &str, attempt: Attempt, pool: &str) -> String {
    match attempt {
        Attempt(0) => format!("{holder} in pool {pool}"),
        Attempt(_) => format!("{holder} as attempt {attempt} in pool {pool}"),
    }
}

/// Returns the first key with different values in two maps.
fn first_difference<K: Ord + Copy>(
    stored: &BTreeMap<K, String>,
    folded: &BTreeMap<K, String>,
    nothing: &str,
) -> Option<(K, String, String)> {
    let word = |words: &BTreeMap<K, String>, key| {
        words.get(key).cloned().unwrap_or_else(|| nothing.to_owned())
    };
    let different =
        stored.keys().chain(folded.keys()).find(|key| stored.get(key) != folded.get(key));
    different.map(|key| (*key, word(stored, key), word(folded, key)))
}
