//! What a decision may look at besides the execution itself, and how it asks for more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use noetl_model::{Digest, Event, RunId, Timestamp};
use noetl_playbook::Playbook;
use serde_json::Value;

use crate::{Changes, LoopEnd, LoopOutput, Refusal};

/// What a decision may look at besides the execution itself.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    pub playbook: &'a Playbook,
    pub now: Timestamp,
    pub loaded: &'a Loaded,
    /// How much work its templates may do.
    pub effort: Effort,
    /// How often steps may be entered; more is a cycle that makes no progress.
    pub runs_max: u64,
    /// How many events an execution may have, whatever they are.
    pub events_max: u64,
    /// How many workers may lose a command before it fails.
    pub attempts_max: u32,
    /// Where a fork leaves within this decision, if one does.
    pub turn: Option<Turn<'a>>,
}

/// How much work a decision may do before it is given up, or put off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// As much as takes no noticeable time; a decision that needs more says [`Needs::Effort`].
    Brief,
    /// As much as any decision may do; one that needs more fails its execution.
    Whole,
}

impl Effort {
    /// Units of work: bytes that templates read, copy or write, 16 for an element or an instruction.
    pub const fn work_max(self) -> u64 {
        match self {
            Effort::Brief => BRIEF_WORK_MAX,
            Effort::Whole => TURN_WORK_MAX,
        }
    }
}

/// A place in a decision from which on something is different.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// After how many of the decision's events.
    pub after: usize,
    pub changes: &'a Changes,
}

/// How often steps may be entered unless an operator says otherwise. The items of a loop, of which
/// there may be millions, are of one run.
pub const RUNS_MAX: u64 = 250_000;
/// How many events an execution may have unless its operator says otherwise.
pub const EVENTS_MAX: u64 = 100_000_000;
/// How many workers may lose a command unless its operator says otherwise.
pub const ATTEMPTS_MAX: u32 = 3;

/// Units of work that all templates of one decision may do together: as many as eight templates
/// that each do as much as one may.
pub const TURN_WORK_MAX: u64 = 128 * 1024 * 1024;
/// Units of work that a decision may do where others wait for it.
const BRIEF_WORK_MAX: u64 = 512 * 1024;

/// Stored data that has been fetched because a decision asked for it.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    pub payloads: BTreeMap<Digest, Arc<Value>>,
    pub loops: BTreeMap<RunId, LoopOutput>,
}

/// What a decision lacks: fetch it into [`Loaded`], then ask again.
#[derive(Debug, Clone, PartialEq)]
pub enum Needs {
    /// Stored values.
    Payloads(BTreeSet<Digest>),
    /// What a loop comes to whose items have all ended: [`Gathering`](crate::Gathering) says how.
    Loop(Box<LoopEnd>),
    /// More work than [`Effort::Brief`]: ask again with [`Effort::Whole`], where nobody waits.
    Effort,
}

impl Needs {
    pub(crate) fn payload(digest: Digest) -> Self {
        Needs::Payloads([digest].into())
    }
}

/// What follows from an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// These events; none if the input says nothing new.
    Accepted(Vec<Event>),
    /// Nothing, but that it was asked may be worth keeping.
    Refused { refusal: Refusal, recorded: Vec<Event> },
}
