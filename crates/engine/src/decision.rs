//! The arguments of a decision: playbook, time, limits and loaded data; and its results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use noetl_model::{CacheKey, Digest, Event, ExecutionId, RunId, Timestamp};
use noetl_playbook::Playbook;
use serde_json::Value;

use crate::{CachedOutput, Changes, LoopEnd, LoopOutput, NoticeSettings, OutputLookup, Refusal};

/// The arguments of a decision besides the execution and the input.
#[derive(Debug, Clone, Copy)]
pub struct DecisionArgs<'a> {
    pub playbook: &'a Playbook,
    pub now: Timestamp,
    pub loaded: &'a Loaded,
    /// The work limit for templates.
    pub effort: Effort,
    /// The largest number of step runs; more indicates a cycle without progress.
    pub runs_max: u64,
    /// The largest number of events of an execution.
    pub events_max: u64,
    /// The number of workers that may lose a command before it fails.
    pub attempts_max: u32,
    /// The point within this decision at which a fork starts.
    pub fork_changes: Option<ForkChanges<'a>>,
}

/// The work limit of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// The limit for a fast decision; beyond it, the decision returns [`Needs::Effort`].
    Brief,
    /// The limit for any decision; beyond it, the execution fails.
    Whole,
}

impl Effort {
    /// Returns the limit in units of work: bytes that templates read, copy or write, and 16 per
    /// element or instruction.
    pub const fn work_max(self) -> u64 {
        match self {
            Effort::Brief => BRIEF_WORK_MAX,
            Effort::Whole => DECISION_WORK_MAX,
        }
    }
}

/// The point in a decision from which the changes of a fork apply.
#[derive(Debug, Clone, Copy)]
pub struct ForkChanges<'a> {
    /// The number of the decision's events before the changes.
    pub after: usize,
    /// The id of the fork, which templates see from this point on.
    pub execution: ExecutionId,
    pub changes: &'a Changes,
}

/// The default limit for step runs. All items of a loop, which may be millions, belong to one run.
pub const RUNS_MAX: u64 = 250_000;
/// The default limit for the events of an execution.
pub const EVENTS_MAX: u64 = 100_000_000;
/// The default number of workers that may lose a command.
pub const ATTEMPTS_MAX: u32 = 3;

/// Units of work for all templates of one decision: eight times the limit of a single template.
pub const DECISION_WORK_MAX: u64 = 128 * 1024 * 1024;
/// Units of work for a decision that other decisions wait for.
const BRIEF_WORK_MAX: u64 = 512 * 1024;

/// Stored data that was loaded because a decision asked for it.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    pub payloads: BTreeMap<Digest, Arc<Value>>,
    pub loops: BTreeMap<RunId, LoopOutput>,
    /// Earlier outputs by their cache key; `None` if there is none that is young enough.
    pub outputs: BTreeMap<CacheKey, Option<CachedOutput>>,
    /// The documents that ask for notifications; none if it is not known.
    pub notices: Option<Arc<NoticeSettings>>,
}

/// Data that a decision lacks. The caller loads it into [`Loaded`] and repeats the decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Needs {
    /// Values stored by reference.
    Payloads(BTreeSet<Digest>),
    /// The output of a loop that has ended; computed with [`LoopCollector`](crate::LoopCollector).
    Loop(Box<LoopEnd>),
    /// The newest output with a cache key.
    Output(OutputLookup),
    /// More work than [`Effort::Brief`]: repeat with [`Effort::Whole`] on another thread.
    Effort,
}

impl Needs {
    pub(crate) fn payload(digest: Digest) -> Self {
        Needs::Payloads([digest].into())
    }
}

/// The result of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The events that follow; none if the input is a repetition.
    Accepted(Vec<Event>),
    /// The input is refused; `recorded` are events that document the refusal.
    Refused { refusal: Refusal, recorded: Vec<Event> },
}
