//! The replay of a recorded history against a playbook: the inputs of the log are given to the
//! engine again, and the events it decides are compared with the recorded ones.
//!
//! The state is folded from the recorded events, which equal the decided ones up to the first
//! difference. Events that come from outside, such as a cancellation, are folded without a
//! comparison; so are the events that a fork shares with its origin.

mod input;
mod same;
mod value;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use noetl_engine::{
    ATTEMPTS_MAX, CachedOutput, Decision, DecisionArgs, EVENTS_MAX, Effort, EventOrigin, Execution,
    Illegal, Input, Loaded, LoopOutput, Needs, NoticeSettings, OutputLookup, RUNS_MAX, begin,
    decide, evolve_without_digest, start,
};
use noetl_model::{
    CacheKey, Digest, Event, ExecutionId, Payload, PayloadRef, Recorded, Seq, StepName, Timestamp,
};
use noetl_playbook::Playbook;
use serde_json::Value;

use crate::virtual_execution::loop_output;
use input::{start_input, undecided_origin};
use same::is_same;

pub use value::{HistoryValue, value_in_history};

/// The values that a log refers to, by digest.
pub type StoredValues = BTreeMap<Digest, Arc<Value>>;

/// The reason why a log cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryError {
    /// The log does not begin with the start of an execution.
    NoStart,
    /// A value is stored elsewhere and was not loaded.
    MissingValue(Digest),
    /// A recorded event cannot follow the ones before it.
    Illegal { seq: Seq, reason: String },
}

impl std::fmt::Display for HistoryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoStart => f.write_str("the history does not begin with `execution.started`"),
            Self::MissingValue(digest) => write!(f, "the value {digest} is not in the history"),
            Self::Illegal { seq, reason } => write!(f, "event {seq} cannot follow: {reason}"),
        }
    }
}

impl std::error::Error for HistoryError {}

impl From<Illegal> for HistoryError {
    fn from(illegal: Illegal) -> Self {
        Self::Illegal { seq: illegal.seq, reason: illegal.to_string() }
    }
}

/// The first difference between a recorded history and the decisions about a playbook.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// The place of the first event that differs.
    pub seq: Seq,
    /// The step that the difference is about.
    pub step: Option<StepName>,
    /// The recorded event; `None` if the history ends before.
    pub recorded: Option<Event>,
    /// The event that follows now; `None` if there is none.
    pub decided: Option<Event>,
    /// The reason why an input of the history is refused now.
    pub refusal: Option<String>,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedHistory {
    /// The number of recorded events.
    pub events: usize,
    /// The first difference; `None` if all events are the same.
    pub divergence: Option<Divergence>,
}

/// Returns the references of all values that a log stores elsewhere.
pub fn stored_references(log: &[Recorded]) -> Vec<PayloadRef> {
    let mut found = Vec::new();
    for recorded in log {
        let mut event = recorded.event.clone();
        for payload in event.payloads_mut() {
            if let Payload::Ref(reference) = payload {
                found.push(*reference);
            }
        }
        if let Event::ContextUpdated { large, .. } = &event {
            found.extend(large.values().cloned());
        }
    }
    found.sort_by_key(|reference| reference.digest);
    found.dedup_by(|left, right| left.digest == right.digest);
    found
}

/// Replays the history of an execution against a playbook, up to the first event that differs.
pub fn replay_history(
    playbook: &Playbook,
    execution: ExecutionId,
    log: &[Recorded],
    values: &StoredValues,
) -> Result<ReplayedHistory, HistoryError> {
    let first = log.first().ok_or(HistoryError::NoStart)?;
    let mut replay = HistoryReplay::begin(playbook, (execution, log), values, first)?;
    for (index, recorded) in log.iter().enumerate().skip(1) {
        if let Some(divergence) = replay.see(index, recorded)? {
            return Ok(ReplayedHistory { events: log.len(), divergence: Some(divergence) });
        }
    }
    let decided = replay.pending.pop_front();
    let divergence = decided.map(|decided| Divergence {
        seq: replay.state.seq().next(),
        step: replay.step_of(&decided),
        recorded: None,
        decided: Some(decided),
        refusal: None,
    });
    Ok(ReplayedHistory { events: log.len(), divergence })
}

/// A replay in progress.
struct HistoryReplay<'a> {
    playbook: &'a Playbook,
    log: &'a [Recorded],
    values: &'a StoredValues,
    /// The state after the recorded events so far.
    state: Execution,
    /// Decided events that the history has not reached.
    pending: VecDeque<Event>,
    /// The index of the last event that forked the execution; 0 if it is no fork. The events up to
    /// it are those of another execution.
    fork: usize,
    /// True until the first input after the fork: the events of the fork itself follow from its
    /// request, which the log does not have.
    follows_fork: bool,
}

impl<'a> HistoryReplay<'a> {
    fn begin(
        playbook: &'a Playbook,
        (id, log): (ExecutionId, &'a [Recorded]),
        values: &'a StoredValues,
        first: &Recorded,
    ) -> Result<Self, HistoryError> {
        let input = start_input(&first.event, values)?;
        let Event::ExecutionStarted { playbook: reference, .. } = &first.event else {
            return Err(HistoryError::NoStart);
        };
        let mut loaded = loaded();
        let mut events = loop {
            match start(id, reference, &input, args(playbook, first.at, &loaded)) {
                Ok(Decision::Accepted(events)) => break events.into_iter(),
                Err(Needs::Output(OutputLookup { key, ttl: _ })) => {
                    loaded.outputs.insert(key, reused_output(log, key));
                }
                Ok(Decision::Refused { .. })
                | Err(Needs::Effort | Needs::Payloads(_) | Needs::Loop(_)) => {
                    return Err(HistoryError::NoStart);
                }
            }
        };
        // The decided start has the defaults of the new playbook.
        let event = events.next().ok_or(HistoryError::NoStart)?;
        let state = begin(id, &Recorded { event, ..first.clone() })?;
        let is_fork = |it: &Recorded| matches!(it.event, Event::ExecutionForked { .. });
        let fork = log.iter().rposition(is_fork).unwrap_or(0);
        let (pending, follows_fork) = (events.collect(), fork > 0);
        Ok(Self { playbook, log, values, state, pending, fork, follows_fork })
    }

    /// Compares the next recorded event, and folds it.
    fn see(
        &mut self,
        index: usize,
        recorded: &Recorded,
    ) -> Result<Option<Divergence>, HistoryError> {
        if index <= self.fork {
            self.pending.clear();
            return self.fold(recorded);
        }
        if self.pending.is_empty() {
            match undecided_origin(&self.state, recorded, self.values)? {
                EventOrigin::Outside | EventOrigin::Note => return self.fold(recorded),
                EventOrigin::Consequence if self.follows_fork => return self.fold(recorded),
                EventOrigin::Consequence => {}
                EventOrigin::Input(input) => match self.decide(index, &input, recorded.at)? {
                    Decision::Accepted(events) => {
                        self.follows_fork = false;
                        self.pending = events.into();
                    }
                    Decision::Refused { refusal, recorded: events } if events.is_empty() => {
                        return Ok(Some(self.divergence(recorded, Some(refusal.to_string()))));
                    }
                    Decision::Refused { recorded: events, .. } => self.pending = events.into(),
                },
            }
        }
        match self.pending.front() {
            Some(decided) if is_same(decided, recorded, self.values) => {
                self.pending.pop_front();
                self.fold(recorded)
            }
            Some(_) | None => match undecided_origin(&self.state, recorded, self.values)? {
                EventOrigin::Outside | EventOrigin::Note => self.fold(recorded),
                EventOrigin::Consequence | EventOrigin::Input(_) => {
                    Ok(Some(self.divergence(recorded, None)))
                }
            },
        }
    }

    fn divergence(&self, recorded: &Recorded, refusal: Option<String>) -> Divergence {
        let decided = self.pending.front().cloned();
        Divergence {
            seq: recorded.seq,
            step: self
                .step_of(&recorded.event)
                .or_else(|| decided.as_ref().and_then(|event| self.step_of(event))),
            recorded: Some(recorded.event.clone()),
            decided,
            refusal,
        }
    }

    fn step_of(&self, event: &Event) -> Option<StepName> {
        event.step().cloned()
    }

    fn fold(&mut self, recorded: &Recorded) -> Result<Option<Divergence>, HistoryError> {
        evolve_without_digest(&mut self.state, recorded)?;
        Ok(None)
    }

    /// Decides an input, with the values of the history that the decision asks for.
    fn decide(&self, index: usize, input: &Input, at: Timestamp) -> Result<Decision, HistoryError> {
        let mut loaded = loaded();
        // The limit is a setting of the server that wrote the log: every recorded attempt was
        // allowed, and the last one of a command that was given up was the limit.
        let attempts_max =
            if let Input::LeaseExhausted { attempt, .. } = input { attempt.0 } else { u32::MAX };
        loop {
            let given = DecisionArgs { attempts_max, ..args(self.playbook, at, &loaded) };
            let needs = match decide(&self.state, input, given) {
                Ok(decision) => return Ok(decision),
                Err(needs) => needs,
            };
            match needs {
                Needs::Effort => unreachable!("a replay has its whole effort"),
                Needs::Payloads(digests) => {
                    for digest in digests {
                        let value = self.values.get(&digest);
                        let value = value.ok_or(HistoryError::MissingValue(digest))?;
                        loaded.payloads.insert(digest, value.clone());
                    }
                }
                Needs::Output(OutputLookup { key, ttl: _ }) => {
                    let found = reused_output(&self.log[index..], key);
                    loaded.outputs.insert(key, found);
                }
                Needs::Loop(end) => {
                    let run = end.run;
                    let log = &self.log[..=index];
                    let null = Arc::new(Value::Null);
                    let stored = |digest: &Digest| self.values.get(digest).unwrap_or(&null).clone();
                    let output = loop_output(log, *end, &stored);
                    loaded.loops.insert(run, LoopOutput::Value(Payload::inline(output)));
                }
            }
        }
    }
}

/// Returns the output that a command with a cache key reuses in a log.
fn reused_output(log: &[Recorded], key: CacheKey) -> Option<CachedOutput> {
    let (command, origin) = log.iter().find_map(|recorded| {
        let Event::CommandIssued { command, cache: Some(cache), .. } = &recorded.event else {
            return None;
        };
        (cache.key == key).then_some((*command, cache.reused?))
    })?;
    log.iter().find_map(|recorded| {
        let Event::CommandCompleted { command: ended, output, .. } = &recorded.event else {
            return None;
        };
        (*ended == command).then(|| CachedOutput { origin, output: output.clone() })
    })
}

fn loaded() -> Loaded {
    Loaded { notices: Some(Arc::new(NoticeSettings::default())), ..Loaded::default() }
}

fn args<'a>(playbook: &'a Playbook, now: Timestamp, loaded: &'a Loaded) -> DecisionArgs<'a> {
    DecisionArgs {
        playbook,
        now,
        loaded,
        effort: Effort::Whole,
        runs_max: RUNS_MAX,
        events_max: EVENTS_MAX,
        attempts_max: ATTEMPTS_MAX,
        fork_changes: None,
    }
}
