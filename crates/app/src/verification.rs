//! Verification of an execution: compares the stored events and saved replays with their digests.

use std::collections::VecDeque;

use noetl_api::wire::Verification;
use noetl_compat::{DEFAULT_TENANT, Projection, ReplayRequest, Replayer, SavedFold};
use noetl_control::{Fault, LoadError, LogVerification, STATE_PROJECTION, verify};
use noetl_model::{Cutoff, Digest, ExecutionId, LogOrigin, Recorded, Seq};
use noetl_store::{READ_EVENTS_MAX, ReplayBound, ReplayMark, SavedReplay, Store, StoreError};

use crate::app::App;
use crate::executions::KnownExecution;

/// Verifies an execution; `None` if it does not exist. The digest of the last event is compared
/// with `kept`, a copy held elsewhere. `progress` is called with the number of events read.
pub(crate) async fn verification(
    store: &dyn Store,
    execution: ExecutionId,
    kept: Option<Digest>,
    progress: impl Fn(u64) + Send + Sync,
) -> Result<Option<Verification>, StoreError> {
    let Some(verdict) = verify(store, execution, progress).await? else { return Ok(None) };
    let verdict = match kept {
        Some(kept) => verdict.against(kept),
        None => verdict,
    };
    let mut notes: Vec<String> = verdict.note().into_iter().collect();
    let LogVerification { execution, events, proven_from, head, foreign_snapshot: _, fault } =
        verdict;
    let fault = match fault {
        Some(fault) => Some(fault),
        None => {
            let (ours, foreign): (Vec<_>, Vec<_>) = store
                .saved_replays(execution)
                .await?
                .into_iter()
                // States at positions are compared with the log.
                .filter(|mark| mark.projection != STATE_PROJECTION)
                .partition(|mark| mark.shape == Replayer::SHAPE);
            notes.extend(foreign.first().map(note));
            match compare(store, execution, ours).await {
                Err(StoreError::Corrupt { what, .. }) => Some(Fault::Unreadable(what)),
                compared => compared?,
            }
        }
    };
    Ok(Some(Verification {
        execution_id: execution.to_string(),
        origin: LogOrigin::Native,
        valid: fault.is_none(),
        events,
        proven_from: proven_from.map(|seq| seq.0),
        head: head.map(|head| head.to_string()),
        fault: fault.map(|fault| fault.to_string()),
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    }))
}

/// Returns the remark about a saved replay of another version.
fn note(foreign: &ReplayMark) -> String {
    let ReplayMark { projection, seq, shape: _ } = foreign;
    format!(
        "the replay of `{projection}` saved at event {seq} was saved by another version and is \
         neither used nor compared"
    )
}

/// Compares saved replays, in order, with the replay of the log at the same events.
async fn compare(
    store: &dyn Store,
    execution: ExecutionId,
    marks: Vec<ReplayMark>,
) -> Result<Option<Fault>, StoreError> {
    let mut replays: Vec<Replay> = Vec::new();
    for ReplayMark { projection, seq, shape: _ } in marks {
        let Ok(known) = projection.parse() else {
            let why = "there is no such projection".to_owned();
            return Ok(Some(Fault::UselessReplay { projection, seq, why }));
        };
        match replays.last_mut().filter(|it| it.question.projection == known) {
            Some(replay) => replay.marks.push_back(seq),
            None => replays.push(Replay::new(execution, known, seq)),
        }
    }
    let mut after = Seq::ZERO;
    while !replays.is_empty() {
        let page = store.read(execution, after, READ_EVENTS_MAX).await?;
        let Some(last) = page.last() else {
            return Ok(replays[0].useless("it covers more than is written".to_owned()));
        };
        after = last.seq;
        for recorded in &page {
            for replay in &mut replays {
                let fault = replay.see(store, recorded).await?;
                if fault.is_some() {
                    return Ok(fault);
                }
            }
            // After its last mark, a projection needs no further events.
            replays.retain(|replay| !replay.marks.is_empty());
        }
    }
    Ok(None)
}

/// A projection of the log, up to the last event read.
struct Replay {
    question: ReplayRequest,
    replayer: Replayer,
    /// Events at which a replay is saved and not compared yet.
    marks: VecDeque<Seq>,
}

impl Replay {
    fn new(execution: ExecutionId, projection: Projection, first: Seq) -> Self {
        let question = ReplayRequest {
            execution,
            tenant: DEFAULT_TENANT.to_owned(),
            organization: DEFAULT_TENANT.to_owned(),
            cutoff: Cutoff::Latest,
            projection,
            limit: u64::MAX,
        };
        Self { replayer: Replayer::new(&question), question, marks: [first].into() }
    }

    /// Folds the next event; if a replay is saved there, compares it and returns the fault.
    async fn see(
        &mut self,
        store: &dyn Store,
        recorded: &Recorded,
    ) -> Result<Option<Fault>, StoreError> {
        let _wanted = self.replayer.see(recorded);
        if self.marks.front() != Some(&recorded.seq) {
            return Ok(None);
        }
        let ReplayRequest { execution, projection, .. } = &self.question;
        let (shape, seq) = (Replayer::SHAPE, recorded.seq);
        let bound = ReplayBound { shape, seq, last_id: None, last_at: None };
        let saved = store.furthest_replay(*execution, projection.as_str(), bound).await?;
        let fault = saved.filter(|saved| saved.seq == seq).and_then(
            |SavedReplay { seq, last_id, last_at, shape: _, body }| {
                let saved = SavedFold { seq, last_id, last_at, body };
                self.compare(&saved, recorded)
            },
        );
        self.marks.pop_front();
        Ok(fault)
    }

    fn compare(&self, saved: &SavedFold, last: &Recorded) -> Option<Fault> {
        if self.replayer.saved(last).as_ref() == Some(saved) {
            return None;
        }
        let why = match Replayer::resumed(&self.question, saved, Some(last)) {
            Ok(_) => "it is not what the log shows up to there".to_owned(),
            Err(why) => why.to_string(),
        };
        self.useless(why)
    }

    /// Returns a fault for the replay saved at the next mark.
    fn useless(&self, why: String) -> Option<Fault> {
        let projection = self.question.projection.to_string();
        self.marks.front().map(|seq| Fault::UselessReplay { projection, seq: *seq, why })
    }
}

/// Returns the verification of a log that the engine does not write: it has no digests.
pub(crate) fn unproven(known: &KnownExecution, kept: Option<Digest>) -> Verification {
    let KnownExecution { origin, summary } = known;
    let events = match origin {
        LogOrigin::Native | LogOrigin::Imported => "the events of this log were imported",
        LogOrigin::Subscription => "the events of this log are the lifecycle of a subscription",
    };
    let fault = kept.map(|_| format!("{events}: there is no digest to compare with"));
    Verification {
        execution_id: summary.execution.to_string(),
        origin: *origin,
        valid: fault.is_none(),
        events: summary.seq.0,
        proven_from: None,
        head: None,
        fault,
        note: Some(format!("{events} and have no digests, so a change to them is not detected")),
    }
}

impl App {
    /// Verifies an execution against its digests; `kept` is a copy of the last event's digest that
    /// is held elsewhere.
    pub async fn verify(
        &self,
        execution: ExecutionId,
        kept: Option<Digest>,
    ) -> Result<Verification, LoadError> {
        let found = verification(self.store(), execution, kept, |_| ()).await;
        let found = found.map_err(|error| LoadError::of_store(execution, error))?;
        match found {
            Some(found) => Ok(found),
            None => Ok(unproven(&self.known_execution(execution).await?, kept)),
        }
    }
}
