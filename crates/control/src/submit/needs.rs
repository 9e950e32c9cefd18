//! Loading the data that decisions ask for: large values, the outputs of loops, cached outputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_engine::{
    Decision, DecisionArgs, Effort, Execution, ItemOutput, Loaded, LoopCollector, LoopEnd,
    LoopOutput, Needs,
};
use noetl_model::{
    Digest, ExecutionId, PAYLOAD_INLINE_MAX, PAYLOAD_MAX, Payload, Recorded, Seq, Timestamp,
};
use noetl_playbook::Playbook;
use serde_json::Value;

use crate::error::{Damage, LoadError};
use crate::state::payloads::Large;
use crate::submit::draft::PendingAppend;
use crate::{Control, ControlSettings};

/// The largest number of requests for data by one decision.
const NEED_ROUNDS_MAX: usize = 1000;

/// Large values that are not stored yet.
pub(crate) type Unstored = BTreeMap<Digest, Arc<Large>>;

/// A stored log with pending events: `events` come after `expected`.
#[derive(Clone, Copy)]
pub(crate) struct LogPart<'a> {
    pub(crate) execution: ExecutionId,
    pub(crate) expected: Seq,
    pub(crate) events: &'a [Recorded],
    /// Large values offered by inputs, and those of them that the events refer to.
    pub(crate) offered: &'a Unstored,
    pub(crate) referred: &'a Unstored,
}

impl LogPart<'_> {
    /// Returns a stored log without pending events.
    pub(crate) fn stored(execution: ExecutionId, expected: Seq) -> Self {
        static NOTHING: Unstored = BTreeMap::new();
        LogPart { execution, expected, events: &[], offered: &NOTHING, referred: &NOTHING }
    }
}

/// Data loaded or computed for decisions.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    pub(crate) loaded: Loaded,
    /// Computed outputs of loops and reused outputs, which must be stored with the event that refers
    /// to them.
    pub(crate) made: Unstored,
}

impl Control {
    /// Returns the arguments of a decision at `now`.
    pub(crate) fn given<'a>(
        &self,
        playbook: &'a Playbook,
        (loaded, effort): (&'a Loaded, Effort),
        now: Timestamp,
    ) -> DecisionArgs<'a> {
        let ControlSettings { runs_max, events_max, attempts_max, .. } = self.parts.settings;
        DecisionArgs {
            playbook,
            now,
            loaded,
            effort,
            runs_max,
            events_max,
            attempts_max,
            fork_changes: None,
        }
    }

    /// Makes a decision on a draft, loading the data it asks for.
    pub(crate) async fn decide_on(
        &self,
        draft: &mut PendingAppend,
        playbook: &Playbook,
        decide: impl Fn(&Execution, DecisionArgs<'_>) -> Result<Decision, Needs> + Send + Sync,
    ) -> Result<Decision, LoadError> {
        let mut fetched = std::mem::take(&mut draft.fetched);
        let decision = self
            .satisfy(draft.log(), &mut fetched, |asked| {
                decide(&draft.state, self.given(playbook, asked, draft.now))
            })
            .await;
        // Loop outputs are valid only for the current state.
        fetched.loaded.loops.clear();
        fetched.made.values().for_each(|made| draft.offer(made));
        draft.fetched = fetched;
        decision
    }

    /// Calls `ask` until it has all data, loading the missing data in between. Slow calls run
    /// outside the threads that serve requests.
    pub(crate) async fn satisfy<T>(
        &self,
        log: LogPart<'_>,
        fetched: &mut Fetched,
        ask: impl Fn((&Loaded, Effort)) -> Result<T, Needs> + Send + Sync,
    ) -> Result<T, LoadError> {
        if fetched.loaded.notices.is_none() {
            let notices = self.notices().await;
            let failed = |error| LoadError::of_store(log.execution, error);
            fetched.loaded.notices = Some(notices.map_err(failed)?);
        }
        let mut effort = Effort::Brief;
        for _ in 0..NEED_ROUNDS_MAX {
            let answer = match effort {
                Effort::Brief => ask((&fetched.loaded, effort)),
                Effort::Whole => self.run_blocking(|| ask((&fetched.loaded, effort))).await,
            };
            match answer {
                Ok(answer) => return Ok(answer),
                Err(Needs::Effort) => effort = Effort::Whole,
                Err(Needs::Payloads(digests)) => {
                    for digest in digests {
                        let value = self.value_of(log, fetched, digest).await?;
                        fetched.loaded.payloads.insert(digest, value);
                    }
                }
                Err(Needs::Output(lookup)) => {
                    let found = self.cached_output(log.execution, lookup, fetched).await?;
                    fetched.loaded.outputs.insert(lookup.key, found);
                }
                Err(Needs::Loop(end)) => {
                    let run = end.run;
                    let output = self.loop_output(log, fetched, *end).await?;
                    fetched.loaded.loops.insert(run, output);
                }
            }
        }
        Err(LoadError::damaged(log.execution, Damage::Insatiable))
    }

    /// Returns the value of a payload, loading it if it is stored by reference.
    pub async fn resolve(
        &self,
        execution: ExecutionId,
        payload: &Payload,
    ) -> Result<Arc<Value>, LoadError> {
        match payload {
            Payload::Inline(value) => Ok(Arc::clone(value)),
            Payload::Ref(reference) => {
                let value = self.payload(reference.digest).await;
                value.map_err(|error| LoadError::of_payload(execution, error))
            }
        }
    }

    async fn value_of(
        &self,
        log: LogPart<'_>,
        fetched: &Fetched,
        digest: Digest,
    ) -> Result<Arc<Value>, LoadError> {
        let value = match unstored(log, fetched, digest) {
            Some(large) => large.value(),
            None => self.payload(digest).await,
        };
        value.map_err(|error| LoadError::of_payload(log.execution, error))
    }

    /// Computes the output of a loop from the stored and the pending events.
    async fn loop_output(
        &self,
        log: LogPart<'_>,
        fetched: &mut Fetched,
        end: LoopEnd,
    ) -> Result<LoopOutput, LoadError> {
        let after = end.after;
        let mut collector = LoopCollector::new(end);
        let mut last = after;
        while last < log.expected {
            let page = self.read_page(log.execution, last).await?;
            let Some(newest) = page.last() else { break };
            last = newest.seq;
            // Events appended by others since are not part of the state of this decision.
            page.iter().filter(|it| it.seq <= log.expected).for_each(|it| collector.see(it));
        }
        log.events.iter().filter(|it| it.seq > after).for_each(|it| collector.see(it));
        let collected = collector.finish();
        if collected.len_max().is_none_or(|len| len > PAYLOAD_MAX) {
            return Ok(LoopOutput::TooLarge);
        }
        let mut writer = collected.writer();
        for (index, piece) in collected.pieces {
            match piece {
                ItemOutput::Json(json) => writer.put(index, &json),
                ItemOutput::Stored(reference) => {
                    let digest = reference.digest;
                    match unstored(log, fetched, digest) {
                        Some(large) => writer.put(index, &large.bytes),
                        None => {
                            let bytes = self.payload_bytes(digest).await;
                            let failed = |error| LoadError::of_payload(log.execution, error);
                            writer.put(index, &bytes.map_err(failed)?);
                        }
                    }
                }
            }
        }
        let made = Large::of_bytes(writer.finish());
        if made.bytes.len() <= PAYLOAD_INLINE_MAX {
            let value =
                made.value().map_err(|error| LoadError::of_payload(log.execution, error))?;
            return Ok(LoopOutput::Value(Payload::Inline(value)));
        }
        let reference = made.reference;
        fetched.made.insert(reference.digest, Arc::new(made));
        Ok(LoopOutput::Value(Payload::Ref(reference)))
    }
}

fn unstored<'a>(log: LogPart<'a>, fetched: &'a Fetched, digest: Digest) -> Option<&'a Arc<Large>> {
    [&fetched.made, log.offered, log.referred].into_iter().find_map(|known| known.get(&digest))
}
