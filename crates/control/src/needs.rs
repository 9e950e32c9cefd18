//! What a decision asks for: large values, and what the items of a loop have produced.

use std::collections::BTreeMap;
use std::sync::Arc;

use noetl_engine::{
    Decision, Execution, Given, IterationCollector, Iterations, Loaded, Need, Needs,
};
use noetl_model::{ExecutionId, PAYLOAD_MAX, Payload, Recorded, RunId, Seq};
use noetl_playbook::Playbook;
use serde_json::Value;

use crate::draft::Draft;
use crate::error::{Damage, LoadError};
use crate::payloads::json_len_within;
use crate::{Control, Settings};

/// How often one decision may ask for more.
const NEED_ROUNDS_MAX: usize = 1000;
/// What an item without output adds to a list: `null` and a comma.
const NULL_LEN: usize = 5;

/// The part of a log that is not stored yet: `events` come after `expected`.
#[derive(Clone, Copy)]
pub(crate) struct Log<'a> {
    pub(crate) execution: ExecutionId,
    pub(crate) expected: Seq,
    pub(crate) events: &'a [Recorded],
}

impl Control {
    /// What a decision may look at, now.
    pub(crate) fn given<'a>(&self, playbook: &'a Playbook, loaded: &'a Loaded) -> Given<'a> {
        let Settings { runs_max, events_max, attempts_max, .. } = self.parts.settings;
        let now = self.parts.stamps.now();
        Given { playbook, now, loaded, runs_max, events_max, attempts_max, turn: None }
    }

    /// Decides on a draft, fetching what the decision asks for.
    pub(crate) async fn decide_on(
        &self,
        draft: &mut Draft,
        playbook: &Playbook,
        decide: impl Fn(&Execution, Given<'_>) -> Result<Decision, Needs> + Send + Sync,
    ) -> Result<Decision, LoadError> {
        let mut loaded = std::mem::take(&mut draft.loaded);
        let log =
            Log { execution: draft.state.id(), expected: draft.expected(), events: draft.events() };
        let decision = self
            .satisfy(log, &mut loaded, |loaded| decide(&draft.state, self.given(playbook, loaded)))
            .await;
        // What the items have produced is true of this moment only.
        loaded.iterations.clear();
        draft.loaded = loaded;
        decision
    }

    /// Asks, fetches what is lacking, and asks again.
    pub(crate) async fn satisfy<T>(
        &self,
        log: Log<'_>,
        loaded: &mut Loaded,
        ask: impl Fn(&Loaded) -> Result<T, Needs> + Send + Sync,
    ) -> Result<T, LoadError> {
        for _ in 0..NEED_ROUNDS_MAX {
            let Needs(needs) = match ask(loaded) {
                Ok(answer) => return Ok(answer),
                Err(needs) => needs,
            };
            for need in needs {
                match need {
                    Need::Payload(digest) => {
                        let value = self.payload(digest).await;
                        let value =
                            value.map_err(|error| LoadError::of_payload(log.execution, error))?;
                        loaded.payloads.insert(digest, value);
                    }
                    Need::Iterations { run, after } => {
                        let iterations = self.iterations(log, run, after, loaded).await?;
                        loaded.iterations.insert(run, iterations);
                    }
                }
            }
        }
        Err(LoadError::damaged(log.execution, Damage::Insatiable))
    }

    /// What the items of a loop have produced, in item order, as far as the log goes.
    async fn iterations(
        &self,
        log: Log<'_>,
        run: RunId,
        after: Seq,
        loaded: &Loaded,
    ) -> Result<Iterations, LoadError> {
        let mut collector = IterationCollector::new(run);
        let mut last = after;
        while last < log.expected {
            let page = self.read_page(log.execution, last).await?;
            let Some(newest) = page.last() else { break };
            last = newest.seq;
            // What others have appended since is not what is being decided on.
            page.iter().filter(|it| it.seq <= log.expected).for_each(|it| collector.see(it));
        }
        log.events.iter().filter(|it| it.seq > after).for_each(|it| collector.see(it));
        let outputs = collector.finish();
        let Some(len) = listed_len(&outputs) else {
            return Ok(Iterations::TooLarge);
        };
        let nothing = Arc::new(Value::Null);
        let mut values: Vec<_> = std::iter::repeat_n(nothing, len).collect();
        for (index, output) in outputs {
            let place = usize::try_from(index).expect("below the length of the list");
            values[place] = self.resolve(log.execution, &output, loaded).await?;
        }
        Ok(Iterations::Values(values))
    }

    /// The value of a payload, wherever it is.
    pub(crate) async fn resolve(
        &self,
        execution: ExecutionId,
        payload: &Payload,
        loaded: &Loaded,
    ) -> Result<Arc<Value>, LoadError> {
        match payload {
            Payload::Inline(value) => Ok(Arc::clone(value)),
            Payload::Ref(reference) => match loaded.payloads.get(&reference.digest) {
                Some(value) => Ok(Arc::clone(value)),
                None => {
                    let value = self.payload(reference.digest).await;
                    value.map_err(|error| LoadError::of_payload(execution, error))
                }
            },
        }
    }
}

/// How many items a list of these outputs has, or nothing if its JSON is larger than a payload may be.
fn listed_len(outputs: &BTreeMap<u64, Payload>) -> Option<usize> {
    let len = match outputs.last_key_value() {
        Some((highest, _)) => usize::try_from(*highest).ok()?.checked_add(1)?,
        None => 0,
    };
    let mut left = PAYLOAD_MAX.checked_sub(len.checked_mul(NULL_LEN)?)?;
    for output in outputs.values() {
        let size = match output {
            Payload::Inline(value) => json_len_within(&**value, left)?,
            Payload::Ref(reference) => usize::try_from(reference.size).ok()?,
        };
        left = left.checked_sub(size)?;
    }
    Some(len)
}

#[cfg(test)]
mod tests {
    use noetl_model::{Digest, PayloadRef};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(outputs: impl IntoIterator<Item = (u64, Payload)>, expected: Option<usize>) {
        assert_eq!(listed_len(&outputs.into_iter().collect()), expected);
    }

    fn stored(size: usize) -> Payload {
        let size = u64::try_from(size).unwrap();
        Payload::Ref(PayloadRef { digest: Digest::of(b""), size })
    }

    #[test]
    fn no_outputs_make_an_empty_list() {
        check([], Some(0));
    }

    #[test]
    fn items_without_output_count() {
        check([(3, Payload::inline(json!(1)))], Some(4));
    }

    #[test]
    fn values_that_are_too_large_together_are_not_fetched() {
        check([(0, stored(PAYLOAD_MAX / 2)), (1, stored(PAYLOAD_MAX / 2))], None);
    }

    #[test]
    fn a_hole_that_is_too_large_is_not_filled() {
        check([(u64::MAX, Payload::null())], None);
        check([(1 << 40, Payload::null())], None);
    }
}
